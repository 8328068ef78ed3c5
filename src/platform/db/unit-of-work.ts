import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../time/clock.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Log } from '../observability/log.ts';
import { errorFields } from '../observability/log.ts';
import type { Random } from '../crypto/random.ts';
import type { Secrets } from '../crypto/secrets.ts';
import type { Settings } from '../config/settings.ts';
import type { Database, Tx } from './database.ts';
import { isOutage, lockHeld } from './connection/unavailable.ts';
import type { WriteQueue } from './write-queue.ts';
import { WriteQueueRefusal } from './write-queue.ts';
import { inSpan } from '../observability/tracing.ts';

/** What a unit of work passes on of what it is opened with. None of it reaches the database. */
type Passed = { random: Random; settings: Settings; secrets: Secrets; keyring: Keyring };

/** What a unit of work is opened with: the app, as far as it is needed here. */
type Opener = Passed & { db: Database; clock: Clock };

/**
 * The unit of work: one transaction, one instant, one maker of ids. Only edges open one; every writer takes it first.
 * What it has can't reach the database: whoever holds one connection must never wait for a second.
 */
export type UnitOfWork = {
  tx: Tx;
  /** The instant of the whole unit, in milliseconds since 1970. */
  nowMs: number;
  uuid(): string;
  /** Where it waited for its turn. */
  queue: WriteQueue | null;
  /** It has met a lock that was held for long, and is tried again: what it does before it has that lock may be done in vain. */
  again: boolean;
  /** Runs last before the commit, in the order of registration. */
  beforeCommit(last: () => Promise<void>): void;
  /** Runs once the transaction is committed. What fails there is passed over, so something else must make up for it. */
  afterCommit(then: (db: Database) => Promise<void>): void;
  /** What was opened once in this unit of work, by key. */
  opened: Map<string, unknown>;
} & Passed;

/** Writers of an organisation's feed. Its lock lets one at a time through, so only one at a time takes a connection. */
export function feedQueue(organisationId: number): WriteQueue {
  return { name: `feed ${organisationId}`, atOnce: 1 };
}

/** Changes of an organisation that don't take its feed's lock: each has rows of its own. */
export function rowsQueue(organisationId: number): WriteQueue {
  return { name: `rows ${organisationId}`, atOnce: 4 };
}

const retriable = new Set(['40P01', '40001']);
const apartMs = 100;

/**
 * Opens a unit of work. A transaction that the database ends to resolve a deadlock, or because somebody outside this
 * process holds a lock for long, is run again, so `inside` must have no effect outside the transaction.
 * @param lane where to wait for a turn; null for what belongs to no organisation yet
 * @param left ends the wait when nobody is there any more to hear the outcome
 * @throws WriteQueueRefusal when the wait was too long, was ended, or too many wait already
 */
export function withUnitOfWork<T>(
  app: Opener,
  queue: WriteQueue | null,
  inside: (work: UnitOfWork) => Promise<T>,
  left?: AbortSignal,
): Promise<T> {
  // Whose lane it is is nobody else's business.
  return inSpan('unit of work', { 'ars.lane': queue?.name.split(' ')[0] ?? 'none' }, () =>
    inTurn(app, queue, inside, left),
  );
}

async function inTurn<T>(
  app: Opener,
  queue: WriteQueue | null,
  inside: (work: UnitOfWork) => Promise<T>,
  left?: AbortSignal,
): Promise<T> {
  if (queue === null) return tried(app, null, inside, null);
  const patience = new AbortController();
  const tooLong = setTimeout(() => patience.abort(new WriteQueueRefusal('late')), app.settings.changeWaitMs);
  const leave = () => patience.abort(new WriteQueueRefusal('left'));
  left?.addEventListener('abort', leave);
  if (left?.aborted === true) leave();
  try {
    return await tried(app, queue, inside, patience.signal);
  } finally {
    clearTimeout(tooLong);
    left?.removeEventListener('abort', leave);
  }
}

async function tried<T>(
  app: Opener,
  queue: WriteQueue | null,
  inside: (work: UnitOfWork) => Promise<T>,
  signal: AbortSignal | null,
): Promise<T> {
  let again = false;
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(app, queue, inside, signal, again);
    } catch (error) {
      const { code } = error as { code?: string };
      if (signal !== null && code === lockHeld) {
        // It gave its connection back, and goes before those who came later: they would wait for the same lock.
        again = true;
        attempt--;
      } else if (attempt >= 3 || !retriable.has(code ?? '')) throw error;
      // Apart from whoever it met, who may have been sent back, too.
      else await delay(app.random.float() * attempt * apartMs);
    }
  }
}

async function once<T>(
  app: Opener,
  queue: WriteQueue | null,
  inside: (work: UnitOfWork) => Promise<T>,
  signal: AbortSignal | null,
  again: boolean,
): Promise<T> {
  const { random, settings, secrets, keyring } = app;
  const then: ((db: Database) => Promise<void>)[] = [];
  const result = await app.db.transaction(
    async (tx) => {
      const last: (() => Promise<void>)[] = [];
      const work: UnitOfWork = {
        tx,
        nowMs: app.clock.nowMs(),
        uuid: () => random.uuid(),
        queue,
        again,
        random,
        settings,
        secrets,
        keyring,
        beforeCommit: (step) => {
          last.push(step);
        },
        afterCommit: (step) => {
          then.push(step);
        },
        opened: new Map(),
      };
      const result = await inside(work);
      for (const step of last) await step();
      return result;
    },
    queue === null ? undefined : { queue, signal: signal!, again },
  );
  for (const step of then) await step(app.db).catch(() => {});
  return result;
}

/**
 * How a run in the background goes on. `evenSuspended`: what the operator orders is done whatever the organisation's state
 * is (docs/decisions/0013).
 */
export type Going = { signal?: AbortSignal | undefined; evenSuspended?: boolean };

/** Does a run step by step, each a unit of work of its own, until a step says that nothing is left to do. */
export async function inSteps(step: () => Promise<boolean>, signal?: AbortSignal): Promise<void> {
  while (signal?.aborted !== true && (await step()));
}

/**
 * Takes up what a round of housekeeping found, one after the other. One that fails must not keep the others, and an
 * organisation that is too busy is left to the next round: its others would wait for as long.
 * @param failed the event to log for one that fails
 */
export async function eachInTurn<T extends { organisation_id: number }>(
  app: { log: Log },
  found: readonly T[],
  failed: string,
  step: (one: T) => Promise<void>,
): Promise<void> {
  const busy = new Set<number>();
  for (const one of found) {
    if (busy.has(one.organisation_id)) continue;
    try {
      await step(one);
    } catch (error) {
      // The others would meet the same.
      if (isOutage(error) || (error instanceof WriteQueueRefusal && error.why === 'stopping')) throw error;
      if (error instanceof WriteQueueRefusal) busy.add(one.organisation_id);
      app.log.error(failed, { organisation_id: one.organisation_id, ...errorFields(error) });
    }
  }
}
