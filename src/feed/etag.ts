import { hash } from 'node:crypto';

/**
 * Which state of an organisation's feed: how far it went, and what the last unit of work drew. Positions alone can be
 * given out again, when commits are lost in a failover or a backup comes back; the two together can't.
 */
export type FeedState = {
  position: number;
  state: number;
  /** Where it began again when the database was last restored; 0 without a restore. */
  restoredAt: number;
};

type Stamp = Pick<FeedState, 'position' | 'state'>;

export function sameState(a: Stamp, b: Stamp): boolean {
  return a.position === b.position && a.state === b.state;
}

/**
 * The weak ETag of a reply that shows an organisation's feed. It comes from the feed's state and the request, never
 * from the reply's bytes: a page that stays the same must not hide a change on a later one. The state has to be
 * read before the rows, or in their snapshot.
 * @param request what else decides the bytes: the version of the shapes, and the request
 */
export function feedETag({ position, state }: Stamp, baseUrl: string, request: string): string {
  return weakETag(`${position}.${state}\n${baseUrl}\n${request}`);
}

/** A weak ETag of a text's own: of what a reply holds, if it comes from nothing else. */
export function weakETag(text: string): string {
  return `W/"${hash('sha256', text, 'base64url').slice(0, 24)}"`;
}

/** If-None-Match against an ETag, by weak comparison (RFC 9110, 13.1.2): `*`, one, or a list. */
export function noneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return true;
  if (header === etag || header.trim() === '*') return false;
  const opaque = etag.replace(/^W\//, '');
  return !header.split(',').some((one) => one.trim().replace(/^W\//, '') === opaque);
}
