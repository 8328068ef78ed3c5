import type { Tx } from './database.ts';
import { statement } from './database.ts';

/** Advisory locks, each held by one process at a time: any constants that nothing else in the database uses. */
export const advisoryLocks = {
  migration: 4_152_901,
  auditMonths: 4_152_902,
  auditIndexes: 4_152_903,
  eventMonths: 4_152_904,
  restamp: 4_152_906,
  digest: 4_152_907,
  lineage: 4_152_908,
  concurrentMigration: 4_152_909,
  erasures: 4_152_910,
  sandboxes: 4_152_911,
} as const;

const erasures = statement('erasures.lock', `select pg_advisory_xact_lock(${advisoryLocks.erasures})`);

/**
 * One transaction at a time adds to the list of erasures (src/erasures-list.ts): on NFS, machines that write at once overwrite
 * each other's lines.
 */
export async function lockErasures(tx: Tx): Promise<void> {
  await tx.query(erasures);
}
