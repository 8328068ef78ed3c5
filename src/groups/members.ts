import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { ApiError } from '../errors.ts';
import { emitGroupsUpdated } from '../events/emit.ts';
import type { Feed } from '../feed/position.ts';
import { lockFeed } from '../feed/position.ts';
import { stampLearnersAndAssessments } from '../feed/stamp.ts';
import { recomputeSets } from '../feed/group-sets.ts';
import { forgetExits, storeExits } from '../feed/scope-exits.ts';
import type { Reached } from './store.ts';
import { findGroup, findReached } from './store.ts';
import { teamType } from './types.ts';

type Pair = { group_id: string; learner_id: string };

const join = statement(
  'membership.join',
  `
  insert into membership (organisation_id, group_id, learner_id, joined_position)
  select $1, group_id, learner_id, $4 from unnest($2::uuid[], $3::uuid[]) as p(group_id, learner_id)
  on conflict (organisation_id, learner_id, group_id) where left_position is null do nothing
  returning group_id, learner_id`,
);
const leave = statement(
  'membership.leave',
  `
  update membership set left_position = $4, exits_stored = true
   where organisation_id = $1 and group_id = $2 and learner_id = any($3::uuid[]) and left_position is null
  returning group_id, learner_id`,
);

const leaveAll = statement(
  'membership.leave_all',
  `
  update membership set left_position = $3, exits_stored = true
   where organisation_id = $1 and learner_id = any($2::uuid[]) and left_position is null
  returning learner_id`,
);

/** Ends all memberships of these learners without a live result, teams too. Group sets follow, positions don't. */
export async function leaveEveryGroup(work: Work, feed: Feed, learnerIds: string[]): Promise<void> {
  const left = await work.tx.query<{ learner_id: string }>(leaveAll, [feed.organisationId, learnerIds, feed.next()]);
  if (left.length > 0)
    await recomputeSets(work.tx, feed.organisationId, [...new Set(left.map((row) => row.learner_id))]);
}

/**
 * Makes learners active members; the pairs that were already are left out of the answer. Group sets follow, positions
 * don't.
 */
export async function joinGroups(work: Work, feed: Feed, pairs: Pair[]): Promise<Pair[]> {
  if (pairs.length === 0) return [];
  const joined = await work.tx.query<Pair>(join, [
    feed.organisationId,
    pairs.map((p) => p.group_id),
    pairs.map((p) => p.learner_id),
    feed.next(),
  ]);
  if (joined.length > 0) {
    await recomputeSets(work.tx, feed.organisationId, [...new Set(joined.map((p) => p.learner_id))]);
    await forgetExits(work.tx, feed.organisationId, joined);
  }
  return joined;
}

/** Teams change their groups through `organisations/teams.ts` only. */
type Options = { managingTeams: boolean };
const notManagingTeams: Options = { managingTeams: false };

/** Each learner once, whichever references name them. */
const idsOf = (learners: Map<string, Reached>): string[] => [
  ...new Set([...learners.values()].map((one) => one.learner_id)),
];

/** Takes the feed's lock and finds who is meant. */
async function begin(work: Work, organisationId: number, groupId: string, refs: string[], options: Options) {
  const feed = await lockFeed(work, organisationId);
  const group = await findGroup(work.tx, organisationId, groupId);
  if (group === undefined) throw new ApiError('not_found');
  if (group.type === teamType && !options.managingTeams) throw new ApiError('team_group_managed');
  return { feed, learners: await findReached(work.tx, organisationId, refs) };
}

/**
 * POST /groups/{id}/members. Everything is counted by references, in the order of the request.
 * @throws ApiError not_found, team_group_managed
 */
export async function addMembers(
  work: Work,
  organisationId: number,
  groupId: string,
  refs: string[],
  options = notManagingTeams,
) {
  const { feed, learners } = await begin(work, organisationId, groupId, refs, options);
  const known = refs.filter((ref) => learners.has(ref));
  const pairs = idsOf(learners).map((learner_id) => ({ group_id: groupId, learner_id }));
  const joined = new Set((await joinGroups(work, feed, pairs)).map((pair) => pair.learner_id));
  await stampAndTell(work, feed, groupId, joined, learners, 'added');
  return {
    added: known.filter((ref) => joined.has(learners.get(ref)!.learner_id)),
    already_members: known.filter((ref) => !joined.has(learners.get(ref)!.learner_id)),
    not_found: refs.filter((ref) => !learners.has(ref)),
  };
}

/**
 * POST /groups/{id}/members/remove: soft; the history is what scope exits are read from.
 * @throws ApiError not_found, team_group_managed
 */
export async function removeMembers(
  work: Work,
  organisationId: number,
  groupId: string,
  refs: string[],
  options = notManagingTeams,
) {
  const { feed, learners } = await begin(work, organisationId, groupId, refs, options);
  const pairs = await work.tx.query<Pair>(leave, [organisationId, groupId, idsOf(learners), feed.next()]);
  const left = new Set(pairs.map((pair) => pair.learner_id));
  if (left.size > 0) await recomputeSets(work.tx, organisationId, [...left]);
  await stampAndTell(work, feed, groupId, left, learners, 'removed');
  if (left.size > 0) await storeExits(work.tx, organisationId, groupId, [...left]);
  return {
    removed: refs.filter((ref) => left.has(learners.get(ref)?.learner_id ?? '')),
    not_members: refs.filter((ref) => !left.has(learners.get(ref)?.learner_id ?? '')),
  };
}

async function stampAndTell(
  work: Work,
  feed: Feed,
  groupId: string,
  changed: Set<string>,
  learners: Map<string, Reached>,
  how: 'added' | 'removed',
) {
  if (changed.size === 0) return;
  await stampLearnersAndAssessments(work, feed, [...changed]);
  // One event for each learner, under the reference of now, whichever of theirs the request has.
  const refs = new Set([...learners.values()].filter((one) => changed.has(one.learner_id)).map((one) => one.ref));
  await emitGroupsUpdated(
    work,
    feed.organisationId,
    [...refs].map((ref) => ({
      learner_ref: ref,
      added: how === 'added' ? [groupId] : [],
      removed: how === 'removed' ? [groupId] : [],
    })),
  );
}
