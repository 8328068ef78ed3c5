import { type Tx, statement } from '../../platform/db/database.ts';
import { type Visibility, isVisibleLearner } from '../../organisations/groups/visibility.ts';

export type ChosenLearner = { learner_id: string; ref: string | null; full_name: string; email: string | null };
export type ChosenGroup = { group_id: string; type: string; ref: string; name: string };

const chosen = statement('records.chosen')`
  select l.learner_id, l.ref, l.full_name, l.email from learner l
   where l.organisation_id = $1 and l.learner_id = any($2::uuid[]) and l.full_name <> ''
     and ${isVisibleLearner('l.learner_id', '$3')} order by l.full_name, l.learner_id`;
const groups = statement('records.groups_of_chosen')`
  select distinct g.group_id, g.type, g.ref, g.name from membership m
    join learner_group g on g.organisation_id = m.organisation_id and g.group_id = m.group_id and g.active
   where m.organisation_id = $1 and m.learner_id = any($2::uuid[]) and m.left_position is null order by g.type, g.name, g.group_id`;

/** The visible learners with these IDs, by name. Erased learners are left out. */
export const findChosen = (tx: Tx, organisationId: number, ids: readonly string[], visibility: Visibility) =>
  tx.query<ChosenLearner>(chosen, [organisationId, ids, visibility]);

/** The active groups of which at least one of the learners is a member. */
export const groupsOfChosen = (tx: Tx, organisationId: number, ids: readonly string[]) =>
  tx.query<ChosenGroup>(groups, [organisationId, ids]);
