import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Clock } from '../../platform/time/clock.ts';
import { apiBase } from '../../platform/config/settings.ts';
import { enact, type Fault, rewriteReply, standBetween } from '../chaos/faults.ts';
import { withUnknown } from '../chaos/unknown.ts';

export type PageRequest = { cursor: string | null; since: string | null };

/** What happens to a request instead of a response; null: nothing. `hold`: it gets no response. */
export type Trouble = (request: PageRequest | null) => Fault | 'hold' | null;

/** Parameters that select a page, not records. */
const notFilters = ['since', 'cursor', 'limit', 'sort', 'status'];

/** @property isWhole it read everything, without `since` */
export type Walk = { beganMs: number; endedMs: number; isWhole: boolean };

type Begun = { beganMs: number; pages: number; isWhole: boolean; filters: string };

/** Filters of one consumer; older ones are dropped. */
const maxFilters = 16;

/** The service's own cursors never begin with this character. */
const afterNothing = '~';

const listPath = `${apiBase}/assessments`;

/**
 * Stands between the consumer's requests and the service: observes them and lets them meet trouble. Requests with other
 * keys pass.
 */
export class Front {
  /** The filters of the last walk; null before the first. */
  filters: string | null = null;
  /** The filters of completed walks, oldest first. */
  readonly followed = new Set<string>();
  requests = 0;
  trouble: Trouble | null = null;
  isSurprising = false;
  /** The first page of each walk is empty, and the next has the records. */
  beginsEmpty = false;
  /** A `since` that is later than every checkpoint that the service sent. */
  ownClock: { since: string; newest: string } | null = null;
  /** Completed walks, oldest first. */
  readonly walks: Walk[] = [];
  /** The most pages of one walk. */
  pages = 0;
  #clock: Clock;
  #newest = '';
  #begun = new Map<string, Begun>();
  /** URLs of requests that got an empty page, by the cursor of that page. */
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

  /** Resolves at the next request or response, or after this time. */
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

  /** Requests wait during a change, so the next response shows all of it. */
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
      if (this.isSurprising) rewriteReply(request, response, withUnknown);
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

  /** Removes the records of a page; its cursor leads to the same page again. */
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

  /** Observes the response of a page. */
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

/** The checkpoint of a response whose head is sent. */
function throughOf(response: ServerResponse): string | null {
  const head = (response as ServerResponse & { _header?: string })._header ?? '';
  return /^x-sync-through: (\S+)/im.exec(head)?.[1] ?? null;
}
