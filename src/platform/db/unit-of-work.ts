import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../time/clock.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { errorFields, type Log } from '../observability/log.ts';
import type { Random } from '../crypto/random.ts';
import type { Secrets } from '../crypto/secrets.ts';
import type { Settings } from '../config/settings.ts';
import type { Database, Tx } from './database.ts';
import { publicIdOf } from './public-ids.ts';
import { isOutage, lockHeld } from './connection/unavailable.ts';
import { type WriteQueue, WriteQueueRefusal } from './write-queue.ts';
import { inSpan } from '../observability/tracing.ts';

type Passed = { random: Random; settings: Settings; secrets: Secrets; keyring: Keyring };

type Opener = Passed & { db: Database; clock: Clock };

/**
 * One transaction, with its time and a source of IDs. A unit of work has no `Database`, because code in a transaction
 * must never wait for a second connection.
 */
export type UnitOfWork = {
  tx: Tx;
  /** All changes of the unit of work have this time, in milliseconds since 1970. */
  nowMs: number;
  uuid(): string;
  queue: WriteQueue | null;
  /** The previous attempt waited too long for a lock. Take the lock first, or earlier work may be wasted again. */
  again: boolean;
  beforeCommit(last: () => Promise<void>): void;
  /** Runs a step after the commit. A failure of the step is ignored, so nothing may depend on it. */
  afterCommit(then: (db: Database) => Promise<void>): void;
  opened: Map<string, unknown>;
} & Passed;

/**
 * The queue of changes to an organisation's feed. The feed's lock admits one change at a time, so further changes wait
 * here without a connection.
 */
export function feedQueue(organisationId: number): WriteQueue {
  return { name: `feed ${organisationId}`, atOnce: 1 };
}

export function rowsQueue(organisationId: number): WriteQueue {
  return { name: `rows ${organisationId}`, atOnce: 4 };
}

const retriable = new Set(['40P01', '40001']);
const apartMs = 100;

/**
 * Runs `inside` in a unit of work, and repeats it after a deadlock or a long wait for a lock. `inside` must therefore
 * have no effect outside the transaction.
 * @param queue null for changes that need no queue
 * @param left aborts the wait in the queue, because the caller no longer needs the result
 * @throws WriteQueueRefusal if the change waited too long, or the queue is full
 */
export function withUnitOfWork<T>(
  app: Opener,
  queue: WriteQueue | null,
  inside: (work: UnitOfWork) => Promise<T>,
  left?: AbortSignal,
): Promise<T> {
  // The span shows only the kind of the queue, because spans must not identify the organisation.
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
        // The failed attempt has released its connection. Later changes would wait for the same lock, so this change
        // goes to the front of the queue.
        again = true;
        attempt--;
      } else if (attempt >= 3 || !retriable.has(code ?? '')) throw error;
      // A random pause keeps two transactions from the same deadlock.
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

/** `evenSuspended`: the operator ordered the job, so it also runs for a suspended organisation (decision 0013). */
export type Going = { signal?: AbortSignal | undefined; evenSuspended?: boolean };

export async function inSteps(step: () => Promise<boolean>, signal?: AbortSignal): Promise<void> {
  while (signal?.aborted !== true && (await step()));
}

/**
 * Runs `step` for each row that housekeeping found, even if it fails for some rows. If an organisation is busy, its
 * other rows wait for the next round.
 * @param failed the log event of a failure
 */
export async function eachInTurn<T extends { organisation_id: number }>(
  app: { db: Tx; log: Log },
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
      // If the database is unavailable or the service is stopping, the other rows would fail as well.
      if (isOutage(error) || (error instanceof WriteQueueRefusal && error.why === 'stopping')) throw error;
      if (error instanceof WriteQueueRefusal) busy.add(one.organisation_id);
      const organisation_id = await publicIdOf(app, one.organisation_id);
      app.log.error(failed, { organisation_id, ...errorFields(error) });
    }
  }
}
