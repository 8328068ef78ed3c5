import type { App } from '../app.ts';
import type { Database, Tx } from './database.ts';

/**
 * The unit of work: one transaction, one instant, one maker of ids. Only edges open one; every writer takes it first. What
 * it has of the app can't reach the database: whoever holds one connection must never wait for a second.
 */
export type Work = {
  tx: Tx;
  /** The instant of the whole unit, in milliseconds since 1970. */
  nowMs: number;
  uuid(): string;
  /** Runs last before the commit, in the order of registration. */
  beforeCommit(last: () => Promise<void>): void;
  /** Runs once the transaction is committed. What fails there is passed over, so something else must make up for it. */
  afterCommit(then: (db: Database) => Promise<void>): void;
  /** What was opened once in this unit of work, by key. */
  opened: Map<string, unknown>;
} & Pick<App, 'random' | 'settings' | 'secrets' | 'keyring'>;

const retriable = new Set(['40P01', '40001']);

/**
 * Opens a unit of work. A transaction that the database ends to resolve a deadlock is run again, so `inside` must have
 * no effect outside the transaction.
 */
export async function inWork<T>(app: App, inside: (work: Work) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const then: ((db: Database) => Promise<void>)[] = [];
    try {
      const { random, settings, secrets, keyring } = app;
      const result = await app.db.transaction(async (tx) => {
        const nowMs = app.clock.nowMs();
        const last: (() => Promise<void>)[] = [];
        const work: Work = {
          tx,
          nowMs,
          uuid: () => random.uuid(),
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
      });
      for (const step of then) await step(app.db).catch(() => {});
      return result;
    } catch (error) {
      if (attempt >= 3 || !retriable.has((error as { code?: string }).code ?? '')) throw error;
    }
  }
}
