import type { App } from '../app.ts';
import { writeCursor } from '../feed/cursor.ts';
import { SetCache } from '../feed/group-sets.ts';
import { bindingOf } from '../http/list-reply.ts';
import { readQuery } from '../http/query.ts';
import type { Caller, Reply } from '../http/route.ts';
import { shapes } from './handle.ts';
import { routes } from './routes.ts';

/**
 * What `GET /assessments` would answer a key at this moment, by the handler that answers it: there is no second copy of
 * any rule. Nothing is counted, logged or changed by it.
 */

const list = routes.find((route) => route.id === 'listAssessments')!;

/** A place in the feed; `throughUs` null: the walk's X-Sync-Through isn't known, and stands in nothing but the next cursor. */
export type Place = { value: number; id: string; throughUs: number | null };

export type Ask = {
  /** Every parameter but limit and cursor. */
  query: string;
  limit: number | null;
  cursor: Place | null;
};

/** The query string of a request by this key, with its cursor as it was given to it. */
export function rawQueryOf(app: App, caller: Caller, { query, limit, cursor }: Ask): string {
  const parts = [query, limit === null ? '' : `limit=${limit}`].filter((part) => part !== '');
  if (cursor !== null) {
    const { canonical } = readQuery(parts.join('&'), list.query!, { paged: true });
    const throughUs = cursor.throughUs ?? caller.feed.position;
    parts.push(`cursor=${writeCursor(app.secrets, bindingOf(caller, list.path, canonical), { ...cursor, throughUs })}`);
  }
  return parts.join('&');
}

/** @throws ApiError as the service would */
export function answerTo(app: App, sets: SetCache, caller: Caller, rawQuery: string): Promise<Reply> {
  return list.handle({
    app,
    sets,
    caller,
    shapeVersion: shapes,
    params: {},
    rawQuery,
    path: list.path,
    body: {},
    ifNoneMatch: undefined,
    range: undefined,
    ifRange: undefined,
    over: AbortSignal.abort(),
    change: () => Promise.reject(new Error('a read changes nothing')),
  });
}

/** One entry of the feed as it is sent. */
export type SentEntry = {
  assessment_id: string;
  updated_at: string;
  status?: 'completed' | 'deleted';
  removed?: { reason: string; scope: string };
  learner?: { learner_id: string; ref: string | null; full_name: string };
  subject?: string;
  rqf_level?: string | null;
  working_level?: string | null;
};

export type SentPage = {
  data: SentEntry[];
  pagination: { limit: number; has_more: boolean; next: string | null };
};

export const pageOf = (reply: Reply): SentPage => JSON.parse(String(reply.body));

/**
 * Pages from a place on, until the end or until so many entries have come.
 * @returns the entries, whether more follow, and the digest of the last page where it has one
 */
export async function walkFrom(
  app: App,
  sets: SetCache,
  caller: Caller,
  ask: Omit<Ask, 'limit'>,
  most: number,
): Promise<{ entries: SentEntry[]; more: boolean; digest: string | null }> {
  const entries: SentEntry[] = [];
  let rawQuery: string | null = rawQueryOf(app, caller, { ...ask, limit: Math.min(500, most) });
  let digest: string | null = null;
  while (rawQuery !== null && entries.length < most) {
    const reply = await answerTo(app, sets, caller, rawQuery);
    const { data, pagination } = pageOf(reply);
    entries.push(...data);
    digest = reply.headers?.['x-sync-digest'] ?? null;
    rawQuery = pagination.next === null ? null : new URL(pagination.next).search.slice(1);
  }
  return { entries, more: rawQuery !== null, digest };
}
