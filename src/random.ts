import { randomBytes, createHash } from 'node:crypto';

/** Randomness, injected: nothing else in the source tree may make random numbers (a test keeps this). */
export type Random = {
  /** n bytes, fit for secrets when they come from the system. */
  bytes(n: number): Buffer;
  /** A version 4 UUID (RFC 9562), lower case. */
  uuid(): string;
  /** Uniform in [0, 1). */
  float(): number;
};

function uuidFrom(bytes: Buffer): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function fromBytes(bytes: (n: number) => Buffer): Random {
  return {
    bytes,
    uuid: () => uuidFrom(Buffer.from(bytes(16))),
    float: () => bytes(7).readUIntBE(1, 6) / 2 ** 48,
  };
}

export const systemRandom: Random = fromBytes((n) => randomBytes(n));

/** The same seed gives the same sequence on every machine: SHA-256 in counter mode. Never for secrets. */
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

/** One of the list, uniformly. */
export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random.float() * list.length)]!;
}

/** The UUID that a name always has within a namespace: first 16 bytes of SHA-256, marked as version 8 (RFC 9562). */
export function uuidOf(namespace: string, name: string): string {
  const bytes = createHash('sha256').update(namespace).update('\0').update(name).digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
