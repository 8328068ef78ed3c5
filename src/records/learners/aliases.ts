import { uuidArray } from '../../platform/db/arrays.ts';
import { type Tx, statement, query } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { hashOfRef } from '../../organisations/learner-ref.ts';
import { findMergedInto } from './store.ts';

/** Previous references of learners. No other learner can get them (docs/decisions/0015). */

const insert = statement('alias.insert')`
  insert into learner_alias (organisation_id, alias_id, learner_id, ref) values ($1, $2, $3, $4)`;

export async function keepAlias(work: UnitOfWork, organisationId: number, learnerId: string, ref: string) {
  await work.tx.query(insert, [organisationId, work.uuid(), learnerId, ref]);
}

/** Removes an alias that has become the learner's current reference again. */
export const removeAlias = query<[organisationId: number, ref: string]>(
  'alias.remove',
  'delete from learner_alias where organisation_id = $1 and ref = $2',
);

const ofLearners = statement('alias.of_learners')`
  select learner_id, ref from learner_alias
   where organisation_id = $1 and learner_id = any($2) and ref is not null order by ref`;

export function findAliases(tx: Tx, organisationId: number, learnerIds: string[]) {
  return tx.query<{ learner_id: string; ref: string }>(ofLearners, [organisationId, uuidArray(learnerIds)]);
}

/** All IDs and references of one person, including those of learners that were merged into this learner. */
export type Person = { ids: string[]; refs: string[]; aliases: string[] };

export async function findPerson(
  tx: Tx,
  organisationId: number,
  learner: { learner_id: string; ref: string | null },
): Promise<Person> {
  const merged = await findMergedInto(tx, organisationId, learner.learner_id);
  const aliases = (await findAliases(tx, organisationId, [learner.learner_id])).map((alias) => alias.ref);
  const refs = learner.ref === null ? aliases : [learner.ref, ...aliases];
  return { ids: [learner.learner_id, ...merged.map((row) => row.learner_id)], refs, aliases };
}

export const transferAliases = query<[organisationId: number, from: string, to: string]>(
  'alias.pass',
  'update learner_alias set learner_id = $3 where organisation_id = $1 and learner_id = $2',
);

const hash = statement('alias.hash')`
  update learner_alias a set ref = null, ref_hash = g.hash
    from unnest($2::text[], $3::bytea[]) as g(ref, hash) where a.organisation_id = $1 and a.ref = g.ref`;

export async function hashAliases(work: UnitOfWork, organisationId: number, refs: string[]): Promise<void> {
  const hashes = refs.map((ref) => hashOfRef(work.secrets, organisationId, ref));
  if (refs.length > 0) await work.tx.query(hash, [organisationId, refs, hashes]);
}

const rename = query<[organisationId: number, aliasId: string, ref: string]>(
  'alias.rename',
  'update learner_alias set ref = $3 where organisation_id = $1 and alias_id = $2 and ref is not null',
);

/** Replaces an alias whose text must not be stored. The old text then no longer finds the learner. */
export async function redactAlias(tx: Tx, organisationId: number, aliasId: string): Promise<void> {
  await rename(tx, organisationId, aliasId, `redacted-${aliasId}`);
}
