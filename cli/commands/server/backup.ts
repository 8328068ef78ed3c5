import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { formatMs, systemClock } from '../../../src/platform/time/clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { backUp } from '../../../src/platform/db/embedded/backup.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { streamLog } from '../../../src/platform/observability/log.ts';
import { isSecretOf } from '../../../src/server/service-secret.ts';
import type { Settings } from '../../../src/platform/config/settings.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import type { Call, Command } from '../../kit/command.ts';
import { command, Failure, Misuse } from '../../kit/command.ts';
import { required, text } from '../../kit/options.ts';
import { terminal } from '../../kit/terminal.ts';

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

export const stopped =
  (call: Call<unknown>) =>
  (error: unknown): never => {
    if (call.signal.aborted) throw new Failure('Stopped before the end: nothing is left of it.');
    throw error;
  };

/** Prints the progress every 0.5 seconds. */
export function meterOf(call: Call<unknown>): (bytes: number) => void {
  let nextMs = 0;
  return (bytes) => {
    const nowMs = systemClock.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + 500;
    call.progress(`${megabytes(bytes)} copied`);
  };
}

export function embeddedSettings(): Settings {
  const settings = readSettings(terminal().environment);
  if (settings.databaseUrl !== undefined)
    throw new Misuse('this is for the embedded database; back up your own PostgreSQL by its own tools');
  return settings;
}

/** The backup contains no secret if the service has it from ARS_SECRET. */
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

export const commands: Command[] = [
  command({
    name: 'backup',
    summary: 'Copy the embedded database into a folder, while it is used',
    options: { out: required(text('DIR')) },
    run: async (call) => {
      const out = resolve(call.options.out);
      const settings = embeddedSettings();
      const embedded = await startEmbedded({ dataDir: settings.dataDir, mustExist: true });
      try {
        const options = { madeAt: formatMs(systemClock.nowMs()), told: meterOf(call), signal: call.signal };
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
];
