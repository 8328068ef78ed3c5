import { uuidArray } from '../../platform/db/arrays.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { hashOfRef } from '../../organisations/learner-ref.ts';
import { findMergedInto } from './store.ts';

/**
 * References that learners had before (docs/decisions/0015): they reach the learner for good, and are never anybody
 * else's. The feed's lock is held.
 */

const insert = statement(
  'alias.insert',
  `
  insert into learner_alias (organisation_id, alias_id, learner_id, ref) values ($1, $2, $3, $4)`,
);
const remove = statement('alias.remove', 'delete from learner_alias where organisation_id = $1 and ref = $2');
const ofLearners = statement(
  'alias.of_learners',
  `
  select learner_id, ref from learner_alias
   where organisation_id = $1 and learner_id = any($2) and ref is not null order by ref`,
);
const pass = statement(
  'alias.pass',
  'update learner_alias set learner_id = $3 where organisation_id = $1 and learner_id = $2',
);
const hash = statement(
  'alias.hash',
  `
  update learner_alias a set ref = null, ref_hash = g.hash
    from unnest($2::text[], $3::bytea[]) as g(ref, hash) where a.organisation_id = $1 and a.ref = g.ref`,
);
const rename = statement(
  'alias.rename',
  'update learner_alias set ref = $3 where organisation_id = $1 and alias_id = $2 and ref is not null',
);

/** A reference that was the learner's reaches the learner from now on. */
export async function keepAlias(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
  ref: string,
): Promise<void> {
  await work.tx.query(insert, [organisationId, work.uuid(), learnerId, ref]);
}

/** The reference is a learner's current one again. */
export async function removeAlias(tx: Tx, organisationId: number, ref: string): Promise<void> {
  await tx.query(remove, [organisationId, ref]);
}

export type Alias = { learner_id: string; ref: string };

/** The references of before, of these learners. */
export function findAliases(tx: Tx, organisationId: number, learnerIds: string[]): Promise<Alias[]> {
  return tx.query<Alias>(ofLearners, [organisationId, uuidArray(learnerIds)]);
}

/** All that one person was known by: ids, those of whoever turned out to be them included, and references. */
export type Person = { ids: string[]; refs: string[]; aliases: string[] };

export async function findPerson(
  tx: Tx,
  organisationId: number,
  learner: { learner_id: string; ref: string | null },
): Promise<Person> {
  const merged = await findMergedInto(tx, organisationId, learner.learner_id);
  const aliases = (await findAliases(tx, organisationId, [learner.learner_id])).map((alias) => alias.ref);
  const refs = learner.ref === null ? aliases : [learner.ref, ...aliases];
  return { ids: [learner.learner_id, ...merged], refs, aliases };
}

/** All that reached one learner reaches another. */
export async function passAliases(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(pass, [organisationId, from, to]);
}

/** The learner is erased: what its aliases are found by, in place of themselves. */
export async function hashAliases(work: UnitOfWork, organisationId: number, refs: string[]): Promise<void> {
  const hashes = refs.map((ref) => hashOfRef(work.secrets, organisationId, ref));
  if (refs.length > 0) await work.tx.query(hash, [organisationId, refs, hashes]);
}

/** Another text for an alias that holds what must not be stored: it then reaches nobody by what it was. */
export async function redactAlias(tx: Tx, organisationId: number, aliasId: string): Promise<void> {
  await tx.query(rename, [organisationId, aliasId, `redacted-${aliasId}`]);
}
