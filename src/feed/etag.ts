import { hash } from 'node:crypto';

/** `state` is random, because a feed can reach a position twice after lost commits or a restore. */
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
 * The weak ETag of a response that shows the feed. The ETag depends on the feed's state, so that an unchanged page does
 * not hide a change on a later page. Read the state before the rows or in their snapshot; otherwise old rows may get a
 * new ETag.
 * @param request the payload version and the request
 */
export function feedETag({ position, state }: Stamp, baseUrl: string, request: string): string {
  return weakETag(`${position}.${state}\n${baseUrl}\n${request}`);
}

export function weakETag(text: string): string {
  return `W/"${hash('sha256', text, 'base64url').slice(0, 24)}"`;
}

/**
 * Compares If-None-Match (`*`, one ETag or a list) with an ETag by weak comparison (RFC 9110, 13.1.2).
 * @returns false if the response is 304
 */
export function noneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return true;
  if (header === etag || header.trim() === '*') return false;
  const opaque = etag.replace(/^W\//, '');
  return !header.split(',').some((one) => one.trim().replace(/^W\//, '') === opaque);
}
