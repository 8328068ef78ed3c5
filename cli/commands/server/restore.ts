import { resolve } from 'node:path';
import { restoreBackup } from '../../../src/platform/db/embedded/backup.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { embeddedSettings, meterOf, stopped } from './backup.ts';
import type { Command } from '../../kit/command.ts';
import { command, Failure, Misuse } from '../../kit/command.ts';
import { operator, withApp } from '../../kit/open.ts';
import { flag, position, text } from '../../kit/options.ts';

const effectWords = (organisations: number) =>
  `${organisations} ${organisations === 1 ? 'organisation' : 'organisations'}: every live record gets a new position while the service runs, and reaches all who follow by since.`;

export const commands: Command[] = [
  command({
    name: 'restore',
    summary: 'Put a backup into an empty ARS_DATA_DIR; or say that your own database was restored',
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
      const options = { told: meterOf(call), signal: call.signal, secret: settings.secret !== undefined };
      const { madeAt, files } = await restoreBackup(settings.dataDir, resolve(from), options).catch(stopped(call));
      // Opening it once shows now whether the backup can be used.
      const opened = await openApp({ ...settings, log: 'none' }).catch((error: Error) => {
        throw new Failure(
          `The backup of ${madeAt} is in ${settings.dataDir}, but can't be opened yet: ${error.message}`,
        );
      });
      await opened.close();
      return {
        json: { made_at: madeAt, files, data_dir: settings.dataDir },
        text: `The backup of ${madeAt} is in ${settings.dataDir}, and opens. What came after it is lost: ask integrators for a full sweep, or let them compare by digest.`,
      };
    },
  }),
];
