import { keyScopeText } from '../../organisations/key-scope.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import type { Cursor, CursorBinding } from '../../feed/cursor.ts';
import { readCursor, writeCursor } from '../../feed/cursor.ts';
import type { FeedState } from '../../feed/etag.ts';
import { feedETag, noneMatch, sameState, weakETag } from '../../feed/etag.ts';
import { formatPosition } from '../../feed/time.ts';
import type { ParsedQuery } from './query.ts';
import type { Call, Caller, Reply } from './route.ts';
import type { Recorded } from '../../platform/audit/log.ts';
import { jsonType } from './route.ts';
import { apiBase } from '../../platform/config/settings.ts';

/** A place in a list, as a cursor needs it. */
type Place = { value: number; id: string };

/** One entry of a list, ready to send, with its place. */
export type Entry = { json: string } & Place;

/** Headers of every reply that shows an organisation's data. */
export const cacheHeaders = { 'cache-control': 'private, no-cache', vary: 'X-Access-Key-Id, Accept-Encoding' } as const;

/** Told for good: a client may ask years after the restore, with what it held before. */
export function restoredHeader({ restoredAt }: FeedState): Record<string, string> {
  return restoredAt === 0 ? {} : { 'x-sync-restored': formatPosition(restoredAt) };
}

/** The last ETag of each query that is kept: a client that polls gets the same one until something changes. */
const lastETags = new WeakMap<
  ParsedQuery,
  { organisationId: number; keyScope: string; feed: FeedState; path: string; baseUrl: string; etag: string }
>();

function etagOf({ app, caller, path, shapeVersion }: Call, query: ParsedQuery, keyScope: string): string {
  const { organisationId, feed } = caller;
  const { baseUrl } = app.settings;
  const last = lastETags.get(query);
  if (
    last !== undefined &&
    sameState(last.feed, feed) &&
    last.organisationId === organisationId &&
    last.keyScope === keyScope &&
    last.path === path &&
    last.baseUrl === baseUrl
  )
    return last.etag;
  const etag = feedETag(
    feed,
    baseUrl,
    `${shapeVersion}\n${organisationId}\n${path}\n${query.canonical}\n${query.limit}\n${query.cursor ?? ''}${keyScope === '' ? '' : `\n${keyScope}`}`,
  );
  lastETags.set(query, { organisationId, keyScope, feed, path, baseUrl, etag });
  return etag;
}

/** What a cursor of a list is bound to. @param canonical of the query, without limit and cursor */
export function bindingOf({ organisationId, keyScope }: Caller, path: string, canonical: string): CursorBinding {
  const text = keyScopeText(keyScope);
  return { organisationId, path, query: text === '' ? canonical : `${canonical}\n${text}` };
}

/**
 * Answers a list: 304 from the feed's state alone, or a page with its cursor. That state was read when the
 * request was let in, before the page, so nothing that the page may lack stands below its position: ETag and X-Sync-Through come
 * from it alone. Cursors carry X-Sync-Through from a walk's first page along.
 * @param fetch gives one entry more than the page when there are more; or it says how far it looked, where it stopped before
 * @param learnerId of the learner_ref in the query, for the audit log
 */
export async function listReply(
  call: Call,
  query: ParsedQuery,
  fetch: (
    after: Cursor | null,
    limit: number,
  ) => Promise<{ entries: Entry[]; passed?: Place | null; headers?: Record<string, string> }>,
  learnerId: (() => Promise<string | null>) | null = null,
): Promise<Reply> {
  const { app, caller } = call;
  const keyScope = keyScopeText(caller.keyScope);
  const binding = bindingOf(caller, call.path, query.canonical);
  const after = query.cursor === null ? null : readCursor(app.secrets, binding, query.cursor);
  if (query.cursor !== null && after === null) throw new ApiError('invalid_cursor');
  // The cursor of a walk that began in a state which was lost since: its X-Sync-Through would pass over what comes now.
  const { position, restoredAt } = caller.feed;
  if (after !== null && (after.throughUs > position || after.throughUs < restoredAt))
    throw new ApiError('invalid_cursor');

  const etag = etagOf(call, query, keyScope);
  const throughUs = after?.throughUs ?? caller.feed.position;
  const headers: Record<string, string> = {
    etag,
    ...cacheHeaders,
    'x-sync-through': formatPosition(throughUs),
    ...restoredHeader(caller.feed),
  };
  const recorded: Recorded = {
    ...(query.canonical === '' ? {} : { query: await recordedQuery(query, learnerId) }),
    limit: query.limit,
    ...(after === null ? {} : { cursor: after.value }),
  };
  if (!noneMatch(call.ifNoneMatch, etag)) return { status: 304, body: null, headers, recorded, repeatable: true };
  const { entries, passed = null, headers: more } = await fetch(after, query.limit + 1);
  Object.assign(headers, more);
  const isFull = entries.length > query.limit;
  const page = isFull ? entries.slice(0, query.limit) : entries;
  const last: Place | null = isFull ? page.at(-1)! : passed;
  const hasMore = last !== null;
  let next: string | null = null;
  if (last !== null) {
    const cursor = writeCursor(app.secrets, binding, { value: last.value, id: last.id, throughUs });
    next = `${app.settings.baseUrl}${apiBase}${call.path}?${query.canonical === '' ? '' : `${query.canonical}&`}limit=${query.limit}&cursor=${cursor}`;
    headers.link = `<${next}>; rel="next"`;
  }
  headers['content-type'] = jsonType;
  recorded.through = throughUs;
  if (page.length > 0) Object.assign(recorded, endsOf(page));
  return {
    status: 200,
    headers,
    recorded: {
      ...recorded,
      rows: page.length,
      more: hasMore,
      ...(last === null ? {} : { next: last.value, next_id: last.id }),
    },
    body: pageBytes(
      page,
      `],"pagination":{"limit":${query.limit},"has_more":${hasMore},"next":${JSON.stringify(next)}}}`,
    ),
  };
}

async function recordedQuery(query: ParsedQuery, learnerId: (() => Promise<string | null>) | null): Promise<string> {
  if (learnerId === null) return query.canonical;
  const id = await learnerId();
  return query.canonical.replace(/learner_ref=[^&]*/, `learner_id=${id ?? 'unknown'}`);
}

/** The lowest and the highest value on a page, whichever way it is sorted. */
function endsOf(page: Entry[]): { first: number; last: number } {
  const [one, other] = [page[0]!.value, page.at(-1)!.value];
  return { first: Math.min(one, other), last: Math.max(one, other) };
}

const opening = '{"data":[';

/** UTF-8 takes at most this many bytes for one unit of a text's length. */
const bytesPerUnit = 3;

/**
 * A page as it is sent. Each entry is written straight into the reply's bytes: one long text of all of them would be
 * copied twice more, and at two bytes for every letter as soon as one name isn't Western European.
 */
function pageBytes(entries: Entry[], closing: string): Buffer {
  let units = opening.length + closing.length;
  for (const { json } of entries) units += json.length + 1;
  let bytes = Buffer.allocUnsafeSlow(units + Math.ceil(units / 16));
  let at = bytes.write(opening, 'latin1');
  const add = (text: string) => {
    if (bytes.length - at < text.length * bytesPerUnit + 1 && bytes.length - at < Buffer.byteLength(text) + 1) {
      const larger = Buffer.allocUnsafeSlow(bytes.length * 2 + text.length * bytesPerUnit);
      bytes.copy(larger, 0, 0, at);
      bytes = larger;
    }
    at += bytes.write(text, at, 'utf8');
  };
  for (let i = 0; i < entries.length; i++) {
    if (i > 0) bytes[at++] = comma;
    add(entries[i]!.json);
  }
  add(closing);
  return bytes.subarray(0, at);
}

const comma = 0x2c;

/**
 * The ETag and conditional answer of a single resource. It comes from what the reply shows, so it changes exactly when
 * the resource does.
 */
export function singleReply(call: Call, reply: Reply): Reply {
  const etag = weakETag(String(reply.body));
  const headers = { ...reply.headers, etag, ...cacheHeaders };
  if (reply.status === 200 && !noneMatch(call.ifNoneMatch, etag)) return { ...reply, status: 304, body: null, headers };
  return { ...reply, headers };
}
