import { uuidArray } from '../../platform/db/arrays.ts';
import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { emitGroupsUpdated } from '../../feed/events/emit.ts';
import { type Feed, lockFeed } from '../../feed/position.ts';
import { stampRegrouped } from '../../feed/stamp.ts';
import { idsOf } from '../learner-ref.ts';
import { recomputeSets } from '../../feed/group-sets.ts';
import { forgetExits } from '../../feed/scope-exits.ts';
import { findGroup, findLivingLearners, findReached } from './store.ts';
import { teamType } from './types.ts';

type Pair = { group_id: string; learner_id: string };

const entering = `
  insert into membership (organisation_id, group_id, learner_id, joined_position, joined_by)
  select $1, group_id, learner_id, $4, $5 from unnest($2::uuid[], $3::uuid[]) as p(group_id, learner_id)`;
const join = statement('membership.join')`
  ${entering}
  on conflict (organisation_id, learner_id, group_id) where left_position is null do nothing
  returning group_id, learner_id`;
// New learners are in no group yet, so conflicts can't occur. `on conflict` would look each row up and write twice to
// the WAL.
const joinNew = statement('membership.join_new')`${entering}`;
const leave = statement('membership.leave')`
  update membership set left_position = $4, left_by = $5
   where organisation_id = $1 and group_id = $2 and learner_id = any($3::uuid[]) and left_position is null
  returning group_id, learner_id`;

const leaveAll = statement('membership.leave_all')`
  update membership set left_position = $3
   where organisation_id = $1 and learner_id = any($2::uuid[]) and left_position is null
  returning learner_id`;

const groupsOf = statement('membership.groups_of')`
  select group_id from membership where organisation_id = $1 and learner_id = $2 and left_position is null order by group_id`;

/**
 * After a merge, adds the learner `to` to all groups of `from`, teams and archived groups included, so that no result
 * leaves a group. Updates group sets, but not positions.
 * @returns the groups that the learner joined
 */
export async function joinGroupsOf(
  work: UnitOfWork,
  feed: Feed,
  { from, to, by }: { from: string; to: string; by: string },
): Promise<string[]> {
  const { organisationId } = feed;
  const ids = async (learnerId: string) =>
    (await work.tx.query<{ group_id: string }>(groupsOf, [organisationId, learnerId])).map((row) => row.group_id);
  const pairs = (groupIds: string[]) => groupIds.map((group_id) => ({ group_id, learner_id: to }));
  const joined = await joinGroups(work, feed, pairs(await ids(from)), by);
  // When the learner `from` left a group, the learner's results got scope exits. If `to` is a member of this group,
  // the results are in scope again, so their scope exits are deleted.
  await forgetExits(work.tx, organisationId, pairs(await ids(to)));
  return joined.map((pair) => pair.group_id);
}

/** Ends all memberships, teams included, of learners who have no live result. Updates group sets, but not positions. */
export async function leaveEveryGroup(work: UnitOfWork, feed: Feed, learnerIds: string[]): Promise<void> {
  const left = await work.tx.query<{ learner_id: string }>(leaveAll, [feed.organisationId, learnerIds, feed.next()]);
  if (left.length > 0)
    await recomputeSets(work.tx, feed.organisationId, [...new Set(left.map((row) => row.learner_id))]);
}

const entry = (feed: Feed, pairs: Pair[], by: string | null): unknown[] => [
  feed.organisationId,
  uuidArray(pairs.map((p) => p.group_id)),
  uuidArray(pairs.map((p) => p.learner_id)),
  feed.next(),
  by,
];

/** Writes only the membership rows; the caller updates group sets and positions. @returns the new pairs */
function enter(work: UnitOfWork, feed: Feed, pairs: Pair[], by: string | null): Promise<Pair[]> {
  return work.tx.query<Pair>(join, entry(feed, pairs, by));
}

/**
 * Adds learners to groups. Updates group sets, but not positions.
 * @param by the actor in the group's history
 * @param made learners that this unit of work has created; their pairs must not repeat
 * @returns the new pairs
 */
export async function joinGroups(
  work: UnitOfWork,
  feed: Feed,
  pairs: Pair[],
  by: string | null,
  made: ReadonlySet<string> = new Set(),
): Promise<Pair[]> {
  const firsts = pairs.filter((pair) => made.has(pair.learner_id));
  const others = pairs.filter((pair) => !made.has(pair.learner_id));
  if (firsts.length > 0) await work.tx.query(joinNew, entry(feed, firsts, by));
  const returned = others.length === 0 ? [] : await enter(work, feed, others, by);
  if (returned.length > 0) await forgetExits(work.tx, feed.organisationId, returned);
  const joined = [...firsts, ...returned];
  if (joined.length > 0)
    await recomputeSets(work.tx, feed.organisationId, [...new Set(joined.map((p) => p.learner_id))]);
  return joined;
}

const left = statement('membership.left')`
  select p.group_id, p.learner_id from unnest($2::uuid[], $3::uuid[]) as p(group_id, learner_id)
   where exists (select from membership m where m.organisation_id = $1 and m.group_id = p.group_id
                    and m.left_position is not null and m.learner_id in (${idsOf('p.learner_id')}))`;

/** Returns the pairs whose group was left by the learner, or by a learner who was merged into that learner. */
export async function pairsThatLeft(tx: Tx, organisationId: number, pairs: Pair[]): Promise<Pair[]> {
  if (pairs.length === 0) return [];
  return tx.query<Pair>(left, [
    organisationId,
    uuidArray(pairs.map((pair) => pair.group_id)),
    uuidArray(pairs.map((pair) => pair.learner_id)),
  ]);
}

/**
 * `managingTeams`: the group may be a team; only pages and commands for teams set this. `by`: the actor in the group's
 * history.
 */
type Options = { managingTeams?: boolean; by?: string | null };

/** Takes the feed's lock, and checks that the group may be changed. */
async function begin(work: UnitOfWork, organisationId: number, groupId: string, options: Options): Promise<Feed> {
  const feed = await lockFeed(work, organisationId);
  const group = await findGroup(work.tx, organisationId, groupId);
  if (group === undefined) throw new ApiError('not_found');
  if (group.type === teamType && options.managingTeams !== true) throw new ApiError('team_group_managed');
  return feed;
}

/**
 * Adds or removes learners by reference, for POST /groups/{id}/members and /groups/{id}/members/remove.
 * @throws ApiError not_found, team_group_managed
 */
async function changeByRefs(
  how: keyof Moving,
  work: UnitOfWork,
  organisationId: number,
  groupId: string,
  refs: string[],
  options: Options = {},
) {
  const feed = await begin(work, organisationId, groupId, options);
  const learners = await findReached(work.tx, organisationId, refs);
  const once = new Map([...learners.values()].map((one) => [one.learner_id, one]));
  const moving = { joins: null, leaves: null, [how]: groupId };
  const changed = await change(work, feed, [...once.values()], moving, options);
  const isChanged = (ref: string) => changed.has(learners.get(ref)?.learner_id ?? '');
  return { changed: refs.filter(isChanged), others: refs.filter((ref) => !isChanged(ref)), learners };
}

type ByRefs = [work: UnitOfWork, organisationId: number, groupId: string, refs: string[], options?: Options];

export async function addMembers(...args: ByRefs) {
  const { changed, others, learners } = await changeByRefs('joins', ...args);
  return {
    added: changed,
    already_members: others.filter((ref) => learners.has(ref)),
    not_found: others.filter((ref) => !learners.has(ref)),
  };
}

/** Ends memberships but keeps their rows, because scope exits are read from these rows. */
export async function removeMembers(...args: ByRefs) {
  const { changed, others } = await changeByRefs('leaves', ...args);
  return { removed: changed, not_members: others };
}

/**
 * The group that learners join, and the group that they leave. If both are set, only members of `leaves` join `joins`.
 */
export type Moving = { joins: string | null; leaves: string | null };

/**
 * Moves learners by ID, because some learners have no reference. Skips erased learners. The ID of a merged learner
 * moves the learner that remains.
 * @returns how many learners changed
 * @throws ApiError not_found, team_group_managed
 */
export async function moveMembers(
  work: UnitOfWork,
  organisationId: number,
  learnerIds: string[],
  moving: Moving,
  options: Options = {},
): Promise<number> {
  const feed = await lockFeed(work, organisationId);
  for (const groupId of [moving.joins, moving.leaves])
    if (groupId !== null) await begin(work, organisationId, groupId, options);
  const learners = await findLivingLearners(work.tx, organisationId, learnerIds);
  return (await change(work, feed, learners, moving, options)).size;
}

/**
 * Changes memberships, gives the learners and their results new positions, and writes one event for each learner.
 * @returns the IDs of learners that changed
 */
async function change(
  work: UnitOfWork,
  feed: Feed,
  learners: { learner_id: string; ref: string | null }[],
  { joins, leaves }: Moving,
  { by = null }: Options,
): Promise<Set<string>> {
  const { organisationId } = feed;
  let moved = learners.map((one) => one.learner_id);
  const pairsWith = (group_id: string) => moved.map((learner_id) => ({ group_id, learner_id }));
  if (leaves !== null) {
    const left = await work.tx.query<Pair>(leave, [organisationId, leaves, uuidArray(moved), feed.next(), by]);
    moved = left.map((pair) => pair.learner_id);
  }
  const joined = new Set<string>();
  if (joins !== null) {
    for (const pair of await enter(work, feed, pairsWith(joins), by)) joined.add(pair.learner_id);
    if (leaves === null) moved = [...joined];
  }
  if (moved.length === 0) return new Set();
  const changed = new Set(moved);
  const removed = leaves === null ? [] : [leaves];
  // The statements are sent together, so that the database changes rows while this process builds the events.
  await Promise.all([
    forgetExits(work.tx, organisationId, [joins, leaves].filter((one) => one !== null).flatMap(pairsWith)),
    stampRegrouped(work, feed, moved, leaves),
    emitGroupsUpdated(
      work,
      organisationId,
      learners.flatMap(({ learner_id, ref }) =>
        ref === null || !changed.has(learner_id)
          ? []
          : [{ learner_ref: ref, added: joined.has(learner_id) ? [joins!] : [], removed }],
      ),
    ),
  ]);
  return changed;
}
