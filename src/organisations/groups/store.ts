import { type Tx, statement } from '../../platform/db/database.ts';
import { reachedBy } from '../learner-ref.ts';

export type GroupRow = {
  group_id: string;
  type: string;
  ref: string;
  name: string;
  active: boolean;
  created_at: Date;
  position: number;
};

const columns = 'group_id, type, ref, name, active, created_at, position';

const byId = statement('group.by_id')`
  select ${columns} from learner_group where organisation_id = $1 and group_id = $2`;
const byIds = statement('group.by_ids')`
  select ${columns} from learner_group where organisation_id = $1 and group_id = any($2)`;
const byKeys = statement('group.by_keys')`
  select ${columns} from learner_group
   where organisation_id = $1 and (type, ref) in (select * from unnest($2::text[], $3::text[]))`;
const countActive = statement('group.count_active')`
  select count(*) as count from learner_group where organisation_id = $1 and active and type <> 'team'`;
const insert = statement('group.insert')`
  insert into learner_group (organisation_id, group_id, type, ref, name, active, created_at, position)
  values ($1, $2, $3, $4, $5, true, $6, $7)`;
const update = statement('group.update')`
  update learner_group set name = $3, active = $4, position = $5, ref = $6 where organisation_id = $1 and group_id = $2`;
const memberCount = statement('group.count_members')`
  select count(*) as count from membership where organisation_id = $1 and group_id = $2 and left_position is null`;
const learnersByRefs = statement('group.learners_by_refs')`
  select asked, learner_id, ref from ${reachedBy('$2::text[]', 'l.learner_id, l.ref')} r`;

const livingLearners = statement('group.living_learners')`
  select l.learner_id, l.ref from learner l
    join learner_feed f on f.organisation_id = l.organisation_id and f.learner_id = l.learner_id and not f.deleted
   where l.organisation_id = $1 and l.learner_id in (
     select coalesce(m.merged_into, m.learner_id) from learner m where m.organisation_id = $1 and m.learner_id = any($2))`;

export async function findGroup(tx: Tx, organisationId: number, groupId: string): Promise<GroupRow | undefined> {
  return (await tx.query<GroupRow>(byId, [organisationId, groupId]))[0];
}

export function findGroups(tx: Tx, organisationId: number, groupIds: readonly string[]): Promise<GroupRow[]> {
  return tx.query<GroupRow>(byIds, [organisationId, groupIds]);
}

export function findGroupsByKey(
  tx: Tx,
  organisationId: number,
  keys: { type: string; ref: string }[],
): Promise<GroupRow[]> {
  return tx.query<GroupRow>(byKeys, [organisationId, keys.map((key) => key.type), keys.map((key) => key.ref)]);
}

/** Counts the groups to which the limit applies: active groups that are not teams. */
export async function countActiveGroups(tx: Tx, organisationId: number): Promise<number> {
  return (await tx.query<{ count: number }>(countActive, [organisationId]))[0]!.count;
}

export async function insertGroup(tx: Tx, organisationId: number, row: GroupRow): Promise<void> {
  await tx.query(insert, [organisationId, row.group_id, row.type, row.ref, row.name, row.created_at, row.position]);
}

export async function updateGroup(tx: Tx, organisationId: number, row: GroupRow): Promise<void> {
  await tx.query(update, [organisationId, row.group_id, row.name, row.active, row.position, row.ref]);
}

export async function countMembers(tx: Tx, organisationId: number, groupId: string): Promise<number> {
  return (await tx.query<{ count: number }>(memberCount, [organisationId, groupId]))[0]!.count;
}

export async function knownGroups(tx: Tx, organisationId: number, groupIds: string[]): Promise<Set<string>> {
  return new Set((await findGroups(tx, organisationId, groupIds)).map((row) => row.group_id));
}

/** A learner that was found by a reference in a request. `ref`: the learner's current reference. */
export type Reached = { learner_id: string; ref: string };

/** Finds learners by current or previous references. Two references may find the same learner. */
export async function findReached(tx: Tx, organisationId: number, refs: string[]): Promise<Map<string, Reached>> {
  const rows = await tx.query<Reached & { asked: string }>(learnersByRefs, [organisationId, refs]);
  return new Map(rows.map(({ asked, learner_id, ref }) => [asked, { learner_id, ref }]));
}

/** Finds learners by ID and skips erased learners. The ID of a merged learner finds the learner that remains. */
export function findLivingLearners(
  tx: Tx,
  organisationId: number,
  learnerIds: string[],
): Promise<{ learner_id: string; ref: string | null }[]> {
  return tx.query(livingLearners, [organisationId, learnerIds]);
}
