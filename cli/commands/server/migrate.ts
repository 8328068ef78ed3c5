import { systemClock } from '../../../src/platform/time/clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { DatabaseUnavailable } from '../../../src/platform/db/connection/unavailable.ts';
import { isDistributed } from '../../../src/platform/db/citus/distributed.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { proveOneDatabase } from '../../../src/platform/db/connection/pooler.ts';
import { streamLog } from '../../../src/platform/observability/log.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import type { Command } from '../../kit/command.ts';
import { command } from '../../kit/command.ts';
import { terminal } from '../../kit/terminal.ts';

const unreachable = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ETIMEDOUT', 'ENOTFOUND']);

export const commands: Command[] = [
  command({
    name: 'migrate',
    summary: 'Bring the database up to date (the service does it at its start too)',
    run: async () => {
      const settings = readSettings(terminal().environment);
      // A pooler that runs with the service may be stopped now. It can then lead to no other database.
      const isProved = await proveOneDatabase(settings).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof DatabaseUnavailable) || !unreachable.has(error.code ?? '')) throw error;
          return false;
        },
      );
      const url = settings.databaseDirectUrl ?? settings.databaseUrl;
      const distributed = url !== undefined && (await isDistributed(url));
      const embedded = url === undefined ? await startEmbedded({ dataDir: settings.dataDir, mustExist: true }) : null;
      const log = streamLog(systemClock, 'none', terminal().output);
      const db = openDatabase(url ?? embedded!.url, log, undefined, undefined, distributed);
      try {
        const applied = await migrate(db, systemClock);
        const lines = [
          applied.length === 0 ? 'The database is up to date.' : `Applied migrations ${applied.join(', ')}.`,
        ];
        if (!isProved) {
          const [where] = await db.query<{ name: string }>('select current_database() as name');
          lines.push(
            `Nobody answers at DATABASE_URL: whether it leads to ${where!.name}, too, as DATABASE_DIRECT_URL does, is looked at when the service starts.`,
          );
        }
        return { json: { applied, one_database: isProved }, text: lines.join('\n') };
      } finally {
        await db.close();
        await embedded?.stop();
      }
    },
  }),
];
