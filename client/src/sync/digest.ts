/**
 * The digest of a set of results: their number, and two sums of words from each ID and `updated_at`. If the digests are
 * equal, mirror and service are equal. A difference is missed once in 2^64.
 */
export type Digest = { n: number; w1: number; w2: number };

export const emptyDigest: Digest = { n: 0, w1: 0, w2: 0 };

type Stamped = { id: string; updated_at: string };

/** The digest with a result put in (`by` 1) or taken out (-1). */
export function plus(digest: Digest, result: Stamped, by: 1 | -1): Digest {
  const [w1, w2] = tokenOf(result);
  return { n: digest.n + by, w1: (digest.w1 + by * w1) >>> 0, w2: (digest.w2 + by * w2) >>> 0 };
}

export function sameDigest(one: Digest, other: Digest): boolean {
  return one.n === other.n && one.w1 === other.w1 && one.w2 === other.w2;
}

/** The text of X-Sync-Digest, `n=…;w1=…;w2=…`; null if this version cannot read it. */
export function readDigest(text: string | null): Digest | null {
  const parts = /^n=(\d{1,15});\s*w1=(\d{1,10});\s*w2=(\d{1,10})$/.exec(text ?? '');
  return parts === null ? null : { n: Number(parts[1]), w1: Number(parts[2]), w2: Number(parts[3]) };
}

/** The bucket of an ID: its trailing bits, because the leading bits of many kinds of IDs are skewed. */
export function bucketOf(id: string, bits: number): number {
  return Number.parseInt(id.slice(-8), 16) & (2 ** bits - 1);
}

const rounds = 64;
/** The constants of SHA-256 (FIPS 180-4), from cube roots of the first 64 primes and square roots of the first 8. */
const constants = new Uint32Array(rounds);
const initial = new Uint32Array(8);
for (let n = 2, found = 0; found < rounds; n++) {
  let isPrime = true;
  for (let by = 2; by * by <= n; by++) if (n % by === 0) isPrime = false;
  if (!isPrime) continue;
  if (found < 8) initial[found] = (Math.sqrt(n) % 1) * 2 ** 32;
  constants[found++] = (Math.cbrt(n) % 1) * 2 ** 32;
}

const words = new Uint32Array(rounds);
const turned = (word: number, by: number) => (word >>> by) | (word << (32 - by));

/**
 * The first two words of SHA-256(the 16 bytes of the ID, `updated_at` in milliseconds as 8 bytes). Written out for this one
 * length, because the runtimes' own function is asynchronous, and a first walk hashes each of a million results.
 */
export function tokenOf({ id, updated_at }: Stamped): [number, number] {
  const text = id.replaceAll('-', '');
  const ms = Date.parse(updated_at);
  // A damaged ID still has a place in the sums, so that it can be removed again.
  if (text.length !== 32 || Number.isNaN(ms)) return [0, 0];
  words.fill(0, 0, 16);
  for (let i = 0; i < 4; i++) words[i] = Number.parseInt(text.slice(i * 8, i * 8 + 8), 16);
  words[4] = Math.floor(ms / 2 ** 32);
  words[5] = ms >>> 0;
  words[6] = 0x80000000;
  words[15] = 24 * 8;
  for (let i = 16; i < rounds; i++) {
    const [a, b] = [words[i - 15]!, words[i - 2]!];
    const s0 = turned(a, 7) ^ turned(a, 18) ^ (a >>> 3);
    const s1 = turned(b, 17) ^ turned(b, 19) ^ (b >>> 10);
    words[i] = words[i - 16]! + s0 + words[i - 7]! + s1;
  }
  let [a, b, c, d] = [initial[0]!, initial[1]!, initial[2]!, initial[3]!];
  let [e, f, g, h] = [initial[4]!, initial[5]!, initial[6]!, initial[7]!];
  for (let i = 0; i < rounds; i++) {
    const choice = (e & f) ^ (~e & g);
    const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + constants[i]! + words[i]!) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  return [(initial[0]! + a) >>> 0, (initial[1]! + b) >>> 0];
}

let high = 0;
let low = 0;

/**
 * A short sum of a record's content, the same whatever order a database gives its fields back in. A first walk makes one
 * for each result, so nothing is sorted or written down for it: an object's fields are added up.
 */
export function checkOf(record: unknown): string {
  begin();
  mixValue(record);
  finish();
  return hexOf(high) + hexOf(low);
}

const hexOf = (word: number) => (word >>> 0).toString(16).padStart(8, '0');

function begin(): void {
  [high, low] = [0xdeadbeef, 0x41c6ce57];
}

function mix(word: number): void {
  high = Math.imul(high ^ word, 2_654_435_761);
  low = Math.imul(low ^ word, 1_597_334_677);
}

/** Every input bit affects every bit of both words. */
function finish(): void {
  const was = high ^ (high >>> 16);
  high = Math.imul(was, 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
}

function mixText(text: string): void {
  mix(text.length);
  for (let i = 0; i < text.length; i++) mix(text.charCodeAt(i));
}

/** Each kind of value begins with its own word, so no two kinds are confused. */
function mixValue(value: unknown): void {
  if (typeof value === 'string') {
    mix(1);
    mixText(value);
  } else if (typeof value !== 'object' || value === null) {
    mix(2);
    mixText(String(value));
  } else if (Array.isArray(value)) {
    mix(3);
    mix(value.length);
    for (const one of value) mixValue(one);
  } else mixFields(value as Record<string, unknown>);
}

function mixFields(fields: Record<string, unknown>): void {
  const [outerHigh, outerLow] = [high, low];
  let [sumHigh, sumLow] = [0, 0];
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    begin();
    mixText(name);
    mixValue(value);
    finish();
    sumHigh = (sumHigh + high) | 0;
    sumLow = (sumLow + low) | 0;
  }
  [high, low] = [outerHigh, outerLow];
  mix(4);
  mix(sumHigh);
  mix(sumLow);
}
