import { systemClock } from '../../../src/platform/time/clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { DatabaseUnavailable } from '../../../src/platform/db/connection/unavailable.ts';
import { isDistributed } from '../../../src/platform/db/citus/distributed.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { distribute, planDistribution, proveReady } from '../../../src/platform/db/citus/distribute.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { proveOneDatabase } from '../../../src/platform/db/connection/pooler.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { streamLog } from '../../../src/platform/observability/log.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { type Call, type Command, command, Failure } from '../../kit/command.ts';
import { withApp } from '../../kit/open.ts';
import { count, flag, or } from '../../kit/options.ts';
import { terminal } from '../../kit/terminal.ts';

const unreachable = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ETIMEDOUT', 'ENOTFOUND']);

async function distributeDatabase(call: Call<{ dryRun: boolean; shards: number }>) {
  const { dryRun, shards } = call.options;
  const settings = readSettings(terminal().environment);
  const url = settings.databaseDirectUrl ?? settings.databaseUrl;
  if (url === undefined)
    throw new Failure('Only a PostgreSQL of your own can be distributed: set DATABASE_URL to the coordinator.');
  await proveOneDatabase(settings);
  const db = openDatabase(url, streamLog(systemClock, 'none', terminal().output), 2);
  try {
    await proveReady(db);
    const steps = await planDistribution(db, shards);
    if (dryRun) {
      const left = steps.filter(({ done }) => !done);
      return {
        json: { steps, taken: [] },
        text: left.length === 0 ? 'The database is distributed.' : left.map(({ step }) => step).join('\n'),
      };
    }
    const taken = await distribute(db, shards, call.signal, call.step);
    return {
      json: { steps: await planDistribution(db, shards), taken },
      text: taken.length === 0 ? 'The database is distributed.' : `The database is distributed: ${taken.length} steps.`,
    };
  } catch (error) {
    if (call.signal.aborted) throw new Failure('Stopped between two steps: run the command again to continue.');
    throw error;
  } finally {
    await db.close();
  }
}

export const commands: Command[] = [
  command({
    name: 'migrate',
    summary: 'Bring the database up to date',
    notes: 'The service does the same when it starts.',
    examples: ['', '--json'],
    run: async () => {
      const settings = readSettings(terminal().environment);
      // A pooler that is stopped with the service can't lead to another database, so the command continues.
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
            `No database answers at DATABASE_URL. The service checks at its start whether it leads to ${where!.name}, as DATABASE_DIRECT_URL does.`,
          );
        }
        return { json: { applied, one_database: isProved }, text: lines.join('\n') };
      } finally {
        await db.close();
        await embedded?.stop();
      }
    },
  }),
  command({
    name: 'distribute',
    summary: 'Distribute the database over a Citus cluster',
    notes: 'Run the command again to continue after an error.',
    examples: ['--dry-run', '--shards 64'],
    about: { dryRun: 'Prints what would be done, and changes nothing', shards: 'The number of shards' },
    options: { dryRun: flag, shards: or(count(1, limits.maxShards), limits.shards) },
    run: distributeDatabase,
  }),
  command({
    name: 'secret accept',
    summary: 'Accept a new ARS_SECRET after the old one is lost',
    notes: 'Links and cursors of the old secret end. Rotate the secret of every webhook endpoint afterwards.',
    examples: ['', '--json'],
    run: () => {
      const text =
        'The database is used with the present ARS_SECRET from here on. Rotate the secret of every webhook endpoint.';
      return withApp(async () => ({ json: { accepted: true }, text }), { acceptSecret: true });
    },
  }),
];
