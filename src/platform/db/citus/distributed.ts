import type pg from 'pg';
import { connectionTo, withClient } from '../connection/connection.ts';
import type { Database } from '../database.ts';
import { namedFailure } from '../connection/unavailable.ts';
import { lockMigration } from '../locks.ts';
import { DatabaseUnfit } from '../migrate.ts';

export async function isDistributedOn(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('pg_catalog.pg_dist_partition') is not null as citus`);
  if (!rows[0].citus) return false;
  const found = await client.query(`select from pg_dist_partition where logicalrelid = to_regclass('rate_window')`);
  return found.rowCount === 1;
}

export const asideName = 'distribution_reference';

/**
 * Refuses a half-distributed database, because deletions without foreign keys would leave rows behind.
 * @throws DatabaseUnfit while `ars distribute` is incomplete
 */
export async function proveWhole(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    const prove = async () => {
      // This statement reads pg_class, because to_regclass caches its answer within a transaction.
      const found = await tx.query(
        'select from pg_class where relname = $1 and relnamespace = current_schema()::regnamespace',
        [asideName],
      );
      if (found.length > 0)
        throw new DatabaseUnfit(
          'The database is half distributed, and its foreign keys are put aside: run ars distribute to its end.',
        );
    };
    await prove();
    // A process that starts during a step of `ars distribute` waits here. The step itself detects processes that
    // started earlier.
    await lockMigration(tx);
    await prove();
  });
}

export async function isDistributed(url: string): Promise<boolean> {
  return withClient(connectionTo(url, false), isDistributedOn).catch((error: unknown) => {
    throw namedFailure(error);
  });
}
