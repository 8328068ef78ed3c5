import { ApiError } from '../errors.ts';
import type { Cursor } from '../feed/cursor.ts';
import { readCursor, writeCursor } from '../feed/cursor.ts';
import { feedETag, noneMatch } from '../feed/etag.ts';
import { formatPosition } from '../feed/time.ts';
import type { ParsedQuery } from './query.ts';
import type { Call, Reply } from './route.ts';

/** One entry of a list, ready to send, with what a cursor after it needs. */
export type Entry = { json: string; value: number; id: string };

/** What a noun's page function gives: one entry more than asked for when there are more, and the feed's position in the same snapshot. */
export type EntryPage = { entries: Entry[]; position: number };

/** Headers of every reply that shows an organisation's data. */
export const cacheHeaders = { 'cache-control': 'private, no-cache', vary: 'X-Access-Key-Id, Accept-Encoding' } as const;

/** The last ETag of each query that is kept: a client that polls gets the same one until something changes. */
const lastETags = new WeakMap<ParsedQuery, { organisationId: number; position: number; path: string; baseUrl: string; etag: string }>();

function etagOf({ app, caller, path }: Call, query: ParsedQuery): string {
  const { organisationId, feedPosition: position } = caller;
  const { baseUrl } = app.settings;
  const last = lastETags.get(query);
  if (last !== undefined && last.position === position && last.organisationId === organisationId && last.path === path && last.baseUrl === baseUrl) return last.etag;
  const etag = feedETag(position, baseUrl, `${organisationId}\n${path}\n${query.canonical}\n${query.limit}\n${query.cursor ?? ''}`);
  lastETags.set(query, { organisationId, position, path, baseUrl, etag });
  return etag;
}

/**
 * Answers a list: 304 from the feed's position alone, or a page with its cursor.
 * X-Sync-Through is the feed's position when the walk's first page was read; cursors carry it along.
 */
export async function listReply(call: Call, query: ParsedQuery, fetch: (after: Cursor | null, limit: number) => Promise<EntryPage>): Promise<Reply> {
  const { app, caller } = call;
  const binding = { organisationId: caller.organisationId, path: call.path, query: query.canonical };
  const after = query.cursor === null ? null : readCursor(app.secrets, binding, query.cursor);
  if (query.cursor !== null && after === null) throw new ApiError('invalid_cursor');

  const etag = etagOf(call, query);
  const headers: Record<string, string> = { etag, ...cacheHeaders };
  if (!noneMatch(call.ifNoneMatch, etag)) {
    headers['x-sync-through'] = formatPosition(after?.throughUs ?? caller.feedPosition);
    return { status: 304, body: null, headers };
  }
  const { entries, position } = await fetch(after, query.limit + 1);
  const throughUs = after?.throughUs ?? position;
  headers['x-sync-through'] = formatPosition(throughUs);
  const hasMore = entries.length > query.limit;
  const page = hasMore ? entries.slice(0, query.limit) : entries;
  let next: string | null = null;
  if (hasMore) {
    const last = page.at(-1)!;
    const cursor = writeCursor(app.secrets, binding, { value: last.value, id: last.id, throughUs });
    next = `${app.settings.baseUrl}/api/v1${call.path}?${query.canonical === '' ? '' : `${query.canonical}&`}limit=${query.limit}&cursor=${cursor}`;
    headers.link = `<${next}>; rel="next"`;
  }
  let data = '';
  for (const entry of page) data += data === '' ? entry.json : `,${entry.json}`;
  return { status: 200, headers, body: `{"data":[${data}],"pagination":{"limit":${query.limit},"has_more":${hasMore},"next":${JSON.stringify(next)}}}` };
}

/**
 * The ETag and conditional answer of a single resource. It comes from what the reply shows, so it changes exactly when
 * the resource does.
 */
export function singleReply(call: Call, reply: Reply, version: string): Reply {
  const etag = feedETag(0, call.app.settings.baseUrl, `${call.caller.organisationId}\n${call.path}\n${version}`);
  const headers = { ...reply.headers, etag, ...cacheHeaders };
  if (reply.status === 200 && !noneMatch(call.ifNoneMatch, etag)) return { ...reply, status: 304, body: null, headers };
  return { ...reply, headers };
}
