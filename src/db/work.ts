import type { App } from '../app.ts';
import type { Tx } from './database.ts';

/** The unit of work: one transaction, one instant, one maker of ids. Only edges open one; every writer takes it first. */
export type Work = {
  tx: Tx;
  /** The instant of the whole unit, in milliseconds since 1970. */
  nowMs: number;
  uuid(): string;
  app: App;
  /** Runs last before the commit, in the order of registration. */
  beforeCommit(last: () => Promise<void>): void;
  /** Runs once the transaction is committed. What fails there is passed over, so something else must make up for it. */
  afterCommit(then: () => Promise<void>): void;
  /** What was opened once in this unit of work, by key. */
  opened: Map<string, unknown>;
};

const retriable = new Set(['40P01', '40001']);

/**
 * Opens a unit of work. A transaction that the database ends to resolve a deadlock is run again, so `inside` must have
 * no effect outside the transaction.
 */
export async function inWork<T>(app: App, inside: (work: Work) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const then: (() => Promise<void>)[] = [];
    try {
      const result = await app.db.transaction(async (tx) => {
        const last: (() => Promise<void>)[] = [];
        const work: Work = {
          tx,
          app,
          nowMs: app.clock.nowMs(),
          uuid: () => app.random.uuid(),
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
      for (const step of then) await step().catch(() => {});
      return result;
    } catch (error) {
      if (attempt >= 3 || !retriable.has((error as { code?: string }).code ?? '')) throw error;
    }
  }
}
