import { noneMatch } from '../../feed/etag.ts';
import { cacheHeaders } from './list-reply.ts';
import type { Call, Reply } from './route.ts';

/**
 * Serves bytes that never change under their strong ETag: conditionally, and one range of them (RFC 9110, 13 and 14).
 * Several ranges, malformed ones and those that begin beyond the end get the whole file: a server may ignore Range, and
 * a client that asked for too much holds the right bytes in the end.
 */
export function byteRange(
  call: Call,
  bytes: Buffer,
  given: { etag: string; headers: Record<string, string>; resource: string },
): Reply {
  const headers: Record<string, string> = {
    ...given.headers,
    ...cacheHeaders,
    etag: given.etag,
    'accept-ranges': 'bytes',
  };
  if (!noneMatch(call.ifNoneMatch, given.etag))
    return { status: 304, body: null, headers, resource: given.resource, repeatable: true };
  // If-Range compares strongly, and no Last-Modified is ever sent that a date in it could match.
  const range =
    call.range === undefined || (call.ifRange !== undefined && call.ifRange !== given.etag)
      ? null
      : satisfiable(call.range, bytes.length);
  if (range === null) return { status: 200, body: bytes, headers, resource: given.resource, repeatable: true };
  headers['content-range'] = `bytes ${range.from}-${range.to}/${bytes.length}`;
  return { status: 206, body: bytes.subarray(range.from, range.to + 1), headers, resource: given.resource };
}

/** First and last byte of the one range that is asked for, or null when there is no such part. */
function satisfiable(header: string, length: number): { from: number; to: number } | null {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header);
  if (match === null) return null;
  const [, first = '', last = ''] = match;
  if (first === '') return Number(last) === 0 ? null : { from: Math.max(0, length - Number(last)), to: length - 1 };
  if (last !== '' && Number(last) < Number(first)) return null;
  const range = { from: Number(first), to: last === '' ? length - 1 : Math.min(Number(last), length - 1) };
  return range.from < length ? range : null;
}
