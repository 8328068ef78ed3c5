import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { formatMs, systemClock } from '../../../src/platform/time/clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { backUp, restoreBackup } from '../../../src/platform/db/embedded/backup.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { streamLog } from '../../../src/platform/observability/log.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { isSecretOf } from '../../../src/server/service-secret.ts';
import { type Settings, readSettings } from '../../../src/platform/config/settings.ts';
import { type Call, type Command, command, Failure, Misuse } from '../../kit/command.ts';
import { operator, withApp } from '../../kit/open.ts';
import { flag, position, required, text } from '../../kit/options.ts';
import { terminal } from '../../kit/terminal.ts';

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

const stopped =
  (call: Call<unknown>) =>
  (error: unknown): never => {
    if (call.signal.aborted) throw new Failure('Stopped before the end: nothing is left of it.');
    throw error;
  };

function meterOf(call: Call<unknown>): (bytes: number) => void {
  let nextMs = 0;
  return (bytes) => {
    const nowMs = systemClock.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + 500;
    call.progress(`${megabytes(bytes)} copied`);
  };
}

function embeddedSettings(): Settings {
  const settings = readSettings(terminal().environment);
  if (settings.databaseUrl !== undefined)
    throw new Misuse('this is for the embedded database; back up your own PostgreSQL by its own tools');
  return settings;
}

/**
 * Whether the backup contains the service's secret. If the service reads the secret from ARS_SECRET, the backup
 * contains none.
 */
async function hasSecret(url: string, out: string): Promise<boolean> {
  const secret = await readFile(join(out, 'own', 'secret'), 'utf8').catch(() => null);
  if (secret === null) return false;
  const db = openDatabase(url, streamLog(systemClock, 'none', terminal().output), 1);
  try {
    return await isSecretOf(db, secret.trim());
  } finally {
    await db.close();
  }
}

const effectWords = (organisations: number) =>
  `${organisations} ${organisations === 1 ? 'organisation' : 'organisations'}: every live record gets a new position while the service runs, and reaches all who follow by since.`;

export const commands: Command[] = [
  command({
    name: 'backup',
    summary: 'Copy the embedded database into a folder',
    notes: 'The service may run meanwhile.',
    examples: ['--out backup', '--out backup --json'],
    about: { out: 'The folder to write' },
    options: { out: required(text('DIR')) },
    run: async (call) => {
      const out = resolve(call.options.out);
      const settings = embeddedSettings();
      const embedded = await startEmbedded({ dataDir: settings.dataDir, mustExist: true });
      try {
        const options = { madeAt: formatMs(systemClock.nowMs()), onCopied: meterOf(call), signal: call.signal };
        const { files, bytes } = await backUp(embedded, settings.dataDir, out, options).catch(stopped(call));
        const secret = await hasSecret(embedded.url, out);
        const what = secret
          ? "the database, its passwords and the service's secret. Keep it as you keep those."
          : "the database and its passwords, but not the service's secret, which is in ARS_SECRET. Keep both, apart from each other.";
        return {
          json: { out, files, bytes, secret },
          text: `${files} files, ${megabytes(bytes)}, are in ${out}: ${what}`,
        };
      } finally {
        await embedded.stop();
      }
    },
  }),
  command({
    name: 'restore',
    summary: 'Restore a backup, or declare a restored database',
    notes:
      'With --from, the command restores the embedded database into an empty ARS_DATA_DIR. Use --declare after you have restored your own PostgreSQL.',
    examples: ['--from backup', '--declare'],
    about: {
      from: 'The folder of the backup',
      declare: 'Declares that your own database was restored',
      above: 'The latest time that clients may have seen',
    },
    options: { from: text('DIR'), declare: flag, above: position('TIME') },
    run: async (call) => {
      const { from, declare, above } = call.options;
      if ((from !== undefined) === declare)
        throw new Misuse('give --from DIR, or --declare after you have restored your own PostgreSQL');
      if (above !== undefined && from !== undefined) throw new Misuse('--above goes with --declare');
      const shownMs = above === undefined ? 0 : above / 1000;
      if (shownMs > systemClock.nowMs() + limits.shownAboveMs)
        throw new Misuse('--above must be at most a year ahead: no feed goes back below it again');
      if (from === undefined)
        return withApp(
          async (_app, { begunAgain }) => {
            const organisations = begunAgain!;
            return { json: { organisations }, text: `The restore is declared for ${effectWords(organisations)}` };
          },
          { restoredBy: operator, shownMs },
        );
      const settings = embeddedSettings();
      const options = { onCopied: meterOf(call), signal: call.signal, secret: settings.secret !== undefined };
      const { madeAt, files } = await restoreBackup(settings.dataDir, resolve(from), options).catch(stopped(call));
      // The command opens the restored service once, so that the operator learns now whether the backup can be used.
      const opened = await openApp({ ...settings, log: 'none' }).catch((error: Error) => {
        throw new Failure(
          `The backup of ${madeAt} is in ${settings.dataDir}, but can't be opened yet: ${error.message}`,
        );
      });
      await opened.close();
      return {
        json: { made_at: madeAt, files, data_dir: settings.dataDir },
        text: `The backup of ${madeAt} is in ${settings.dataDir}, and opens. Later changes are lost. Ask integrators for a full sync, or let their clients compare X-Sync-Digest.`,
      };
    },
  }),
];
