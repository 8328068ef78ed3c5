import { systemClock } from '../src/clock.ts';
import { openDatabase } from '../src/db/database.ts';
import { startEmbedded } from '../src/db/embedded/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
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
      const embedded = settings.databaseUrl === undefined ? await startEmbedded({ dataDir: settings.dataDir }) : null;
      const db = openDatabase(
        settings.databaseDirectUrl ?? settings.databaseUrl ?? embedded!.url,
        streamLog(systemClock, 'none', process.stdout),
      );
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
