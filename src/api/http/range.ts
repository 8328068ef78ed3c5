import { noneMatch } from '../../feed/etag.ts';
import { cacheHeaders } from './list-reply.ts';
import type { Call, Reply } from './route.ts';

/**
 * Serves bytes that never change, conditionally by their strong ETag and by range (RFC 9110, 13 and 14). Several,
 * malformed or unsatisfiable ranges get the full file, because a server may ignore Range.
 */
export function byteRange(
  call: Call,
  bytes: Buffer,
  { etag, resource, ...options }: { etag: string; headers: Record<string, string>; resource: string },
): Reply {
  const headers: Record<string, string> = { ...options.headers, ...cacheHeaders, etag, 'accept-ranges': 'bytes' };
  if (!noneMatch(call.ifNoneMatch, etag)) return { status: 304, body: null, headers, resource, repeatable: true };
  // If-Range must equal the ETag. A date never matches, because the service sends no Last-Modified.
  const isOther = call.ifRange !== undefined && call.ifRange !== etag;
  const range = call.range === undefined || isOther ? null : satisfiable(call.range, bytes.length);
  if (range === null) return { status: 200, body: bytes, headers, resource, repeatable: true };
  headers['content-range'] = `bytes ${range.from}-${range.to}/${bytes.length}`;
  return { status: 206, body: bytes.subarray(range.from, range.to + 1), headers, resource };
}

/** The first and the last byte of the requested range; null: the full file is sent. */
function satisfiable(header: string, length: number): { from: number; to: number } | null {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header);
  if (match === null) return null;
  const [, first = '', last = ''] = match;
  if (first === '') return Number(last) === 0 ? null : { from: Math.max(0, length - Number(last)), to: length - 1 };
  if (last !== '' && Number(last) < Number(first)) return null;
  const range = { from: Number(first), to: last === '' ? length - 1 : Math.min(Number(last), length - 1) };
  return range.from < length ? range : null;
}
