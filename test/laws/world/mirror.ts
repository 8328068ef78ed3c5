import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { Answer, Client } from '../../contract/support/client.ts';
import type { Random } from '../../../src/platform/crypto/random.ts';
import { pick } from '../../../src/platform/crypto/random.ts';

/** The lists that a consumer can follow, and what names an entry in each. */
export const lists = {
  '/assessments': (entry: any): string => entry.assessment_id,
  '/learners': (entry: any): string => entry.learner_id,
  '/groups': (entry: any): string => entry.id,
} as const;
export type ListPath = keyof typeof lists;

/** What every consumer has been shown: one `updated_at` of a record never stands for two payloads (law 2). */
export class Shown {
  #texts = new Map<string, string>();
  entries = 0;

  note(path: ListPath, entry: any): void {
    this.entries++;
    // A scope exit is a message about a record, not the record.
    if (entry.removed !== undefined) return;
    const id = lists[path](entry);
    const key = `${path} ${id} ${entry.updated_at}`;
    const text = JSON.stringify(entry);
    const before = this.#texts.get(key);
    if (before === undefined) this.#texts.set(key, text);
    else assert.equal(text, before, `law 2: two payloads under one updated_at: ${key}`);
  }
}

/** How a consumer goes about it; all are allowed by the documents. */
export type Manner =
  /** Walks all pages by `next`, then polls with `since`. */
  | 'follow'
  /** The same, but keeps `since` for some polls, so that only the ETag says whether anything is new. */
  | 'linger'
  /** Walks everything every time, unless the first page is unchanged. */
  | 'sweep'
  /** Never uses a cursor: asks again from the greatest updated_at that it has seen. */
  | 'since only';

/**
 * `bounds`: what the key that it is followed with adds to every query. `uncounted`: the service may still be counting what
 * it gives a digest of.
 */
export type MirrorOptions = {
  path: ListPath;
  query?: string;
  bounds?: string;
  uncounted?: boolean;
  limit: number;
  manner: Manner;
};

/** A consumer's copy of a list, kept as the documents say. */
export class Mirror {
  readonly options: MirrorOptions;
  held = new Map<string, string>();
  polls = 0;
  requests = 0;
  #clients: readonly Client[];
  #random: Random;
  #shown: Shown;
  #since: string | null = null;
  #first: { address: string; etag: string } | null = null;

  /** @param clients the same organisation through different processes: each request goes to any of them */
  constructor(clients: readonly Client[], random: Random, shown: Shown, options: MirrorOptions) {
    this.#clients = clients;
    this.#random = random;
    this.#shown = shown;
    this.options = options;
  }

  /** From here on it asks these. */
  asks(clients: readonly Client[]): void {
    this.#clients = clients;
  }

  get name(): string {
    const { path, query, bounds, limit, manner } = this.options;
    return `${manner} ${path}?${query ?? ''} by ${limit}${bounds === undefined ? '' : ` within ${bounds}`}`;
  }

  async #get(address: string, headers: Record<string, string> = {}): Promise<Answer> {
    this.requests++;
    const answer = await pick(this.#random, this.#clients).get(address, headers);
    assert.ok(answer.status === 200 || answer.status === 304, `${this.name}: ${answer.status} ${answer.text}`);
    return answer;
  }

  #address(): string {
    const { path, query } = this.options;
    // The first walk of everything goes in larger steps than one: a client may change its page size between walks.
    const limit = this.#since === null && this.options.limit === 1 ? 50 : this.options.limit;
    return `${path}?${[query ?? '', this.#since === null ? '' : `since=${this.#since}`, `limit=${limit}`].filter((part) => part !== '').join('&')}`;
  }

  #take(held: Map<string, string>, entry: any): void {
    this.#shown.note(this.options.path, entry);
    const id = lists[this.options.path](entry);
    if (entry.removed !== undefined || entry.status === 'deleted') held.delete(id);
    else held.set(id, JSON.stringify(entry));
  }

  /** Forgets what a restarted client forgets: the ETag; what it holds and its `since` are kept. */
  restart(): void {
    this.#first = null;
  }

  /** One poll. @param whole false: the client may stop in the middle, as one that is restarted does */
  async poll(whole = true): Promise<void> {
    this.polls++;
    if (this.options.manner === 'since only') return this.#pollBySince();
    // A walk without since is a sweep: what it doesn't show isn't there, and nothing tells of what left during an abandoned one.
    const sweeping = this.#since === null;
    const address = this.#address();
    const conditional = this.#first?.address === address ? { 'if-none-match': this.#first.etag } : undefined;
    let page = await this.#get(address, conditional);
    if (page.status === 304) return;
    const { etag, 'x-sync-through': through } = page.headers;
    const held = sweeping ? new Map<string, string>() : this.held;
    for (;;) {
      for (const entry of page.body.data) this.#take(held, entry);
      const { next } = page.body.pagination;
      if (next === null) this.#compare(held, page, sweeping);
      if (next === null) break;
      if (!whole && this.#random.float() < 0.2) return;
      const url = new URL(next);
      page = await this.#get(url.pathname.slice('/api/v1'.length) + url.search);
    }
    this.held = held;
    this.#first = { address, etag: etag! };
    const stay = this.options.manner === 'sweep' || (this.options.manner === 'linger' && this.#random.float() < 0.7);
    if (!stay) this.#since = through!;
  }

  /** Whoever has applied a walk holds exactly what the digest on its last page stands for, whatever others write. */
  #compare(held: Map<string, string>, page: Answer, isWhole: boolean): void {
    const { path, query = '', bounds = '', uncounted = false } = this.options;
    const given = page.headers['x-sync-digest'];
    if (uncounted && given === undefined) return;
    const comparable =
      path === '/assessments' &&
      !/learner_ref|assessed_|status|sort/.test(query) &&
      !(isWhole && /group_id/.test(query + bounds));
    if (comparable) assert.equal(given, digestOf(held), `law 1: the digest of ${this.name}`);
    else assert.equal(given, undefined, this.name);
  }

  async #pollBySince(): Promise<void> {
    for (;;) {
      const page = await this.#get(this.#address());
      for (const entry of page.body.data) this.#take(this.held, entry);
      if (page.body.pagination.next === null) this.#compare(this.held, page, this.#since === null);
      const greatest: string | undefined = page.body.data.at(-1)?.updated_at;
      if (greatest === undefined) return;
      if (greatest === this.#since) {
        assert.ok(page.body.data.length < this.options.limit, `law 1: ${this.name} stands still at ${greatest}`);
        return;
      }
      this.#since = greatest;
    }
  }

  /** What a consumer without history would hold now. */
  async fresh(): Promise<Map<string, string>> {
    const sweep = new Mirror(this.#clients, this.#random, this.#shown, {
      ...this.options,
      manner: 'follow',
      limit: 500,
    });
    await sweep.poll();
    return sweep.held;
  }

  /** Law 1: polled once more when nobody writes, it holds what a full sweep gives. @returns what the sweep gave */
  async assertConverged(): Promise<Map<string, string>> {
    await this.poll();
    const sweep = await this.fresh();
    assertSame(this.held, sweep, `law 1: the mirror of "${this.name}" differs from a full sweep`);
    return sweep;
  }
}

/** The digest as a consumer computes it from what it holds (docs/decisions/0005). */
export function digestOf(held: Map<string, string>): string {
  let [w1, w2] = [0, 0];
  for (const [id, text] of held) {
    const bytes = Buffer.alloc(24);
    bytes.write(id.replaceAll('-', ''), 'hex');
    bytes.writeBigInt64BE(BigInt(Date.parse(JSON.parse(text).updated_at)), 16);
    const token = hash('sha256', bytes, 'buffer');
    w1 = (w1 + token.readUInt32BE(0)) >>> 0;
    w2 = (w2 + token.readUInt32BE(4)) >>> 0;
  }
  return `n=${held.size};w1=${w1};w2=${w2}`;
}

/** Fails with the first few differences, in words. */
export function assertSame(held: Map<string, string>, expected: Map<string, string>, message: string): void {
  const differences: string[] = [];
  for (const [id, text] of expected) {
    const has = held.get(id);
    if (has === undefined) differences.push(`missing ${id}`);
    else if (has !== text) differences.push(`stale ${id}:\n  has ${has}\n  not ${text}`);
  }
  for (const id of held.keys()) if (!expected.has(id)) differences.push(`kept ${id}`);
  assert.ok(
    differences.length === 0,
    `${message} in ${differences.length} of ${expected.size} records:\n${differences.slice(0, 3).join('\n')}`,
  );
}
