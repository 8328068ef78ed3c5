import { systemClock } from '../../../src/platform/time/clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { distribute, planDistribution, proveReady } from '../../../src/platform/db/citus/distribute.ts';
import { proveOneDatabase } from '../../../src/platform/db/connection/pooler.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { streamLog } from '../../../src/platform/observability/log.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import type { Call, Command } from '../../kit/command.ts';
import { command, Failure } from '../../kit/command.ts';
import { count, flag, or } from '../../kit/options.ts';
import { terminal } from '../../kit/terminal.ts';

async function run(call: Call<{ dryRun: boolean; shards: number }>) {
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
    if (call.signal.aborted) throw new Failure('Stopped between two steps: the same command goes on.');
    throw error;
  } finally {
    await db.close();
  }
}

export const commands: Command[] = [
  command({
    name: 'distribute',
    summary: 'Distribute the database by organisation over the nodes of a Citus cluster, or go on with it',
    options: { dryRun: flag, shards: or(count(1, limits.maxShards), limits.shards) },
    run,
  }),
];
