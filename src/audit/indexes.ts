import type { App } from '../app.ts';
import { statement } from '../db/database.ts';
import { advisoryLocks } from '../db/locks.ts';

/**
 * Indexes of the log's partitions. Months are made with them; what was there before an upgrade, however large, gets them
 * beside all writers, by one process at a time.
 */

const missing = statement('audit.indexes_missing', 'select name, definition, broken from audit_indexes_missing()');

/** Makes what is missing; what was broken off in the making begins anew. */
export async function makeAuditIndexes(app: App, signal?: AbortSignal): Promise<void> {
  if ((await app.db.query(missing)).length === 0) return;
  const connection = app.db.dedicated();
  let pid: number | null = null;
  // A stop doesn't wait for a large one: it is broken off, and made anew after the next start.
  const stop = () => void app.db.query('select pg_cancel_backend($1::int4)', [pid]).catch(() => {});
  signal?.addEventListener('abort', stop);
  try {
    // Such a statement waits for everybody who was there before it, and holds nobody up meanwhile.
    await connection.query(`set lock_timeout = '10min'`);
    const [lock] = await connection.query<{ held: boolean; pid: number }>(
      'select pg_try_advisory_lock($1) as held, pg_backend_pid() as pid',
      [advisoryLocks.auditIndexes],
    );
    if (!lock!.held) return;
    pid = lock!.pid;
    type Missing = { name: string; definition: string; broken: boolean };
    for (const { name, definition, broken } of await connection.query<Missing>(missing)) {
      if (signal?.aborted === true) return;
      if (broken) await connection.query(`drop index concurrently if exists ${name}`);
      await connection.query(`create index concurrently ${name} ${definition}`);
      app.log.info('audit.index_made', { name });
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    await connection.close();
  }
}
