import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../platform/app.ts';
import { type Clock, systemClock } from '../platform/time/clock.ts';
import { databaseClock } from '../platform/db/clock.ts';
import { openDatabase } from '../platform/db/database.ts';
import { isDistributed, proveWhole } from '../platform/db/citus/distributed.ts';
import { forgetRestored, restoredMark } from '../platform/db/embedded/backup.ts';
import { startEmbedded } from '../platform/db/embedded/embedded.ts';
import { DatabaseUnfit, migrate } from '../platform/db/migrate.ts';
import { provePooler } from '../platform/db/connection/pooler.ts';
import { holdsFeeds } from '../feed/restored.ts';
import { createKeyring } from '../platform/crypto/keyring.ts';
import { streamLog } from '../platform/observability/log.ts';
import { type Random, systemRandom } from '../platform/crypto/random.ts';
import { applyErasures, isPending } from '../governance/restore/erasures.ts';
import { takeUpRestore } from '../governance/restore/lineage.ts';
import { deriveSecrets } from '../platform/crypto/secrets.ts';
import { acceptSecret, proveSecret, serviceSecret } from './service-secret.ts';
import type { Settings } from '../platform/config/settings.ts';

const closeMs = 2000;

/** `begunAgain`: how many feeds began again after a restore. */
export type OpenApp = { app: App; begunAgain: number | null; close(): Promise<void> };

type OpenOptions = {
  clock?: Clock;
  random?: Random;
  logTo?: { write(text: string): unknown };
  /** True: a new secret replaces a lost one. Data that only the lost secret protects stays unreadable. */
  acceptSecret?: boolean;
  /** True: opening fails if the embedded database does not exist yet. */
  mustExist?: boolean;
  /** The actor who declares a restore. */
  restoredBy?: string;
  /** The highest position that clients have seen, in milliseconds, if it is above the clock. */
  shownMs?: number | undefined;
  signal?: AbortSignal;
  /** Called when the database has answered, before migrations, which may take long. */
  reached?: () => void;
};

/** Waits for `work`. @throws the signal's reason as soon as the signal aborts */
async function orStopped<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return work;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason as Error);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  // After an abort no caller awaits `work`, and its connections close. The resulting error must not end the process.
  work.catch(() => {});
  try {
    return await Promise.race([stopped, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** @returns null if the signal aborted; migrations continue at the next start */
export async function openUnlessStopped(
  settings: Settings,
  signal: AbortSignal,
  reached: () => void,
): Promise<OpenApp | null> {
  try {
    return await openApp(settings, { signal, reached });
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

export async function openApp(settings: Settings, options: OpenOptions = {}): Promise<OpenApp> {
  const ours = databaseClock(systemClock);
  const clock = options.clock ?? ours;
  const random = options.random ?? systemRandom;
  const log = streamLog(clock, settings.log, options.logTo ?? process.stderr);
  const { databaseUrl, databaseDirectUrl, dataDir } = settings;
  const logLine = (line: string) => log.info('database', { line });
  const embedded =
    databaseUrl === undefined ? await startEmbedded({ dataDir, log: logLine, mustExist: options.mustExist }) : null;
  const reach = async (url: string) => {
    await provePooler(url, databaseDirectUrl);
    return isDistributed(databaseDirectUrl ?? url);
  };
  // A paused pooler accepts connections but never answers, so only the signal ends this wait.
  const distributed = databaseUrl !== undefined && (await orStopped(reach(databaseUrl), options.signal));
  options.reached?.();
  const db = openDatabase(databaseUrl ?? embedded!.url, log, undefined, databaseDirectUrl, distributed);
  const close = async () => {
    // A statement that waits for a lock must not delay the end of the process.
    await Promise.race([db.close(), delay(closeMs, undefined, { ref: false })]);
    await embedded?.stop();
  };
  const prepare = async (): Promise<OpenApp> => {
    await ours.adjust(db);
    // DATABASE_URL may name the wrong database, so this check comes before migrations create anything in it.
    if (options.restoredBy !== undefined && !(await holdsFeeds(db)))
      throw new DatabaseUnfit(
        'There is nothing to restore in this database: it holds no organisation. Check DATABASE_URL.',
      );
    await proveWhole(db);
    await migrate(db, clock);
    const secret = await serviceSecret(db, settings, random, options.acceptSecret === true);
    const keyring = createKeyring([secret, ...settings.previousSecrets], random);
    if (options.acceptSecret === true) await acceptSecret(db, secret, clock.nowMs());
    else await proveSecret(db, secret, settings.previousSecrets, clock.nowMs());
    const app: App = {
      db,
      clock,
      adjustClock: () => ours.adjust(db),
      random,
      settings,
      log,
      secrets: deriveSecrets(secret, settings.previousSecrets),
      keyring,
      restored: { pending: false, applied: '', older: false, since: null },
    };
    const begunAgain = await takeUp(app, embedded === null ? null : await restoredMark(dataDir), options);
    await applyErasures(app);
    await isPending(app);
    return { app, begunAgain, close };
  };
  try {
    return await orStopped(prepare(), options.signal);
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/**
 * Records a restore. The caller applies erasures afterwards, because a missing list of erasures is an error only after
 * a restore.
 * @param mark names the backup that was restored; null: there is no restored backup
 */
async function takeUp(app: App, mark: string | null, { restoredBy, shownMs }: OpenOptions): Promise<number | null> {
  const begunAgain =
    restoredBy === undefined && mark !== null
      ? await takeUpRestore(app, 'operator', mark)
      : await takeUpRestore(app, restoredBy, null, shownMs);
  if (mark !== null) await forgetRestored(app.settings.dataDir);
  return begunAgain;
}
