import { statement, type Tx } from './database.ts';

export const advisoryLocks = {
  migration: 4_152_901,
  auditMonths: 4_152_902,
  eventMonths: 4_152_904,
  restamp: 4_152_906,
  digest: 4_152_907,
  lineage: 4_152_908,
  concurrentMigration: 4_152_909,
  erasures: 4_152_910,
  sandboxes: 4_152_911,
  addresses: 4_152_912,
  auditSealing: 4_152_913,
} as const;

const erasures = statement('erasures.lock')`select pg_advisory_xact_lock(${advisoryLocks.erasures})`;

/** One transaction at a time writes the list of erasures. On NFS, two machines would overwrite each other's lines. */
export async function lockErasures(tx: Tx): Promise<void> {
  await tx.query(erasures);
}

/**
 * Waits without a time limit. If a waiting process of `ars serve` gave up, all processes would end, including the
 * process that migrates.
 */
export async function lockMigration(tx: Tx): Promise<void> {
  const [free] = await tx.query<{ held: boolean }>('select pg_try_advisory_xact_lock($1) as held', [
    advisoryLocks.migration,
  ]);
  if (free!.held) return;
  const [before] = await tx.query<{ patience: string }>("select current_setting('lock_timeout') as patience");
  const wait = (patience: string) => tx.query("select set_config('lock_timeout', $1, true)", [patience]);
  await wait('0');
  await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
  await wait(before!.patience);
}
