import { setImmediate } from 'node:timers/promises';
import { type Database, statement } from '../../platform/db/database.ts';
import { readFeed } from '../../feed/position.ts';
import { nameKey } from './keys.ts';

export type GuardedPerson = { learner_id: string; full_name: string; email: string | null };

/** The feed's position before a file is checked, and the learners with a name or email address from the file. */
export type ErasureGuard = { position: number; candidates: GuardedPerson[] };

const byName = statement('learner.meant_by_name')`
  select learner_id, full_name, email from learner where organisation_id = $1 and name_key = any($2)`;
const byEmail = statement('learner.meant_by_email')`
  select learner_id, full_name, email from learner where organisation_id = $1 and lower(email) collate "C" = any($2)`;

export async function openErasureGuard(
  db: Database,
  organisationId: number,
  { names, emails }: { names: Iterable<string>; emails: Iterable<string> },
): Promise<ErasureGuard> {
  const keys = new Set<number>();
  let read = 0;
  for (const name of new Set(names)) {
    keys.add(nameKey(name));
    // Thousands of names take long, so other requests run in between.
    if (++read % 500 === 0) await setImmediate();
  }
  const addresses = [...new Set([...emails].map((email) => email.toLowerCase()))];
  return db.snapshot(async (tx) => {
    const { position } = await readFeed(tx, organisationId);
    const candidates = keys.size === 0 ? [] : await tx.query<GuardedPerson>(byName, [organisationId, [...keys]]);
    if (addresses.length > 0) candidates.push(...(await tx.query<GuardedPerson>(byEmail, [organisationId, addresses])));
    return { position, candidates };
  });
}
