import pg from 'pg';
import { connectionTo } from './connection.ts';
import { namedFailure } from './database.ts';

/** Whether organisations are on several nodes: `ars distribute` has been here. */
export async function isDistributedOn(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('pg_catalog.pg_dist_partition') is not null as citus`);
  if (!rows[0].citus) return false;
  const found = await client.query(`select from pg_dist_partition where logicalrelid = to_regclass('rate_window')`);
  return found.rowCount === 1;
}

export async function isDistributed(url: string): Promise<boolean> {
  const client = new pg.Client(connectionTo(url, false));
  try {
    await client.connect();
    return await isDistributedOn(client);
  } catch (error) {
    throw namedFailure(error);
  } finally {
    await client.end().catch(() => {});
  }
}
