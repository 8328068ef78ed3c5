import { uuidArray } from '../../platform/db/arrays.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { emitGroupsUpdated } from '../../feed/events/emit.ts';
import type { Feed } from '../../feed/position.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampRegrouped } from '../../feed/stamp.ts';
import { idsOf } from '../learner-ref.ts';
import { recomputeSets } from '../../feed/group-sets.ts';
import { forgetExits } from '../../feed/scope-exits.ts';
import type { Reached } from './store.ts';
import { findGroup, findLivingLearners, findReached } from './store.ts';
import { teamType } from './types.ts';

type Pair = { group_id: string; learner_id: string };

const entering = `
  insert into membership (organisation_id, group_id, learner_id, joined_position, joined_by)
  select $1, group_id, learner_id, $4, $5 from unnest($2::uuid[], $3::uuid[]) as p(group_id, learner_id)`;
const join = statement(
  'membership.join',
  `
  ${entering}
  on conflict (organisation_id, learner_id, group_id) where left_position is null do nothing
  returning group_id, learner_id`,
);
// Whoever is new is no member yet: `on conflict` would look each up, and write twice to the log.
const joinNew = statement('membership.join_new', entering);
const leave = statement(
  'membership.leave',
  `
  update membership set left_position = $4, left_by = $5
   where organisation_id = $1 and group_id = $2 and learner_id = any($3::uuid[]) and left_position is null
  returning group_id, learner_id`,
);

const leaveAll = statement(
  'membership.leave_all',
  `
  update membership set left_position = $3
   where organisation_id = $1 and learner_id = any($2::uuid[]) and left_position is null
  returning learner_id`,
);

const groupsOf = statement(
  'membership.groups_of',
  'select group_id from membership where organisation_id = $1 and learner_id = $2 and left_position is null order by group_id',
);

/**
 * Makes a learner, who has got another one's results, a member of that one's groups too, teams and archived ones included:
 * so no result leaves a group. Group sets follow, positions don't.
 * @returns the groups that the learner joined by it
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
  // Results that came from groups which their learner had left are in scope again where this learner is a member.
  await forgetExits(work.tx, organisationId, pairs(await ids(to)));
  return joined.map((pair) => pair.group_id);
}

/** Ends all memberships of these learners without a live result, teams too. Group sets follow, positions don't. */
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

/** Membership rows alone: all that follows from them is the caller's. @returns the pairs that weren't members */
function enter(work: UnitOfWork, feed: Feed, pairs: Pair[], by: string | null): Promise<Pair[]> {
  return work.tx.query<Pair>(join, entry(feed, pairs, by));
}

/**
 * Makes learners active members; the pairs that were already are left out of the answer. Group sets follow, positions
 * don't.
 * @param by whose act it is, for the group's history
 * @param made learners who were made in this unit of work, and are in no group yet; each of their pairs stands there once
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

const left = statement(
  'membership.left',
  `
  select p.group_id, p.learner_id from unnest($2::uuid[], $3::uuid[]) as p(group_id, learner_id)
   where exists (select from membership m where m.organisation_id = $1 and m.group_id = p.group_id
                    and m.left_position is not null and m.learner_id in (${idsOf('p.learner_id')}))`,
);

/**
 * Those of the pairs whose learner was a member of the group once, and left it or was taken out of it, also as somebody who was
 * merged into them.
 */
export async function pairsThatLeft(tx: Tx, organisationId: number, pairs: Pair[]): Promise<Pair[]> {
  if (pairs.length === 0) return [];
  return tx.query<Pair>(left, [
    organisationId,
    uuidArray(pairs.map((pair) => pair.group_id)),
    uuidArray(pairs.map((pair) => pair.learner_id)),
  ]);
}

/** Teams change their groups through `organisations/teams.ts` only. `by`: whose act it is, for the group's history. */
type Options = { managingTeams?: boolean; by?: string | null };

/** Takes the feed's lock, and sees that the group may be changed. */
async function begin(work: UnitOfWork, organisationId: number, groupId: string, options: Options): Promise<Feed> {
  const feed = await lockFeed(work, organisationId);
  const group = await findGroup(work.tx, organisationId, groupId);
  if (group === undefined) throw new ApiError('not_found');
  if (group.type === teamType && options.managingTeams !== true) throw new ApiError('team_group_managed');
  return feed;
}

/**
 * POST /groups/{id}/members. Everything is counted by references, in the order of the request.
 * @throws ApiError not_found, team_group_managed
 */
export async function addMembers(
  work: UnitOfWork,
  organisationId: number,
  groupId: string,
  refs: string[],
  options: Options = {},
) {
  const feed = await begin(work, organisationId, groupId, options);
  const learners = await findReached(work.tx, organisationId, refs);
  const joined = await change(work, feed, eachOnce(learners), { joins: groupId, leaves: null }, options);
  return {
    added: refs.filter((ref) => joined.has(learners.get(ref)?.learner_id ?? '')),
    already_members: refs.filter((ref) => learners.has(ref) && !joined.has(learners.get(ref)!.learner_id)),
    not_found: refs.filter((ref) => !learners.has(ref)),
  };
}

/**
 * POST /groups/{id}/members/remove: soft; the history is what scope exits are read from.
 * @throws ApiError not_found, team_group_managed
 */
export async function removeMembers(
  work: UnitOfWork,
  organisationId: number,
  groupId: string,
  refs: string[],
  options: Options = {},
) {
  const feed = await begin(work, organisationId, groupId, options);
  const learners = await findReached(work.tx, organisationId, refs);
  const left = await change(work, feed, eachOnce(learners), { joins: null, leaves: groupId }, options);
  return {
    removed: refs.filter((ref) => left.has(learners.get(ref)?.learner_id ?? '')),
    not_members: refs.filter((ref) => !left.has(learners.get(ref)?.learner_id ?? '')),
  };
}

/** The group that learners join, the one that they leave, or both: then whoever isn't in the one doesn't come into the other. */
export type Moving = { joins: string | null; leaves: string | null };

/**
 * Learners by id, and so those without a reference too. Who has been erased meanwhile is passed over; for whoever has been
 * merged, the one who stays is moved.
 * @returns how many have changed
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

/** A learner's id, and the reference by which clients are told. */
type Known = { learner_id: string; ref: string | null };

/** Each learner once, whichever references name them, with the reference of now. */
const eachOnce = (learners: Map<string, Reached>): Known[] => [
  ...new Map([...learners.values()].map((one) => [one.learner_id, one])).values(),
];

/** One change of memberships, one cascade, and one event for each learner. @returns the ids of those who have changed */
async function change(
  work: UnitOfWork,
  feed: Feed,
  learners: Known[],
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
  // Nothing waits for the reply before it: the database begins with the rows while the events are written here.
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
