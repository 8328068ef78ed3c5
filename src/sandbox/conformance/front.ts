import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/time/clock.ts';
import { apiBase } from '../../platform/config/settings.ts';
import { enact, type Fault, rewriteReply, standBetween } from '../chaos/faults.ts';
import { withUnknown } from '../chaos/unknown.ts';

export type PageRequest = { cursor: string | null; since: string | null };

/** The fault for a request; null: no fault. `hold`: the request gets no response. */
export type Trouble = (request: PageRequest | null) => Fault | 'hold' | null;

/** Query parameters that select a page. All other parameters filter records. */
const notFilters = ['since', 'cursor', 'limit', 'sort', 'status'];

/** A full or incremental sync by the consumer. `isWhole`: a full sync, without `since`. */
export type Walk = { beganMs: number; endedMs: number; isWhole: boolean };

type Begun = { beganMs: number; pages: number; isWhole: boolean; filters: string };

/** The most sets of filters that are kept for a consumer. The oldest set is dropped first. */
const maxFilters = 16;

/** Cursors after an empty page begin with this character. Cursors of the service never do. */
const afterNothing = '~';

const listPath = `${apiBase}/assessments`;

/**
 * Receives the consumer's requests before the service: observes each request and may add a fault. Requests with other
 * access keys pass unchanged.
 */
export class Front {
  /** The filters of the latest sync; null before the first sync. */
  filters: string | null = null;
  readonly followed = new Set<string>();
  requests = 0;
  trouble: Trouble | null = null;
  isSurprising = false;
  /** Whether each sync begins with an empty page; the next page contains the records. */
  beginsEmpty = false;
  /** Set if the consumer sent a `since` that is later than every checkpoint that the service has sent. */
  ownClock: { since: string; newest: string } | null = null;
  /** Completed syncs, oldest first. */
  readonly walks: Walk[] = [];
  pages = 0;
  #clock: Clock;
  #newest = '';
  #begun = new Map<string, Begun>();
  /** The URL of each request that got an empty page. The key is the cursor on that page. */
  #emptied = new Map<string, string>();
  #waiting = new Set<() => void>();
  #paused: (() => void)[] | null = null;

  constructor(server: Server, keyId: string, clock: Clock) {
    this.#clock = clock;
    standBetween(server, apiBase, (request, response, serve) => {
      if (request.headers['x-access-key-id'] !== keyId) serve();
      else if (this.#paused === null) this.#meet(request, response, serve);
      else this.#paused.push(() => this.#meet(request, response, serve));
    });
  }

  /** Resolves at the next request or response, or after `ms` milliseconds. */
  next(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, ms);
      this.#waiting.add(go);
    });
  }

  /** Makes a change while requests wait, so that no response shows only a part of the change. */
  async whilePaused(change: () => Promise<void>): Promise<void> {
    this.#paused = [];
    await change();
    const waiting = this.#paused;
    this.#paused = null;
    for (const go of waiting) go();
  }

  #wake(): void {
    for (const go of [...this.#waiting]) go();
  }

  #meet(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    if (response.destroyed) return;
    this.requests += 1;
    const beganMs = this.#clock.monotonicMs();
    const [path, search = ''] = request.url!.split('?', 2) as [string, string?];
    const query = new URLSearchParams(search);
    const cursor = query.get('cursor');
    const isPage = path === listPath && request.method === 'GET';
    const page = isPage ? { cursor, since: query.get('since') } : null;
    request.url = this.#emptied.get(cursor ?? '') ?? request.url!;
    if (page !== null && page.cursor === null) this.#judge(page.since, search);
    const fault = this.trouble?.(page) ?? null;
    this.#wake();
    if (fault === 'hold') {
      request.resume();
      return;
    }
    const answer = () => {
      // A page that was requested earlier may contain changes of the scenario, so only the end of the response decides.
      if (this.isSurprising || page !== null)
        rewriteReply(request, response, (text) => (this.isSurprising ? withUnknown(text) : text));
      if (page !== null) this.#watch(request, response, page, beganMs);
      if (page?.cursor === null && this.beginsEmpty) this.#empty(request, response);
      serve();
    };
    if (fault === null) answer();
    else enact(fault, request, response, answer);
  }

  #judge(since: string | null, search: string): void {
    this.filters = search
      .split('&')
      .filter((part) => part !== '' && !notFilters.includes(part.split('=')[0]!))
      .join('&');
    const sinceMs = since === null ? Number.NaN : Date.parse(since);
    if (this.#newest !== '' && sinceMs > Date.parse(this.#newest))
      this.ownClock ??= { since: since!, newest: this.#newest };
  }

  /** Removes the records from a page. The cursor on the empty page leads to the page with the records. */
  #empty(request: IncomingMessage, response: ServerResponse): void {
    const address = request.url!;
    rewriteReply(request, response, (text, setHeader) => {
      const body = JSON.parse(text) as { data: unknown[]; pagination: { next: string | null } };
      const cursor = `${afterNothing}${this.#emptied.size}`;
      this.#emptied.set(cursor, address);
      const next = `http://${request.headers.host}${address}${address.includes('?') ? '&' : '?'}cursor=${cursor}`;
      setHeader('link', `<${next}>; rel="next"`);
      return JSON.stringify({ ...body, data: [], pagination: { ...body.pagination, next } });
    });
  }

  /** Adds the page to its sync. When the last page is sent, the sync is recorded as completed. */
  #watch(request: IncomingMessage, response: ServerResponse, page: PageRequest, beganMs: number): void {
    delete request.headers['accept-encoding'];
    const begun = page.cursor === null ? undefined : this.#begun.get(page.cursor);
    const walk = begun ?? { beganMs, pages: 0, isWhole: page.since === null, filters: this.filters ?? '' };
    walk.pages += 1;
    this.pages = Math.max(this.pages, walk.pages);
    const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
    response.end = ((body?: string | Buffer, ...rest: unknown[]) => {
      response.once('finish', () => {
        const text = String(body ?? '');
        const next = response.statusCode === 200 ? nextOf(text) : null;
        if (next !== null) this.#begun.set(next, walk);
        else if (response.statusCode === 200 || response.statusCode === 304) {
          const isWhole = walk.isWhole && response.statusCode === 200;
          this.#follows(walk.filters);
          this.walks.push({ beganMs: walk.beganMs, endedMs: this.#clock.monotonicMs(), isWhole });
        }
        this.#wake();
      });
      const sent = end(body, ...rest);
      const through = throughOf(response);
      if (through !== null && through > this.#newest) this.#newest = through;
      return sent;
    }) as ServerResponse['end'];
  }

  #follows(filters: string): void {
    this.followed.delete(filters);
    this.followed.add(filters);
    if (this.followed.size > maxFilters) this.followed.delete([...this.followed][0]!);
  }

  walksSince(ms: number): Walk[] {
    return this.walks.filter((walk) => walk.beganMs >= ms);
  }
}

function nextOf(text: string): string | null {
  const { pagination } = JSON.parse(text) as { pagination?: { next: string | null } };
  return pagination?.next == null ? null : new URL(pagination.next).searchParams.get('cursor');
}

/** The checkpoint in a response whose head is already sent. */
function throughOf(response: ServerResponse): string | null {
  const head = (response as ServerResponse & { _header?: string })._header ?? '';
  return /^x-sync-through: (\S+)/im.exec(head)?.[1] ?? null;
}
