import { resolve } from 'node:path';
import { formatMs, systemClock } from '../src/clock.ts';
import { backUp } from '../src/db/embedded/backup.ts';
import { startEmbedded } from '../src/db/embedded/embedded.ts';
import type { Settings } from '../src/settings.ts';
import { readSettings } from '../src/settings.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { requiredOption } from './open.ts';

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

/** How far long work has come, now and then. */
export function meterOf(call: Call): (bytes: number) => void {
  let nextMs = 0;
  return (bytes) => {
    const nowMs = systemClock.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + 500;
    call.progress(`${megabytes(bytes)} copied`);
  };
}

export function embeddedSettings(): Settings {
  const settings = readSettings(process.env);
  if (settings.databaseUrl !== undefined)
    throw new Misuse('this is for the embedded database; back up your own PostgreSQL by its own tools');
  return settings;
}

export const inOneSentence = (error: unknown): never => {
  if (error instanceof Error && error.constructor === Error) throw new Failure(error.message);
  throw error;
};

export const commands: Command[] = [
  {
    name: 'backup',
    usage: '--out DIR',
    summary: 'Copy the embedded database into a folder, while it is used',
    options: { out: { type: 'string' } },
    run: async (call) => {
      const out = resolve(requiredOption(call, 'out'));
      const settings = embeddedSettings();
      const embedded = await startEmbedded({ dataDir: settings.dataDir, mustExist: true });
      try {
        const given = { madeAt: formatMs(systemClock.nowMs()), told: meterOf(call) };
        const { files, bytes } = await backUp(embedded, settings.dataDir, out, given).catch(inOneSentence);
        return {
          json: { out, files, bytes },
          text: `${files} files, ${megabytes(bytes)}, are in ${out}: the database, its passwords and the service's secret. Keep it as you keep those.`,
        };
      } finally {
        await embedded.stop();
      }
    },
  },
];
