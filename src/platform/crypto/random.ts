import { createHash, hash, randomBytes, randomUUID } from 'node:crypto';

/**
 * The source of randomness, which functions take as a parameter. A test ensures that other code makes no random
 * numbers.
 */
export type Random = {
  bytes(n: number): Buffer;
  /** A version 4 UUID (RFC 9562), lower case. */
  uuid(): string;
  float(): number;
};

export type Uniform = Pick<Random, 'float'>;

function uuidFrom(bytes: Buffer): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return dashed(bytes.toString('hex', 0, 16));
}

function fromBytes(bytes: (n: number) => Buffer): Random {
  return {
    bytes,
    uuid: () => uuidFrom(Buffer.from(bytes(16))),
    float: () => bytes(7).readUIntBE(1, 6) / 2 ** 48,
  };
}

export const systemRandom: Random = { ...fromBytes((n) => randomBytes(n)), uuid: () => randomUUID() };

/**
 * Makes the same sequence from the same seed on every machine, by SHA-256 in counter mode. Do not use it for secrets.
 */
export function seededRandom(seed: string): Random {
  let counter = 0;
  let pool = Buffer.alloc(0);
  return fromBytes((n) => {
    while (pool.length < n) {
      pool = Buffer.concat([pool, createHash('sha256').update(`${seed}:${counter++}`).digest()]);
    }
    const out = Buffer.from(pool.subarray(0, n));
    pool = pool.subarray(n);
    return out;
  });
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random.float() * list.length)]!;
}

/** A version 8 UUID from the SHA-256 of namespace and name. */
export function uuidOf(namespace: string, name: string): string {
  const hex = hash('sha256', `${namespace}\0${name}`);
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Makes a version 7 UUID (RFC 9562), which begins with its time. The time of a row is therefore known from its ID. */
export function uuidAt(random: Pick<Random, 'uuid'>, atMs: number): string {
  const time = atMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.uuid().slice(15)}`;
}

/** The time of a version 7 UUID in milliseconds since 1970; null for other texts. */
export function timeOf(id: string): number | null {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i.exec(id) ?? [];
  return high === undefined ? null : Number.parseInt(high + low!, 16);
}

export function hashOfNumber(number: number): number {
  let x = Math.imul(number ^ 0x9e3779b9, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

const rotateLeft = (x: number, k: number): number => (x << k) | (x >>> (32 - k));

/** Hashes UTF-16 units to 32 bits by FNV-1a from any basis, followed by MurmurHash3's finalizer. */
function hash32(text: string, basis: number): number {
  let h = basis;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/**
 * Like `seededRandom`, but fast enough for bulk data: xoshiro128** 1.1 (Blackman and Vigna, 2018). A new stream takes
 * less than a microsecond. Do not use it for secrets.
 */
export function fastRandom(seed: string): Random {
  let s0 = hash32(seed, 0x811c9dc5);
  let s1 = hash32(seed, 0x9e3779b9 ^ s0);
  let s2 = hash32(seed, 0x243f6a88 ^ s1);
  // One bit is set, because the generator never leaves the all-zero state.
  let s3 = hash32(seed, 0xb7e15162 ^ s2) | 1;
  const next = (): number => {
    const out = Math.imul(rotateLeft(Math.imul(s1, 5), 7), 9) >>> 0;
    const t = s1 << 9;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= t;
    s3 = rotateLeft(s3, 11);
    return out;
  };
  const bytes = (n: number): Buffer => {
    const out = Buffer.alloc(n);
    for (let i = 0; i < n; i += 1) out[i] = next() >>> 24;
    return out;
  };
  return {
    bytes,
    uuid: () => uuidFrom(bytes(16)),
    float: () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53,
  };
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

export function dashed(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Sorts before every other UUID. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
