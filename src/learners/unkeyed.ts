import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { lockFeed } from '../feed/position.ts';
import { nameKey, nearKey, refKey } from './keys.ts';
import type { LearnerName } from './store.ts';

/** Learners whom a version from before the keys of matching stored. */

const unkeyed = statement(
  'learner.unkeyed',
  `select organisation_id from learner where name_key is null and full_name <> '' and organisation_id <> all($1) limit 1`,
);
const unkeyedOf = statement(
  'learner.unkeyed_of',
  `
  select learner_id, ref, full_name from learner
   where organisation_id = $1 and name_key is null and full_name <> '' order by learner_id limit 1000`,
);
const setKeys = statement(
  'learner.set_keys',
  `
  update learner l set name_key = g.name_key, near_key = g.near_key, ref_key = g.ref_key
    from unnest($2::uuid[], $3::int8[], $4::int8[], $5::int8[]) as g(learner_id, name_key, near_key, ref_key)
   where l.organisation_id = $1 and l.learner_id = g.learner_id`,
);

/** An organisation with learners from before the keys of matching, other than these. */
export async function findUnkeyed(tx: Tx, others: readonly number[] = []): Promise<number | null> {
  return (await tx.query<{ organisation_id: number }>(unkeyed, [others]))[0]?.organisation_id ?? null;
}

/** Gives some of them theirs. */
export async function keyLearners(work: Work, organisationId: number): Promise<void> {
  await lockFeed(work, organisationId);
  const rows = await work.tx.query<LearnerName>(unkeyedOf, [organisationId]);
  await work.tx.query(setKeys, [
    organisationId,
    rows.map((row) => row.learner_id),
    rows.map((row) => nameKey(row.full_name)),
    rows.map((row) => nearKey(row.full_name)),
    rows.map((row) => (row.ref === null ? null : refKey(row.ref))),
  ]);
}
