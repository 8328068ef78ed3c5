import type { Tx } from '../src/db/database.ts';

/** What a database's comment says once it isn't what its benchmark begins with: `bench/run.ts` makes such a one anew. */
export const spent = 'spent';

/** Committed before the first change, so that whoever goes on after an interruption knows. */
export async function spend(db: Tx): Promise<void> {
  await db.query(`do $$ begin execute format('comment on database %I is ''${spent}''', current_database()); end $$`);
}

export async function isSpent(db: Tx): Promise<boolean> {
  const [row] = await db.query<{ said: string | null }>(
    `select shobj_description(oid, 'pg_database') as said from pg_database where datname = current_database()`,
  );
  return row!.said === spent;
}
