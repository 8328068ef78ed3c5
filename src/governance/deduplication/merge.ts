import { transferResults, transferReviews, replaceLearnerJson } from '../../records/results/results.ts';
import { learnerJson } from '../../records/results/body.ts';
import { moveRequests } from '../subject-requests/subject-requests.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { emitGroupsUpdated } from '../../feed/events/emit.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearnersAndAssessments } from '../../feed/stamp.ts';
import { joinGroupsOf } from '../../organisations/groups/members.ts';
import { holdOn, moveHolds } from '../legal-holds/holds.ts';
import { lockInvitationsOf, reassignInvitations } from '../../sittings/invitations/invitations.ts';
import { cancelEmailsTo } from '../../sittings/invitations/email-templates.ts';
import {
  absorbLearner,
  findLearnerContacts,
  keepAlias,
  transferAliases,
  recordChange,
} from '../../records/learners/learners.ts';
import { moveAccessLog } from '../access-log/access-log.ts';
import { isNameOf } from '../../platform/validation/personal-data.ts';
import { lockOpenSittings, reassignSittings } from '../../sittings/sittings.ts';
import { forgetLearners } from '../erasure/forget.ts';
import { moveDistinct } from './matching.ts';

/** The message is shown to the person who asked for the merge. */
export class MergeRefused extends Error {}

/** `from` becomes a tombstone; `into` is the survivor. */
export type Pair = { from: string; into: string };

export type Merged = {
  learner_id: string;
  merged_id: string;
  ref: string | null;
  results: number;
  invitations: number;
  sittings: number;
  groups: number;
};

export const sameLearner = 'the two IDs belong to one learner';

export const refIsName = 'the kept reference would equal the kept name; change one of the two first';

/**
 * @returns why a legal hold forbids the merge, or undefined. A merge deletes the name and the email address of `from`.
 */
export async function heldWords(tx: Tx, organisationId: number, from: string, now: Date): Promise<string | undefined> {
  const hold = await holdOn(tx, organisationId, from, now);
  if (hold === undefined) return undefined;
  return hold.of_all
    ? 'the organisation is under a legal hold; wait until it ends or is released'
    : 'the learner who would be merged is under a legal hold; keep that learner instead, or wait until the hold ends or is released';
}

/** The reason to refuse a merge if both learners have open sittings in these subjects. */
export function bothSit(subjects: readonly string[]): string {
  return `both have a sitting in progress in ${subjects.join(' and ')}; wait until one of the two is finished, or has had no answer for 48 hours`;
}

/**
 * Merges `from` into `into`, because both are the same person (docs/decisions/0015). The survivor gets the results,
 * evidence, invitations, sittings, groups and references. The other learner becomes a tombstone.
 * Every transaction that changes invitations and sittings locks the invitations first, so that two transactions cannot
 * deadlock.
 * @throws ApiError not_found
 * @throws MergeRefused
 */
export async function mergeLearners(
  work: UnitOfWork,
  organisationId: number,
  { from, into }: Pair,
  why: { actor: string; reason: string | null },
): Promise<Merged> {
  const feed = await lockFeed(work, organisationId);
  const { tx } = work;
  if (from === into) throw new MergeRefused(sameLearner);
  const learners = await findLearnerContacts(tx, organisationId, [from, into]);
  const lost = learners.find((one) => one.learner_id === from && one.full_name !== '');
  const survivor = learners.find((one) => one.learner_id === into && one.full_name !== '');
  if (lost === undefined || survivor === undefined) throw new ApiError('not_found');
  const ref = survivor.ref ?? lost.ref;
  if (ref !== null && isNameOf(ref, survivor.full_name)) throw new MergeRefused(refIsName);
  const held = await heldWords(tx, organisationId, from, new Date(work.nowMs));
  if (held !== undefined) throw new MergeRefused(held);
  await lockInvitationsOf(tx, organisationId, [from, into]);
  const open = await lockOpenSittings(tx, organisationId, [from, into]);
  const both = open.filter(
    (one) => one.learner_id === from && open.some((two) => two.learner_id === into && two.subject === one.subject),
  );
  if (both.length > 0) throw new MergeRefused(bothSit(both.map((one) => one.subject)));

  await cancelEmailsTo(work, organisationId, [{ learner_id: from, email: survivor.email ?? lost.email }]);
  const invitations = await reassignInvitations(tx, organisationId, from, into);
  const sittings = await reassignSittings(tx, organisationId, from, into);
  const results = await transferResults(work, feed, from, into);
  await transferReviews(tx, organisationId, from, into);
  await moveDistinct(tx, organisationId, from, into);
  await moveHolds(tx, organisationId, from, into);
  await moveRequests(tx, organisationId, from, into);
  await moveAccessLog(tx, organisationId, from, into);
  const joined = await joinGroupsOf(work, feed, { from, to: into, by: why.actor });
  await transferAliases(tx, organisationId, from, into);
  await forgetLearners(work, feed, [from]);
  if (lost.ref !== null && survivor.ref !== null) await keepAlias(work, organisationId, into, lost.ref);
  await absorbLearner(work, organisationId, { from: lost, to: survivor });
  await replaceLearnerJson(tx, organisationId, into, learnerJson(ref, survivor.full_name));
  await stampLearnersAndAssessments(work, feed, [into]);
  if (ref !== null && joined.length > 0)
    await emitGroupsUpdated(work, organisationId, [{ learner_ref: ref, added: joined, removed: [] }]);
  for (const id of [from, into]) await recordChange(work, organisationId, id, 'merged', why);
  return { learner_id: into, merged_id: from, ref, results, invitations, sittings, groups: joined.length };
}
