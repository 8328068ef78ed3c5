import type { App } from '../platform/app.ts';
import { batcher } from '../platform/db/batcher.ts';
import type { Dedicated, Tx } from '../platform/db/database.ts';
import { isDiskFull } from '../platform/db/embedded/folder.ts';
import type { StorageFault } from '../platform/db/connection/storage-fault.ts';
import { findStorageFault } from '../platform/db/connection/storage-fault.ts';
import { isOlder, isPending } from '../governance/restore/erasures.ts';
import { build } from '../platform/config/version.ts';

/** How long the database may take to answer a probe before the process counts as one that doesn't reach it. */
const answerMs = 2000;

/** What `/readyz` says; ready only when every check is. */
export type Readiness = {
  status: 'ready' | 'not_ready';
  version: string;
  commit: string;
  checks: {
    /** `disk_full`, `read_only`: it takes no changes, so no request can be answered. */
    database: 'ok' | 'unavailable' | StorageFault;
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

type Found = { migrated: boolean; pending: boolean; storageFault: StorageFault | null };

async function look(app: App, tx: Tx): Promise<Found> {
  const migrated = !(await isOlder(app, tx));
  const pending = migrated && (await isPending(app, tx));
  return { migrated, pending, storageFault: await findStorageFault(app.db.storageFaults, tx) };
}

/** Why a database doesn't answer. One of the service's own can't start while its disk is full. */
export async function whyAway({ db, settings }: App): Promise<StorageFault | null> {
  const seen = db.storageFaults.seen(false);
  if (seen !== null || settings.databaseUrl !== undefined) return seen;
  return (await isDiskFull(settings.dataDir)) ? 'disk_full' : null;
}

/** Asks on a connection of its own: that all others are busy is no reason to be taken out of service. */
export function createProbes(app: App): Probes {
  let draining = false;
  let connection = app.db.dedicated();
  let pooler = throughPooler(app);
  // However many probes wait, the database is asked once.
  const renew = () => {
    void connection.close();
    void pooler?.close();
    connection = app.db.dedicated();
    pooler = throughPooler(app);
  };
  const ask = batcher<void, Found>(async (probes) => {
    // What hangs may go on hanging for minutes: the next probe tries a new connection.
    const [found] = await within(answerMs, Promise.all([look(app, connection), pooler?.query('select 1')]), renew);
    // A session that began while its role was read-only stays so.
    if (found.storageFault === 'read_only') renew();
    return new Array<Found>(probes.length).fill(found);
  }, Infinity);
  return {
    async readiness() {
      const found = await ask().catch(() => null);
      const storageFault = found === null ? await whyAway(app) : found.storageFault;
      const checks: Readiness['checks'] = {
        database: storageFault ?? (found === null ? 'unavailable' : 'ok'),
        migrations: found === null ? 'unknown' : found.migrated ? 'ok' : 'missing',
        draining: draining ? 'yes' : 'no',
        ...(found?.pending === true ? { restore: 'pending' } : {}),
      };
      const isReady = checks.database === 'ok' && found!.migrated && !found!.pending && !draining;
      return { status: isReady ? 'ready' : 'not_ready', ...build, checks };
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
