import type { App } from '../platform/app.ts';
import { batcher } from '../platform/db/batcher.ts';
import type { Dedicated, Tx } from '../platform/db/database.ts';
import { isDiskFull } from '../platform/db/embedded/folder.ts';
import { findStorageFault, type StorageFault } from '../platform/db/connection/storage-fault.ts';
import { isOlder, isPending } from '../governance/restore/erasures.ts';
import { build } from '../platform/config/version.ts';

/** A database that takes longer counts as unavailable. */
const answerMs = 2000;

export type Readiness = {
  status: 'ready' | 'not_ready';
  version: string;
  commit: string;
  checks: {
    /** With `disk_full` or `read_only` the service can answer no request. */
    database: 'ok' | 'unavailable' | StorageFault;
    /** `missing`: the schema is older than this release, as after the restore of an older backup. */
    migrations: 'ok' | 'missing' | 'unknown';
    draining: 'no' | 'yes';
    /** Present while the list of erasures has not been applied since the last restore. */
    restore?: 'pending';
  };
  /** Present if the service runs with --processes. One ready process makes the service ready. */
  processes?: { ready: number; started: number };
};

export const unknownChecks: Readiness['checks'] = { database: 'unavailable', migrations: 'unknown', draining: 'no' };

export type Probes = {
  readiness(): Promise<Readiness>;
  /** Makes the process not ready for the rest of its life, because the service is stopping. */
  drain(): void;
};

/** A connection through the pooler, which the probes check because requests need it. Null if there is no pooler. */
export const throughPooler = (app: App): Dedicated | null =>
  app.settings.databaseDirectUrl === undefined ? null : app.db.dedicated({ throughPooler: true });

type Found = { migrated: boolean; pending: boolean; storageFault: StorageFault | null };

async function look(app: App, tx: Tx): Promise<Found> {
  const migrated = !(await isOlder(app, tx));
  const pending = migrated && (await isPending(app, tx));
  return { migrated, pending, storageFault: await findStorageFault(app.db.storageFaults, tx) };
}

/** Why the database is unavailable. This also checks for a full disk, which stops the embedded database. */
export async function whyAway({ db, settings }: App): Promise<StorageFault | null> {
  const seen = db.storageFaults.probed(false);
  if (seen !== null || settings.databaseUrl !== undefined) return seen;
  return (await isDiskFull(settings.dataDir)) ? 'disk_full' : null;
}

/** Opens a connection for probes only, so that a busy pool does not make the process unready. */
export function createProbes(app: App): Probes {
  let draining = false;
  let connection = app.db.dedicated();
  let pooler = throughPooler(app);
  const renew = () => {
    void connection.close();
    void pooler?.close();
    connection = app.db.dedicated();
    pooler = throughPooler(app);
  };
  const ask = batcher<void, Found>(async (probes) => {
    // If the connection hangs, a new one replaces it for the next probe.
    const [found] = await within(answerMs, Promise.all([look(app, connection), pooler?.query('select 1')]), renew);
    // A session that began read-only stays read-only after the fault ends, so a new session replaces it.
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
