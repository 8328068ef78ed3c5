import { hash } from 'node:crypto';

/** Rises whenever the same rows would be sent as other bytes: it keeps old ETags from matching new shapes. */
const shapeVersion = 1;

/**
 * The weak ETag of a reply that shows an organisation's feed. It comes from the feed's position and the request, never
 * from the reply's bytes: a page that stays the same must not hide a change on a later one. The position has to be
 * read before the rows, or in their snapshot.
 */
export function feedETag(position: number, baseUrl: string, request: string): string {
  return `W/"${hash('sha256', `${shapeVersion}\n${position}\n${baseUrl}\n${request}`, 'base64url').slice(0, 24)}"`;
}

/** If-None-Match against an ETag, by weak comparison (RFC 9110, 13.1.2): `*`, one, or a list. */
export function noneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return true;
  if (header === etag || header.trim() === '*') return false;
  const opaque = etag.replace(/^W\//, '');
  return !header.split(',').some((one) => one.trim().replace(/^W\//, '') === opaque);
}
