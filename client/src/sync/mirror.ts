import type { Client } from '../client.ts';
import type { FeedEntry } from '../openapi.ts';
import { ArsError, UnexpectedReplyError } from '../errors.ts';
import type { Assessment } from '../openapi.ts';
import type { Page } from '../walk.ts';
import type { Digest } from './digest.ts';
import { checkOf, emptyDigest, plus, readDigest, sameDigest } from './digest.ts';
import type { Filters } from './filters.ts';
import { filterText, orderedFilters } from './filters.ts';
import { inSpiteOfOthers, outcomeOf, Overtaken, SyncStopped } from './outcome.ts';
import type { State } from './state.ts';
import { maxGenerations, newState, readState } from './state.ts';
import type { Row, Store, StoreTransaction } from './store.ts';

/** Why a result was taken out of the mirror. */
export type RemovalReason =
  /** The feed contained its tombstone. */
  | 'withdrawn'
  /** Its learner left the groups of the filter. */
  | 'left_scope'
  /** A full sync did not return it. */
  | 'not_in_walk'
  /** The digests differed, and the service has no such result within the filters. */
  | 'repaired';

/**
 * A change of the mirror, reported in its transaction. `previously` is the service's version. If the mirror's row was
 * damaged, the change is reported as `added`, and a removal has null.
 */
export type Change =
  | { kind: 'added'; id: string; record: Assessment }
  | { kind: 'changed'; id: string; record: Assessment; previously: Assessment }
  | { kind: 'removed'; id: string; reason: RemovalReason; previously: Assessment | null };

export type MirrorOptions<Native = unknown> = {
  client: Client;
  store: Store<Native>;
  filters?: Filters;
  /**
   * Runs in the transaction that stores the changes, together with its own writes by `native`. If it throws, the
   * transaction is rolled back and the changes are reported again.
   */
  onChange?: (changes: Change[], native: Native) => Promise<void> | void;
  /**
   * Called after a restore of the service, before the mirror takes restored data. Writes of your application after the
   * backup are lost, and `replayWrites` sends them again. If it throws, the poll fails and the next poll calls it
   * again. One restore may be reported more than once.
   */
  onRestored?: (restored: string) => Promise<void> | void;
  signal?: AbortSignal;
  /** Entries of a page: 500. */
  pageSize?: number;
};

/** The changes of a poll. */
export type Tally = { added: number; changed: number; removed: number; repaired: number };

/** Rows in one read of the full mirror. */
export const stride = 500;

export const isUuid = (text: unknown): text is string =>
  typeof text === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** As the service writes it: with three decimals, in UTC. */
const isInstant = (text: unknown): text is string =>
  typeof text === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text);

/** Whether a mirror may store this record. */
export const isStamped = ({ assessment_id: id, updated_at: time }: { assessment_id: string; updated_at: string }) =>
  isUuid(id) && isInstant(time);

/** A mirror's store and state. Each change of the state is one transaction with its rows. */
export class Mirror<Native = unknown> {
  readonly client: Client;
  readonly store: Store<Native>;
  readonly filters: Filters;
  readonly signal: AbortSignal | undefined;
  readonly pageSize: number;
  readonly tally: Tally = { added: 0, changed: 0, removed: 0, repaired: 0 };
  #onChange: MirrorOptions<Native>['onChange'];
  #onRestored: MirrorOptions<Native>['onRestored'];
  #organisation = '';
  #text: string | null = null;
  #state: State | null = null;

  constructor(options: MirrorOptions<Native>) {
    this.client = options.client;
    this.store = options.store;
    this.filters = orderedFilters(options.filters ?? {});
    this.signal = options.signal;
    this.pageSize = options.pageSize ?? 500;
    this.#onChange = options.onChange;
    this.#onRestored = options.onRestored;
  }

  get state(): State {
    if (this.#state === null) throw new Error('the mirror is not open');
    return this.#state;
  }

  /** Reads the stored state, or begins. Changed filters need a full walk. */
  async open(): Promise<void> {
    await this.store.open();
    const { organisation_id: organisation } = await this.client.health({ signal: this.signal });
    if (typeof organisation !== 'string')
      throw new UnexpectedReplyError('health', 200, 'the response names no organisation');
    this.#organisation = organisation;
    const filters = filterText(this.filters);
    await inSpiteOfOthers(async () => {
      await this.#read();
      if (this.state.organisation !== organisation)
        throw new SyncStopped(
          `This mirror contains results of organisation ${this.state.organisation}, and the access key is of ${organisation}. Use the access key of the first, or another place for the mirror.`,
        );
      if (this.state.filters !== filters || !(await this.#seesTheSame()))
        await this.change(async (_transaction, next) => {
          next.filters = filters;
          beginWhole(next);
        });
    });
  }

  /** Whether this key has the scope of the key of the last walk, because cursors are refused under another scope. */
  async #seesTheSame(): Promise<boolean> {
    const { key, served, walk } = this.state;
    if (key === undefined || key.id === this.client.accessKeyId || served !== null || walk?.kind === 'whole')
      return true;
    if (key.cursor === null) return false;
    const position = { next: key.cursor, since: '', etag: '' };
    try {
      await this.client.assessments.list({}, { position, signal: this.signal }).pages().next();
      return true;
    } catch (error) {
      if (error instanceof ArsError && outcomeOf(error, 'page') === 'walk everything') return false;
      throw error;
    }
  }

  /** The stored state counts, unless the mirror belongs to another organisation or service. */
  async load(): Promise<void> {
    await this.#read();
    const { organisation, filters } = this.state;
    if (organisation === this.#organisation && filters === filterText(this.filters)) return;
    const what = organisation === this.#organisation ? 'other filters' : 'the access key of another organisation';
    throw new SyncStopped(
      `Another process has opened this mirror with ${what}. Only one process can keep it: end one, or give it another place for its mirror.`,
    );
  }

  /** If the state was removed, it is created again with the existing rows. */
  async #read(): Promise<void> {
    await this.store.transaction(async (transaction) => {
      this.#text = await transaction.readState();
      this.#state =
        readState(this.#text) ??
        newState(this.#organisation, filterText(this.filters), await highestGeneration(transaction));
    });
    if (this.state.version !== 1)
      throw new SyncStopped('A newer version of the client wrote this mirror. Use the newer version.');
  }

  /**
   * Changes rows and state in one transaction, based on the state that this process knows.
   * @param work changes `next`, which is stored with its rows
   */
  async change(
    work: (transaction: StoreTransaction<Native>, next: State) => Promise<Change[] | void>,
    tally: keyof Tally | null = null,
  ): Promise<void> {
    const known = this.#text;
    const next = structuredClone(this.state);
    next.serial += 1;
    let changes: Change[] = [];
    const text = await this.store.transaction(async (transaction) => {
      if ((await transaction.readState()) !== known) throw new Overtaken();
      changes = (await work(transaction, next)) ?? [];
      if (changes.length > 0) await this.#onChange?.(changes, transaction.native);
      const written = JSON.stringify(next);
      await transaction.writeState(written);
      return written;
    });
    this.#text = text;
    this.#state = next;
    for (const { kind } of changes) this.tally[tally ?? kind] += 1;
  }

  /** Stores a page of a walk together with the place after it. */
  async take(page: Page<FeedEntry>, isWhole: boolean): Promise<void> {
    if (!isInstant((page.checkpoint ?? page.position)!.since))
      throw new UnexpectedReplyError(
        'listAssessments',
        200,
        'no X-Sync-Through: check whether a proxy removes headers',
      );
    await this.#noticeRestore(page.restored);
    await this.change(async (transaction, next) => {
      const { walk } = next;
      next.restored = page.restored;
      // Proven where this walk begins: if it ends without a digest, which may be being counted again, a week without one begins.
      if (walk === null && this.isProven === true && next.recountedAtMs > 0)
        next.sweptAtMs = this.client.surroundings.nowMs();
      const before = isWhole && walk?.kind === 'whole' ? walk.shown : 0;
      const taken = await takeEntries(transaction, next, page.entries);
      const shown = before + taken.shown;
      if (page.position !== null) {
        next.walk = isWhole
          ? { kind: 'whole', position: page.position, shown }
          : { kind: 'delta', position: page.position };
        return taken.changes;
      }
      if (isWhole) {
        const cursor = walk?.kind === 'whole' ? (walk.position?.next ?? null) : null;
        next.key = { id: this.client.accessKeyId, cursor };
      }
      const served = readDigest(page.digest);
      const checkpoint = page.checkpoint!;
      const since = next.checkpoint?.since ?? '';
      // The first walk has nothing to clear. Later ones compare all rows, so rows added by hand are found too.
      if (isWhole && (next.generation > 1 || shown !== next.digest.n))
        next.walk = { kind: 'clearing', checkpoint, served, after: null, sum: emptyDigest };
      else if (isWhole) this.finishWhole(next, checkpoint, served);
      // If the service was restored and has no digest, only a full walk shows what it has lost.
      else if (served === null && (checkpoint.since < since || (page.restored ?? '') > since)) beginWhole(next);
      else {
        next.walk = null;
        next.checkpoint = checkpoint;
        next.served = served;
      }
      return taken.changes;
    });
  }

  async #noticeRestore(restored: string | null): Promise<void> {
    const { restored: known, checkpoint } = this.state;
    // A mirror that has not begun, or was begun by an earlier version, has a checkpoint at most.
    const before = known === undefined ? (checkpoint?.since ?? restored) : (known ?? '');
    if (restored === null || before === null || restored <= before) return;
    try {
      await this.#onRestored?.(restored);
    } catch (error) {
      // The error is not the service's.
      throw new Error(`onRestored has failed: ${error instanceof Error ? error.message : 'no error was given'}`, {
        cause: error,
      });
    }
  }

  finishWhole(next: State, checkpoint: State['checkpoint'], served: Digest | null): void {
    next.walk = null;
    next.checkpoint = checkpoint;
    next.served = served;
    next.sweptAtMs = next.recountedAtMs = this.client.surroundings.nowMs();
  }

  /** Removes the rows that a completed full walk did not show. */
  async clear(): Promise<void> {
    while (this.state.walk?.kind === 'clearing') {
      this.signal?.throwIfAborted();
      await this.change(async (transaction, next) => {
        const { walk } = next;
        if (walk?.kind !== 'clearing') return [];
        const rows = await transaction.list(walk.after, stride);
        const gone = rows.filter((row) => row.generation !== next.generation);
        await transaction.remove(gone.map(({ id }) => id));
        for (const row of rows) if (row.generation === next.generation) walk.sum = plus(walk.sum, row, 1);
        walk.after = rows.at(-1)?.id ?? null;
        if (rows.length < stride) {
          next.digest = walk.sum;
          this.finishWhole(next, walk.checkpoint, walk.served);
        }
        return gone.map((row) => removal(row, 'not_in_walk'));
      });
    }
  }

  /** Stores a record that differed, or removes it if the service no longer shows it. */
  async mend(id: string, record: Assessment | null): Promise<void> {
    await this.change(async (transaction, next) => {
      const [held] = await transaction.find([id]);
      if (record !== null) {
        const { row, change } = rowOf(next, record, held);
        await transaction.put([row]);
        return change === null ? [] : [change];
      }
      if (held === undefined) return [];
      await transaction.remove([id]);
      next.digest = plus(next.digest, held, -1);
      return [removal(held, 'repaired')];
    }, 'repaired');
  }

  /** Counts the stored rows. The result replaces the running sums, which do not see damage in the database. */
  async recount(each: (row: Row, isDamaged: boolean) => void): Promise<void> {
    await this.change(async (transaction, next) => {
      let sum = emptyDigest;
      let isSound = true;
      let after: string | null = null;
      for (;;) {
        this.signal?.throwIfAborted();
        const rows: Row[] = await transaction.list(after, stride);
        for (const row of rows) {
          const isBad = isDamaged(row);
          isSound &&= !isBad;
          sum = plus(sum, row, 1);
          each(row, isBad);
        }
        if (rows.length < stride) break;
        after = rows.at(-1)!.id;
      }
      next.digest = sum;
      // Damaged content shows in no digest, so recount until it is repaired.
      next.recountedAtMs = isSound ? this.client.surroundings.nowMs() : 0;
    });
  }

  /** Whether mirror and service are the same at the checkpoint; null where the service gives no digest. */
  get isProven(): boolean | null {
    const { served, digest } = this.state;
    return served === null ? null : sameDigest(served, digest);
  }
}

async function highestGeneration(transaction: StoreTransaction): Promise<number> {
  let highest = 0;
  for (let after: string | null = null; ;) {
    const rows: Row[] = await transaction.list(after, stride);
    for (const { generation } of rows) if (generation < maxGenerations) highest = Math.max(highest, generation);
    if (rows.length < stride) return highest;
    after = rows.at(-1)!.id;
  }
}

/** The parts of a row do not fit together: the row was changed outside the mirror. */
export function isDamaged(row: Row): boolean {
  return (
    !isUuid(row.id) ||
    row.record?.assessment_id !== row.id ||
    row.record.updated_at !== row.updated_at ||
    checkOf(row.record) !== row.check
  );
}

export function beginWhole(next: State): void {
  next.generation += 1;
  next.walk = { kind: 'whole', position: null, shown: 0 };
}

function removal(row: Row, reason: RemovalReason): Change {
  return { kind: 'removed', id: row.id, reason, previously: isDamaged(row) ? null : row.record };
}

async function takeEntries(
  transaction: StoreTransaction,
  next: State,
  entries: FeedEntry[],
): Promise<{ changes: Change[]; shown: number }> {
  // A page may show a record and then its scope exit: the later one counts.
  const latest = new Map<string, FeedEntry>();
  for (const entry of entries) {
    if (!isStamped(entry))
      throw new UnexpectedReplyError('listAssessments', 200, 'an entry has no ID or no updated_at');
    latest.set(entry.assessment_id.toLowerCase(), entry);
  }
  const held = new Map((await transaction.find([...latest.keys()])).map((row) => [row.id, row]));
  const changes: Change[] = [];
  const rows: Row[] = [];
  const gone: string[] = [];
  let shown = 0;
  for (const [id, entry] of latest) {
    const had = held.get(id);
    if (!('removed' in entry) && entry.status === 'completed') {
      if (had?.generation !== next.generation) shown += 1;
      // The feed repeats records whose time equals `since`.
      if (had?.generation === next.generation && had.updated_at === entry.updated_at) continue;
      const { row, change } = rowOf(next, entry, had);
      rows.push(row);
      if (change !== null) changes.push(change);
    } else if (had !== undefined) {
      if (had.generation === next.generation) shown -= 1;
      gone.push(id);
      next.digest = plus(next.digest, had, -1);
      changes.push(removal(had, 'removed' in entry ? 'left_scope' : 'withdrawn'));
    }
  }
  await transaction.put(rows);
  await transaction.remove(gone);
  return { changes, shown };
}

/** The row that a record becomes, and the digest with it. */
function rowOf(next: State, record: Assessment, held: Row | undefined): { row: Row; change: Change | null } {
  const id = record.assessment_id.toLowerCase();
  const row = { id, updated_at: record.updated_at, generation: next.generation, check: checkOf(record), record };
  if (held !== undefined) next.digest = plus(next.digest, held, -1);
  next.digest = plus(next.digest, row, 1);
  if (held === undefined) return { row, change: { kind: 'added', id, record } };
  if (isSame(held, row)) return { row, change: null };
  if (isDamaged(held)) return { row, change: { kind: 'added', id, record } };
  return { row, change: { kind: 'changed', id, record, previously: held.record } };
}

/** An ID and a time identify one payload, so a repeat is no change, unless the row was altered. */
function isSame(held: Row, row: Row): boolean {
  return held.updated_at === row.updated_at && checkOf(held.record) === row.check;
}
