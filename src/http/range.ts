import { noneMatch } from '../feed/etag.ts';
import { cacheHeaders } from './list-reply.ts';
import type { Call, Reply } from './route.ts';

/** Serves bytes that never change under their strong ETag: conditionally, and one range of them (RFC 9110, 13 and 14). */
export function byteRange(call: Call, bytes: Buffer, given: { etag: string; headers: Record<string, string>; resource: string }): Reply {
  const headers: Record<string, string> = { ...given.headers, ...cacheHeaders, etag: given.etag, 'accept-ranges': 'bytes' };
  if (!noneMatch(call.ifNoneMatch, given.etag)) return { status: 304, body: null, headers, resource: given.resource };
  const range = call.range === undefined ? null : /^bytes=(\d{0,15})-(\d{0,15})$/.exec(call.range);
  if (range === null || (range[1] === '' && range[2] === '')) return { status: 200, body: bytes, headers, resource: given.resource };
  const [from, to] = range[1] === ''
    ? [Math.max(0, bytes.length - Number(range[2])), bytes.length - 1]
    : [Number(range[1]), range[2] === '' ? bytes.length - 1 : Math.min(Number(range[2]), bytes.length - 1)];
  // A range that can't be satisfied, or is malformed, may be ignored: the whole file is always a right answer.
  if (from > to) return { status: 200, body: bytes, headers, resource: given.resource };
  headers['content-range'] = `bytes ${from}-${to}/${bytes.length}`;
  return { status: 206, body: bytes.subarray(from, to + 1), headers, resource: given.resource };
}
