import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import { limits } from '../../platform/config/limits.ts';
import type { Reply } from './route.ts';

/**
 * Content codings, the best first. At these levels, compressing a page of 500 entries takes less time than making it
 * (docs/decisions/0004-answer-repeated-reads-at-admission.md).
 */
const codings = {
  zstd: (bytes: Buffer) => promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 1 }),
};

type Coding = keyof typeof codings;
const preferred = Object.keys(codings) as Coding[];

/**
 * Chooses a coding by Accept-Encoding. `*` selects no coding, because a client that names no coding may support none of
 * ours.
 * @returns the coding with the highest weight (RFC 9110, 12.5.3), or the first in `codings` of equal weights; null:
 * none
 */
export function chooseCoding(header: string | undefined): Coding | null {
  if (header === undefined) return null;
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1';
    weights.set(name === 'x-gzip' ? 'gzip' : name!, /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0);
  }
  let best: Coding | null = null;
  for (const coding of preferred) {
    const weight = weights.get(coding) ?? 0;
    if (weight > (best === null ? (weights.get('identity') ?? 0) * 0.999 : weights.get(best)!)) best = coding;
  }
  return best;
}

/**
 * Whether a response may be compressed. Responses with new secrets have no Vary header, so they are never compressed.
 */
function varies({ status, headers, body }: Reply): boolean {
  return status === 200 && body !== null && headers?.vary !== undefined && headers['accept-ranges'] === undefined;
}

/** The body in the coding that the client prefers; null: the body is sent uncompressed. */
export async function compressed(body: string | Buffer, acceptEncoding: string | undefined) {
  const coding = body.length < limits.compressFromBytes ? null : chooseCoding(acceptEncoding);
  if (coding === null) return null;
  return { coding, bytes: await codings[coding](typeof body === 'string' ? Buffer.from(body) : body) };
}

/** The response in the coding that the client prefers. Its weak ETag does not depend on the coding. */
export async function encoded(reply: Reply, acceptEncoding: string | undefined): Promise<Reply> {
  const smaller = varies(reply) ? await compressed(reply.body!, acceptEncoding) : null;
  if (smaller === null) return reply;
  return { ...reply, body: smaller.bytes, headers: { ...reply.headers, 'content-encoding': smaller.coding } };
}
