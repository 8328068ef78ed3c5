import { formatPosition } from '../feed/time.ts';
import { nilUuid } from '../uuid.ts';
import type { Poll } from './facts.ts';
import type { RecordedWalk } from './walk.ts';
import { walkOf } from './walk.ts';

/**
 * What a key asks for next, read from what it asked for last (docs/decisions/0062): a walk goes on, a poll that found
 * nothing new is repeated, and after a walk's end comes the poll from its X-Sync-Through.
 */
export type NextRequest = {
  /** Every parameter but limit and cursor, as the log has them: a learner by id. */
  query: string;
  /** Null: the service's own. */
  limit: number | null;
  /** Where the walk goes on; null at the beginning of one. */
  cursor: { value: number; id: string; throughUs: number | null } | null;
  /** Up to this position it has had everything that its filters let through; null where nothing tells. */
  hadUs: number | null;
  /** The feed's position when it was last told that nothing is new, if it asks the same again. */
  sameSinceUs: number | null;
};

/** The first request of a key that has asked for nothing yet. */
export const firstRequest: NextRequest = { query: '', limit: null, cursor: null, hadUs: null, sameSinceUs: null };

/** The filters of a walk: what stays when `since` moves on. */
export function filtersOf(query: string): string {
  return query
    .split('&')
    .filter((part) => part !== '' && !part.startsWith('since='))
    .join('&');
}

const sortOf = (query: string) => new URLSearchParams(query).get('sort') ?? 'updated_at';

/** @param polls answered ones of the key, the newest first. @returns null where the log doesn't tell */
export function nextRequest(last: Poll, polls: readonly Poll[]): NextRequest | null {
  const walk = walkOf(last);
  if (walk === null) return null;
  const before = polls.filter((poll) => poll.audit_id <= last.audit_id);
  if (last.status === 304) return again(walk, before, last.at);
  return walk.more ? further(walk) : afterWalk(walk, before);
}

/** The same request, with the ETag that it sent. */
function again(walk: RecordedWalk, before: readonly Poll[], at: Date): NextRequest | null {
  const { query, limit, cursor } = walk;
  if (cursor !== null && !walk.byPosition) return null;
  const sent = before.filter((poll) => poll.status === 200 && walkOf(poll)?.query === query);
  const whole = sent.find((poll) => !walkOf(poll)!.more);
  const through = whole === undefined ? null : walkOf(whole)!.throughUs;
  return {
    query,
    limit,
    cursor: cursor === null ? null : { value: cursor, id: nilUuid, throughUs: through },
    // Where the page that the ETag came from is no longer in the log, the 304 says that it has had what was there by then.
    hadUs: sortOf(query) === 'updated_at' ? (through ?? at.getTime() * 1000) : null,
    sameSinceUs: cursor === null ? through : null,
  };
}

function further({ query, limit, byPosition, next, last, throughUs }: RecordedWalk): NextRequest | null {
  const ascending = sortOf(query) === 'updated_at';
  // Of a page that an older version of the service sent, its last position tells the same, but for a page without rows.
  const place = next ?? (ascending && last !== null ? { value: last, id: nilUuid } : null);
  if (place === null) return null;
  return {
    query,
    limit,
    cursor: { ...place, throughUs },
    hadUs: byPosition && ascending ? place.value : null,
    sameSinceUs: null,
  };
}

function afterWalk(walk: RecordedWalk, before: readonly Poll[]): NextRequest | null {
  const { query, limit } = walk;
  // A walk in another order can't go on from a position: it is walked again.
  if (sortOf(query) !== 'updated_at') return { query, limit, cursor: null, hadUs: null, sameSinceUs: walk.throughUs };
  const first = before.find((poll) => walkOf(poll)?.query === query && walkOf(poll)?.cursor === null);
  const through = walk.throughUs ?? (first === undefined ? null : walkOf(first)!.throughUs);
  if (through === null) return null;
  const filters = filtersOf(query)
    .split('&')
    .filter((part) => part !== '' && !part.startsWith('sort='));
  const since = `since=${encodeURIComponent(formatPosition(through))}`;
  const asked = [since, ...filters].join('&');
  return { query: asked, limit, cursor: null, hadUs: through, sameSinceUs: asked === query ? through : null };
}
