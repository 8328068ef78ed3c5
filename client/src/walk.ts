import { isLostCursor, RestoredError, UnexpectedReplyError } from './errors.ts';
import type { CallOptions, FullCallOptions, Reply } from './request.ts';
import { searchOf } from './request.ts';

/** Store it together with the records of a completed walk. The next walk begins with it. */
export type Checkpoint = {
  /** `since` of the next walk: a time of the service, not of your clock. */
  since: string;
  /** `etag` of the next walk's options. It belongs to this `since`; after a change of `since`, the service returns 200 once. */
  etag: string;
};

/** A position between two pages. An interrupted walk continues from it, also in another process. */
export type Position = { next: string; since: string; etag: string };

export type Page<Entry> = {
  entries: Entry[];
  /** The place after this page; null after the last one. */
  position: Position | null;
  /** After the last page, and not before. */
  checkpoint: Checkpoint | null;
  /** The service's digest of the filtered results, if the last page has one. */
  digest: string | null;
  /** The time of the service's last restore, from this page. Null if there was none. */
  restored: string | null;
};

export type WalkOptions = CallOptions & {
  /** The `etag` of the last checkpoint, for a walk with the same query. */
  etag?: string;
  /** Continues from the place of a walk with the same query. */
  position?: Position;
  /**
   * Called when the service was restored and has lost records of this walk or of its `since`. The walk then starts
   * again without `since`: forget its records, and after it remove records that it did not show. Without this function
   * the walk does not restart: compare `restored` of the pages with your checkpoint, and expect `invalid_cursor`.
   * @param restored X-Sync-Restored; null if a cursor was refused, or the restore was not declared
   */
  onRestored?: (restored: string | null) => Promise<void> | void;
};

/** How often one walk, or one comparison, starts again. */
export const maxRestarts = 3;

type ListBody<Entry> = { data: Entry[]; pagination: { next: string | null } };

/** The response as a page of a list. `next` is a query, so the access key never goes to another host. @throws UnexpectedReplyError */
export function listed<Entry>(operation: string, reply: Reply<unknown>): Reply<ListBody<Entry>> {
  if (reply.status === 304) return reply as Reply<ListBody<Entry>>;
  const { data, pagination } = reply.body as Partial<ListBody<Entry>>;
  const isObject = (one: unknown) => typeof one === 'object' && one !== null;
  if (!Array.isArray(data) || !data.every(isObject) || !isObject(pagination))
    throw new UnexpectedReplyError(operation, reply.status, 'the response is not a page of a list');
  const { next } = pagination!;
  if (next === null) return reply as Reply<ListBody<Entry>>;
  const query = /^[^?#]*(\?[^#]*)/.exec(String(next))?.[1] ?? '';
  if (!new URLSearchParams(query).has('cursor'))
    throw new UnexpectedReplyError(operation, reply.status, 'the URL of the next page has no cursor');
  return { ...reply, body: { data, pagination: { next: query } } };
}

/**
 * A list, read page by page as it is iterated:
 * `for await (const entry of walk)`, or `for await (const page of walk.pages())` for the place after each page.
 */
export class Walk<Entry> implements AsyncIterable<Entry> {
  #ask: (search: string, options: FullCallOptions) => Promise<Reply<ListBody<Entry>>>;
  #query: Record<string, unknown>;
  #options: WalkOptions;
  #restarts = 0;
  /** True once the service has said that nothing has changed since the `etag`. */
  isUnchanged = false;
  /** Null until all pages are read, and if nothing has changed: then your checkpoint stays valid. */
  checkpoint: Checkpoint | null = null;
  /** The position after the last complete page; after the last page, the beginning. */
  position: Position | null = null;
  digest: string | null = null;
  /** The time of the service's last restore, from the last response. Null if there was none. */
  restored: string | null = null;

  constructor(
    ask: (search: string, options: FullCallOptions) => Promise<Reply<ListBody<Entry>>>,
    query: Record<string, unknown> = {},
    options: WalkOptions = {},
  ) {
    this.#ask = ask;
    this.#query = query;
    this.#options = { ...options };
    this.position = options.position ?? null;
  }

  async *pages(): AsyncGenerator<Page<Entry>, void, undefined> {
    // A page that comes again leads round for ever. Twice as far apart each time, one landmark sees every such circle.
    let landmark = this.position?.next ?? null;
    let [pages, reach] = [0, 1];
    for (;;) {
      const from: Position | null = this.position;
      const reply: Reply<ListBody<Entry>> | null = await this.#reply(from);
      if (reply === null) {
        [landmark, pages, reach] = [null, 0, 1];
        continue;
      }
      if (reply.status === 304) {
        this.isUnchanged = true;
        return;
      }
      const { data, pagination } = reply.body;
      // Both are those of the walk's first page, however far it has come.
      const since = from?.since ?? reply.headers.get('X-Sync-Through') ?? '';
      const walkETag = from?.etag ?? reply.etag ?? '';
      const { next } = pagination;
      if (next !== null && next === landmark)
        throw new UnexpectedReplyError(
          'a walk',
          reply.status,
          'the URL of the next page leads back to an earlier page',
        );
      if (++pages === reach) [landmark, pages, reach] = [next, 0, reach * 2];
      const page: Page<Entry> = {
        entries: data,
        position: next === null ? null : { next, since, etag: walkETag },
        checkpoint: next === null ? { since, etag: walkETag } : null,
        digest: next === null ? reply.headers.get('X-Sync-Digest') : null,
        restored: this.restored,
      };
      yield page;
      // A reader that stops within a page gets the page again.
      this.position = page.position;
      this.checkpoint = page.checkpoint;
      this.digest = page.digest;
      if (next === null) return;
    }
  }

  /** The next response. Null if the walk starts again. */
  async #reply(from: Position | null): Promise<Reply<ListBody<Entry>> | null> {
    const { etag, position: _position, onRestored, ...call } = this.#options;
    const isConditional = from === null && etag !== undefined && this.#restarts === 0;
    let reply: Reply<ListBody<Entry>>;
    try {
      const search = from?.next ?? searchOf(this.#query);
      reply = await this.#ask(search, isConditional ? { ...call, ifNoneMatch: etag } : call);
    } catch (error) {
      if (!isLostCursor(error) || onRestored === undefined) throw error;
      return this.#startAgain(null, onRestored, error);
    }
    this.restored = reply.headers.get('X-Sync-Restored');
    const began = Date.parse(String(from?.since ?? this.#query.since));
    const isAfter = (text: string | null) => text !== null && Date.parse(text) > began;
    const wentBack = from === null && Date.parse(reply.headers.get('X-Sync-Through') ?? '') < began;
    if (onRestored === undefined || !(isAfter(this.restored) || wentBack)) return reply;
    return this.#startAgain(this.restored, onRestored);
  }

  async #startAgain(restored: string | null, onRestored: NonNullable<WalkOptions['onRestored']>, cause?: unknown) {
    if (++this.#restarts > maxRestarts) throw new RestoredError('a walk', { cause });
    const { since: _since, ...rest } = this.#query;
    this.#query = rest;
    this.position = null;
    await onRestored(restored);
    return null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    for await (const { entries } of this.pages()) yield* entries;
  }

  /** All entries in one list, for small lists. */
  async toArray(): Promise<Entry[]> {
    const all: Entry[] = [];
    const { onRestored } = this.#options;
    // With `since`, only the caller knows which records to forget.
    if (onRestored !== undefined || this.#query.since === undefined)
      this.#options.onRestored = async (restored) => {
        all.length = 0;
        await onRestored?.(restored);
      };
    for await (const entry of this) all.push(entry);
    return all;
  }
}
