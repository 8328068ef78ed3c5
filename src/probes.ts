import type { App } from './app.ts';
import { batcher } from './db/batcher.ts';
import type { Dedicated, Tx } from './db/database.ts';
import { isOlder, isPending } from './restore/erasures.ts';
import { version } from './version.ts';

/** How long the database may take to answer a probe before the process counts as one that doesn't reach it. */
const answerMs = 2000;

/** What `/readyz` says; ready only when every check is. */
export type Readiness = {
  status: 'ready' | 'not_ready';
  version: string;
  checks: {
    database: 'ok' | 'unavailable';
    /** `missing`: the database lacks some that this version needs, as after the restore of an older backup. */
    migrations: 'ok' | 'missing' | 'unknown';
    draining: 'no' | 'yes';
    /** The database was restored, and the list of erasures has not been applied since. */
    restore?: 'pending';
  };
  /** With --processes, on the port for probes: how many are ready, of how many. One is enough. */
  processes?: { ready: number; started: number };
};

/** Of a process that has not told anything. */
export const unknownChecks: Readiness['checks'] = { database: 'unavailable', migrations: 'unknown', draining: 'no' };

/** Whether this process should be sent requests. */
export type Probes = {
  readiness(): Promise<Readiness>;
  /** From now on it shouldn't: the service stops. */
  drain(): void;
};

/** Requests go through a pooler where there is one: the database behind it is of no use to them while it is away. */
export const throughPooler = (app: App): Dedicated | null =>
  app.settings.databaseDirectUrl === undefined ? null : app.db.dedicated({ throughPooler: true });

type Found = { migrated: boolean; pending: boolean };

async function look(app: App, tx: Tx): Promise<Found> {
  const migrated = !(await isOlder(app, tx));
  return { migrated, pending: migrated && (await isPending(app, tx)) };
}

/** Asks on a connection of its own: that all others are busy is no reason to be taken out of service. */
export function createProbes(app: App): Probes {
  let draining = false;
  let connection = app.db.dedicated();
  let pooler = throughPooler(app);
  // However many probes wait, the database is asked once.
  const ask = batcher<void, Found>(async (probes) => {
    const [found] = await within(answerMs, Promise.all([look(app, connection), pooler?.query('select 1')]), () => {
      // What hangs may go on hanging for minutes: the next probe tries a new one.
      void connection.close();
      void pooler?.close();
      connection = app.db.dedicated();
      pooler = throughPooler(app);
    });
    return new Array<Found>(probes.length).fill(found);
  }, Infinity);
  return {
    async readiness() {
      const found = await ask().catch(() => null);
      const checks: Readiness['checks'] = {
        database: found === null ? 'unavailable' : 'ok',
        migrations: found === null ? 'unknown' : found.migrated ? 'ok' : 'missing',
        draining: draining ? 'yes' : 'no',
        ...(found?.pending === true ? { restore: 'pending' } : {}),
      };
      const isReady = found !== null && found.migrated && !found.pending && !draining;
      return { status: isReady ? 'ready' : 'not_ready', version, checks };
    },
    drain() {
      draining = true;
    },
  };
}

async function within<T>(ms: number, work: Promise<T>, late: () => void): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late();
    reject(new Error('the database does not answer'));
  }, ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
