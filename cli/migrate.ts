import { systemClock } from '../src/clock.ts';
import { openDatabase } from '../src/db/database.ts';
import { isDistributed } from '../src/db/distributed.ts';
import { startEmbedded } from '../src/db/embedded/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { proveOneDatabase } from '../src/db/pooler.ts';
import { streamLog } from '../src/log.ts';
import { readSettings } from '../src/settings.ts';
import type { Command } from './command.ts';

export const commands: Command[] = [
  {
    name: 'migrate',
    usage: '',
    summary: 'Bring the database up to date (the service does it at its start too)',
    run: async () => {
      const settings = readSettings(process.env);
      await proveOneDatabase(settings);
      const given = settings.databaseDirectUrl ?? settings.databaseUrl;
      const distributed = given !== undefined && (await isDistributed(given));
      const embedded = given === undefined ? await startEmbedded({ dataDir: settings.dataDir, mustExist: true }) : null;
      const log = streamLog(systemClock, 'none', process.stdout);
      const db = openDatabase(given ?? embedded!.url, log, undefined, undefined, distributed);
      try {
        const applied = await migrate(db, systemClock);
        return {
          json: { applied },
          text: applied.length === 0 ? 'The database is up to date.' : `Applied migrations ${applied.join(', ')}.`,
        };
      } finally {
        await db.close();
        await embedded?.stop();
      }
    },
  },
];
