import { type Tx, statement } from '../../platform/db/database.ts';
import { limits } from '../../platform/config/limits.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { type Visibility, isVisibleGroup, isVisibleLearner } from './visibility.ts';
import type { GroupRow } from './store.ts';

/** A group with the count of its visible members, up to a limit. */
export type BrowsedGroup = GroupRow & { members: number };

const membersUpTo = (max: string, visibility: string) => `
  (select count(*)::int4 from (
     select from membership m
      where m.organisation_id = $1 and m.group_id = g.group_id and m.left_position is null and ${isVisibleLearner('m.learner_id', visibility)}
      limit ${max} + 1) counted)`;

const columns = 'g.group_id, g.type, g.ref, g.name, g.active, g.created_at, g.position';

/** A person's visible learners, if they are few, are counted by group at once. Otherwise, each group is counted. */
const maxSeen = 2000;
const countedOnce = (visibility: string) => `
  visible as materialized (
    select m.learner_id from membership m
     where m.organisation_id = $1 and m.group_id = any(${visibility}::uuid[]) and m.left_position is null limit ${maxSeen + 1}),
  are_few as materialized (select ${visibility}::uuid[] is not null and (select count(*) from visible) <= ${maxSeen} as yes),
  members_seen as materialized (
    select m.group_id, count(*)::int4 as members
      from (select distinct learner_id from visible) v cross join lateral (
        select o.group_id from membership o
         where o.organisation_id = $1 and o.learner_id = v.learner_id and o.left_position is null offset 0) m
     where (select yes from are_few) group by 1)`;

const maxInList = `case when $6::uuid[] is null then ${limits.membersCounted} else ${limits.membersCountedInSight} end`;
// If the page token contains a group that the person may not see, the first page is read. Otherwise, the page would
// show where that group's name is in the order.
const page = statement('group.browse')`
  with place as materialized (
    select a.type, lower(a.name) as name, a.group_id from learner_group a
     where a.organisation_id = $1 and a.group_id = $4 and ${isVisibleGroup('a.group_id', '$6')}),
  ${countedOnce('$6')}
  select ${columns}, case when (select yes from are_few)
           then coalesce((select least(s.members, ${maxInList} + 1) from members_seen s where s.group_id = g.group_id), 0)
           else ${membersUpTo(maxInList, '$6')} end as members
    from (select * from learner_group g
           where g.organisation_id = $1 and ($2::text is null or g.type = $2) and ($3::boolean is null or g.active = $3)
             and (not exists (select from place)
                  or (g.type, lower(g.name), g.group_id) > (select p.type, p.name, p.group_id from place p))
             and ${isVisibleGroup('g.group_id', '$6')}
           order by g.type, lower(g.name), g.group_id limit $5) g
   order by g.type, lower(g.name), g.group_id`;
const one = statement('group.browse_one')`
  select ${columns}, ${membersUpTo(String(limits.membersCountedOfOne), '$3')} as members
    from learner_group g where g.organisation_id = $1 and g.group_id = $2 and ${isVisibleGroup('g.group_id', '$3')}`;

const named = statement('group.named')`
  select g.group_id, g.type, g.name from learner_group g
   where g.organisation_id = $1 and (g.active or g.group_id = any($2::uuid[])) and ${isVisibleGroup('g.group_id', '$3')}
   order by g.type, lower(g.name), g.group_id limit ${2 * limits.groupsPerOrganisation}`;

/** The groups that the filter of learners offers: active groups and teams, and the groups in `others`. */
export function groupNames(
  tx: Tx,
  organisationId: number,
  others: readonly string[],
  visibility: Visibility,
): Promise<Pick<GroupRow, 'group_id' | 'type' | 'name'>[]> {
  return tx.query(named, [organisationId, others, visibility]);
}

const found = statement('group.found')`
  select * from (
    select g.group_id, g.type, g.ref, g.name, g.active, g.ref = $2 or g.group_id = $3::uuid as is_exact from learner_group g
     where g.organisation_id = $1
       and (g.ref = $2 or g.group_id = $3::uuid or starts_with(lower(g.ref), lower($2))
            or name_words($1, folded_name(g.name)) @@ (select name_query($1, folded_name($2)))) offset 0) g
   where ${isVisibleGroup('g.group_id', '$4')}
   order by g.is_exact is not true, not g.active, lower(g.name), g.group_id limit $5`;

export type FoundGroup = Pick<GroupRow, 'group_id' | 'type' | 'ref' | 'name' | 'active'> & { is_exact: boolean | null };

/** Finds groups by ID, the beginning of the reference, or beginnings of words of the name. */
export function searchGroups(
  tx: Tx,
  organisationId: number,
  text: string,
  visibility: Visibility,
  limit: number,
): Promise<FoundGroup[]> {
  const id = isUuid(text) ? text.toLowerCase() : null;
  return tx.query<FoundGroup>(found, [organisationId, text, id, visibility, limit]);
}

export const membersCountedFor = (visibility: Visibility): number =>
  visibility === null ? limits.membersCounted : limits.membersCountedInSight;

/** Lists groups by type and name. @param after the last group ID of the previous page */
export function browseGroups(
  tx: Tx,
  organisationId: number,
  filter: { type: string | null; active: boolean | null },
  visibility: Visibility,
  { after, limit }: { after: string | null; limit: number },
): Promise<BrowsedGroup[]> {
  return tx.query<BrowsedGroup>(page, [organisationId, filter.type, filter.active, after, limit, visibility]);
}

/** @returns undefined if there is no such group, or the person may not see it */
export async function browseGroup(
  tx: Tx,
  organisationId: number,
  groupId: string,
  visibility: Visibility,
): Promise<BrowsedGroup | undefined> {
  return (await tx.query<BrowsedGroup>(one, [organisationId, groupId, visibility]))[0];
}

export type GroupMember = { learner_id: string; ref: string | null; full_name: string; joined_position: number };

const members = (name: string, order: string, after: string, place = '') =>
  statement(name)`
  ${place === '' ? '' : `with place as materialized (${place})`}
  select m.learner_id, l.ref, l.full_name, m.joined_position
    from membership m join learner l on l.organisation_id = m.organisation_id and l.learner_id = m.learner_id
   where m.organisation_id = $1 and m.group_id = $2 and m.left_position is null and ${isVisibleLearner('m.learner_id', '$5')}
     and (${after})
   order by ${order} limit $4`;
const byName = members(
  'group.members_by_name',
  'lower(l.full_name), m.learner_id',
  `not exists (select from place)
      or (lower(l.full_name), m.learner_id) > (select p.name, p.learner_id from place p)`,
  `select lower(a.full_name) as name, a.learner_id from learner a
    where a.organisation_id = $1 and a.learner_id = $3 and ${isVisibleLearner('a.learner_id', '$5')}`,
);
const byId = members('group.members_by_id', 'm.learner_id', '$3::uuid is null or m.learner_id > $3');

/**
 * Lists current members, sorted by name if there are few, otherwise by ID.
 * @param after the last learner ID of the previous page
 */
export function browseMembers(
  tx: Tx,
  organisationId: number,
  group: BrowsedGroup,
  visibility: Visibility,
  { after, limit }: { after: string | null; limit: number },
): Promise<GroupMember[]> {
  const values = [organisationId, group.group_id, after, limit, visibility];
  return tx.query<GroupMember>(isSorted(group) ? byName : byId, values);
}

export const isSorted = (group: BrowsedGroup): boolean => group.members <= limits.membersSorted;

/** A learner joined or left the group. `at`: microseconds since 1970. */
export type Passage = {
  learner_id: string;
  ref: string | null;
  full_name: string;
  at: number;
  kind: 'joined' | 'left';
  actor: string | null;
};

const side = (kind: 'joined' | 'left') => `
  (select m.learner_id, m.${kind}_position as at, '${kind}' as kind, m.${kind}_by as actor from membership m
    where m.organisation_id = $1 and m.group_id = $2 and m.${kind}_position <= $3 and ${isVisibleLearner('m.learner_id', '$5')}
    order by m.${kind}_position desc, m.learner_id limit $4::int8 + $6::int8)`;
// All changes of a unit of work have the same time. A page therefore starts at the last time of the previous page, and
// skips the rows that the previous page has shown.
const history = statement('group.history')`
  select p.learner_id, l.ref, l.full_name, p.at, p.kind, p.actor
    from (${side('joined')} union all ${side('left')}) p
    join learner l on l.organisation_id = $1 and l.learner_id = p.learner_id
   order by p.at desc, p.kind, p.learner_id limit $4 offset $6`;

export function browseHistory(
  tx: Tx,
  organisationId: number,
  groupId: string,
  visibility: Visibility,
  { from, skip, limit }: { from: number; skip: number; limit: number },
): Promise<Passage[]> {
  return tx.query<Passage>(history, [organisationId, groupId, from, limit, visibility, skip]);
}

const ids = statement('group.member_ids')`
  select learner_id from membership
   where organisation_id = $1 and group_id = $2 and left_position is null order by learner_id limit $3`;

export async function memberIds(tx: Tx, organisationId: number, groupId: string, limit: number): Promise<string[]> {
  const rows = await tx.query<{ learner_id: string }>(ids, [organisationId, groupId, limit]);
  return rows.map((row) => row.learner_id);
}

const seen = statement('group.seen')`
  select g.group_id from learner_group g where g.organisation_id = $1 and ${isVisibleGroup('g.group_id', '$2')}`;

/** The IDs of the groups that a person may see; null means all groups. */
export async function groupsSeen(tx: Tx, organisationId: number, visibility: Visibility): Promise<string[] | null> {
  if (visibility === null) return null;
  return (await tx.query<{ group_id: string }>(seen, [organisationId, visibility])).map((row) => row.group_id);
}

/** How many learners and results get a new feed position if a change is made. */
export type Impact = { learners: number; results: number };

// The digest counts results by group set (src/feed/digest.ts), so this statement reads few rows.
const ofMembers = statement('group.reach_of_members')`
  select (select count(*)::int4 from (
            select from membership where organisation_id = $1 and group_id = $2 and left_position is null limit ${limits.membersCountedOfOne + 1}) m) as learners,
         (select coalesce(sum(n), 0)::int8 from digest_cell
           where organisation_id = $1 and group_set_id in (
             select group_set_id from group_set_group where organisation_id = $1 and group_id = $2)) as results`;
const ofLearners = statement('group.reach_of_learners')`
  select cardinality($2::uuid[]) as learners,
         (select count(*)::int4 from (
            select from unnest($2::uuid[]) as l(learner_id)
              join assessment_feed f on f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted
             limit ${limits.reachCounted + 1}) r) as results`;

export async function impactOfGroup(tx: Tx, organisationId: number, groupId: string): Promise<Impact> {
  return (await tx.query<Impact>(ofMembers, [organisationId, groupId]))[0]!;
}

/** Counts results up to `limits.reachCounted`. */
export async function impactOfLearners(tx: Tx, organisationId: number, learnerIds: readonly string[]): Promise<Impact> {
  return (await tx.query<Impact>(ofLearners, [organisationId, learnerIds]))[0]!;
}
