import { keyScopeText } from '../../organisations/key-scope.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { type Cursor, type CursorBinding, readCursor, writeCursor } from '../../feed/cursor.ts';
import { type FeedState, feedETag, noneMatch, sameState, weakETag } from '../../feed/etag.ts';
import { formatPosition } from '../../feed/time.ts';
import type { ParsedQuery } from './query.ts';
import { type Call, type Caller, type Reply, jsonType } from './route.ts';
import type { Recorded } from '../../platform/audit/log.ts';
import { Type } from '../../platform/validation/type.ts';
import { apiBase } from '../../platform/config/settings.ts';

export const PaginationSchema = Type.Object(
  {
    limit: Type.Integer({ description: 'Number of entries on a page.' }),
    has_more: Type.Boolean({ description: 'Whether another page follows.' }),
    next: Type.Union([Type.String({ format: 'uri' }), Type.Null()], {
      description: 'Absolute URL of the next page. Null: this is the last page.',
    }),
  },
  { $id: 'Pagination', description: 'The page size, and the next page.' },
);

/** The position of an entry in its list: the value by which the list is sorted, and the ID. */
type Position = { value: number; id: string };

export type Entry = { json: string } & Position;

export const cacheHeaders = { 'cache-control': 'private, no-cache', vary: 'X-Access-Key-Id, Accept-Encoding' } as const;

/** Every response after a restore has this header, because a client may poll for the first time years later. */
export function restoredHeader({ restoredAt }: FeedState): Record<string, string> {
  return restoredAt === 0 ? {} : { 'x-sync-restored': formatPosition(restoredAt) };
}

/** The last ETag of each parsed query is cached, because the ETag stays the same until the feed changes. */
const lastETags = new WeakMap<ParsedQuery, { request: string; baseUrl: string; feed: FeedState; etag: string }>();

function etagOf({ app, caller, path, query, responseVersion }: Call, keyScope: string): string {
  const { baseUrl } = app.settings;
  const request = `${responseVersion}\n${caller.organisationId}\n${path}\n${query.canonical}\n${query.limit}\n${query.cursor ?? ''}${keyScope === '' ? '' : `\n${keyScope}`}`;
  const last = lastETags.get(query);
  if (last !== undefined && last.request === request && last.baseUrl === baseUrl && sameState(last.feed, caller.feed))
    return last.etag;
  const etag = feedETag(caller.feed, baseUrl, request);
  lastETags.set(query, { request, baseUrl, feed: caller.feed, etag });
  return etag;
}

/** Binds a cursor to its organisation, path, query and key scope. A request with other values is refused. */
function bindingOf({ organisationId, keyScope }: Caller, path: string, canonical: string): CursorBinding {
  const text = keyScopeText(keyScope);
  return { organisationId, path, query: text === '' ? canonical : `${canonical}\n${text}` };
}

/**
 * Answers a list with 304, or with a page and its cursor. The feed's state is read before the page, so every change
 * that is missing from the page has a position after X-Sync-Through.
 * @param fetch returns at most `limit` entries, 1 more than the page size; `passed`: where the search stopped early
 * @param learnerId finds the learner's ID, which the audit log contains instead of learner_ref
 */
export async function listReply(
  call: Call,
  fetch: (
    after: Cursor | null,
    limit: number,
  ) => Promise<{ entries: Entry[]; passed?: Position | null; headers?: Record<string, string> }>,
  learnerId: (() => Promise<string | null>) | null = null,
): Promise<Reply> {
  const { app, caller, query } = call;
  const keyScope = keyScopeText(caller.keyScope);
  const binding = bindingOf(caller, call.path, query.canonical);
  const after = query.cursor === null ? null : readValidCursor(call, binding, query.cursor);
  const etag = etagOf(call, keyScope);
  const throughUs = after?.throughUs ?? caller.feed.position;
  const headers: Record<string, string> = {
    etag,
    ...cacheHeaders,
    'x-sync-through': formatPosition(throughUs),
    ...restoredHeader(caller.feed),
  };
  const recorded: Recorded = {
    query: query.canonical === '' ? undefined : await recordedQuery(query, learnerId),
    limit: query.limit,
    cursor: after?.value,
  };
  if (!noneMatch(call.ifNoneMatch, etag)) return { status: 304, body: null, headers, recorded, repeatable: true };
  const { entries, passed = null, headers: more } = await fetch(after, query.limit + 1);
  Object.assign(headers, more);
  const isFull = entries.length > query.limit;
  const page = isFull ? entries.slice(0, query.limit) : entries;
  const last: Position | null = isFull ? page.at(-1)! : passed;
  let next: string | null = null;
  if (last !== null) {
    const cursor = writeCursor(app.secrets, binding, { value: last.value, id: last.id, throughUs });
    next = `${app.settings.baseUrl}${apiBase}${call.path}?${query.canonical === '' ? '' : `${query.canonical}&`}limit=${query.limit}&cursor=${cursor}`;
    headers.link = `<${next}>; rel="next"`;
  }
  headers['content-type'] = jsonType;
  const pagination = JSON.stringify({ limit: query.limit, has_more: last !== null, next });
  const sent = { through: throughUs, ...endsOf(page), rows: page.length, more: last !== null };
  return {
    status: 200,
    headers,
    recorded: { ...recorded, ...sent, next: last?.value, next_id: last?.id },
    body: pageBytes(page, `],"pagination":${pagination}}`),
  };
}

function readValidCursor({ app, caller }: Call, binding: CursorBinding, text: string): Cursor {
  const { position, restoredAt } = caller.feed;
  const cursor = readCursor(app.secrets, binding, text);
  // If a restore has lost the state in which a sync began, the cursor's X-Sync-Through would skip new changes.
  if (cursor === null || cursor.throughUs > position || cursor.throughUs < restoredAt)
    throw new ApiError('invalid_cursor');
  return cursor;
}

/** Replaces the learner's ID in the log if no learner had the reference. */
export const unknownLearner = 'unknown';

async function recordedQuery(query: ParsedQuery, learnerId: (() => Promise<string | null>) | null): Promise<string> {
  if (learnerId === null) return query.canonical;
  const id = await learnerId();
  return query.canonical.replace(/learner_ref=[^&]*/, `learner_id=${id ?? unknownLearner}`);
}

/** The lowest and the highest value on a page, whether the list ascends or descends. */
function endsOf(page: Entry[]): { first?: number; last?: number } {
  if (page.length === 0) return {};
  const [one, other] = [page[0]!.value, page.at(-1)!.value];
  return { first: Math.min(one, other), last: Math.max(one, other) };
}

const opening = '{"data":[';
const comma = 0x2c;
/** The maximum number of UTF-8 bytes for one UTF-16 code unit. */
const bytesPerUnit = 3;

/** Writes each entry directly into the response's buffer, because one long string would be copied two more times. */
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

/** A conditional response with one resource. Its ETag is a hash of the body. */
export function singleReply(call: Call, reply: Reply): Reply {
  const etag = weakETag(String(reply.body));
  const headers = { ...reply.headers, etag, ...cacheHeaders };
  if (reply.status === 200 && !noneMatch(call.ifNoneMatch, etag)) return { ...reply, status: 304, body: null, headers };
  return { ...reply, headers };
}
