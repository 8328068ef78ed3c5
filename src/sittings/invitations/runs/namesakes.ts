import { statement, type Tx } from '../../../platform/db/database.ts';
import { isVisibleLearner, type Visibility } from '../../../organisations/groups/visibility.ts';
import { nameKey, sameNameKey } from '../../../records/learners/keys.ts';

/** A known learner who has the same name as a new learner. */
export type Namesake = { learner_id: string; ref: string | null; full_name: string; created_at: Date };

const max = 5;

const byNames = statement('invitation.namesakes')`
  select l.learner_id, l.ref, l.full_name, l.created_at
    from unnest($2::int8[]) as k(key)
   cross join lateral (
     select learner_id, ref, full_name, created_at from learner n
      where n.organisation_id = $1 and n.name_key = k.key and ${isVisibleLearner('n.learner_id', '$3')}
      order by n.learner_id limit ${max}) l`;

/** Visible learners who have one of these names. The keys are `sameNameKey` of the names. */
export async function findNamesakes(
  tx: Tx,
  organisationId: number,
  names: readonly string[],
  visibility: Visibility,
): Promise<Map<string, Namesake[]>> {
  if (names.length === 0) return new Map();
  const keys = [...new Set(names.map(nameKey))];
  const found = await tx.query<Namesake>(byNames, [organisationId, keys, visibility]);
  return Map.groupBy(found, (one) => sameNameKey(one.full_name));
}
