import { hash } from 'node:crypto';

/** Lost commits and restores can repeat a position, but never position and state together. */
export type FeedState = {
  position: number;
  state: number;
  /** The position at which the feed restarted after the last restore; 0 without a restore. */
  restoredAt: number;
};

type Stamp = Pick<FeedState, 'position' | 'state'>;

export function sameState(a: Stamp, b: Stamp): boolean {
  return a.position === b.position && a.state === b.state;
}

/**
 * The weak ETag of a response that shows the feed. It depends on the state and the request, because an unchanged page
 * must not hide a change on a later page. The state must be read before the rows, or in their snapshot.
 * @param request the payload version and the request
 */
export function feedETag({ position, state }: Stamp, baseUrl: string, request: string): string {
  return weakETag(`${position}.${state}\n${baseUrl}\n${request}`);
}

/** The weak ETag of a response that depends only on this text. */
export function weakETag(text: string): string {
  return `W/"${hash('sha256', text, 'base64url').slice(0, 24)}"`;
}

/** If-None-Match by weak comparison (RFC 9110, 13.1.2): `*`, one ETag, or a list. */
export function noneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return true;
  if (header === etag || header.trim() === '*') return false;
  const opaque = etag.replace(/^W\//, '');
  return !header.split(',').some((one) => one.trim().replace(/^W\//, '') === opaque);
}
