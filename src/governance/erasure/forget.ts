import type { App } from '../../platform/app.ts';
import { redactReviews, findLearnerAssessments } from '../../records/results/results.ts';
import { eachInTurn, feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Feed } from '../../feed/position.ts';
import { lockFeed } from '../../feed/position.ts';
import { holdOn } from '../legal-holds/holds.ts';
import { leaveEveryGroup } from '../../organisations/groups/members.ts';
import { findOpenInvitation, withdrawInvitations } from '../../sittings/invitations/invitations.ts';
import { limits } from '../../platform/config/limits.ts';
import {
  redactLearners,
  findLeaving,
  findLearnersByIds,
  lookAgainAt,
  stopLooking,
} from '../../records/learners/learners.ts';
import { redactSittingOfResult, redactSittingsOfLearners, hasOpenSitting } from '../../sittings/sittings.ts';

/**
 * Turns learners into tombstones in the feed of learners, for good: name, reference and address are gone, memberships
 * and invitations end, and so does what they typed in sittings. Their results are deleted or another learner's by now,
 * and no sitting of theirs is open.
 */
export async function forgetLearners(work: UnitOfWork, feed: Feed, learnerIds: string[]): Promise<void> {
  if (learnerIds.length === 0) return;
  await leaveEveryGroup(work, feed, learnerIds);
  await withdrawInvitations(work.tx, feed.organisationId, learnerIds);
  await redactSittingsOfLearners(work.tx, feed.organisationId, learnerIds);
  await redactReviews(work.tx, feed.organisationId, learnerIds);
  await redactLearners(work, feed, learnerIds);
}

/**
 * To be called when a result was withdrawn: what its sitting kept of it goes, and the learner where nothing is left.
 * @returns whether the learner is a tombstone now
 */
export async function settleWithdrawal(
  work: UnitOfWork,
  feed: Feed,
  result: { assessment_id: string; learner_id: string },
): Promise<boolean> {
  await redactSittingOfResult(work.tx, feed.organisationId, result.assessment_id);
  return forgetUnlessAnythingIsLeft(work, feed, result.learner_id);
}

/**
 * A learner without a reference is known by results only: with
 * the last of them the name goes too, unless there may be another one, from an open invitation or sitting. Then it is
 * looked at again until there is one, or there can't be any.
 * @returns whether the learner is a tombstone now
 */
async function forgetUnlessAnythingIsLeft(work: UnitOfWork, feed: Feed, learnerId: string): Promise<boolean> {
  const { tx } = work;
  const { organisationId } = feed;
  const [learner] = await findLearnersByIds(tx, organisationId, [learnerId]);
  // A tombstone has no name: whoever forgot the learner meanwhile has stamped it.
  const nameless =
    learner !== undefined &&
    learner.full_name !== '' &&
    learner.ref === null &&
    (await findLearnerAssessments(tx, organisationId, learnerId)).length === 0;
  if (!nameless) {
    await stopLooking(tx, organisationId, learnerId);
    return false;
  }
  const held = (await holdOn(tx, organisationId, learnerId, new Date(work.nowMs))) !== undefined;
  const awaited =
    held ||
    (await findOpenInvitation(work, organisationId, learnerId)) !== undefined ||
    (await hasOpenSitting(tx, organisationId, learnerId));
  if (awaited) await lookAgainAt(tx, organisationId, learnerId, new Date(work.nowMs + limits.leavingLookMs));
  else await forgetLearners(work, feed, [learnerId]);
  return !awaited;
}

/** Looks at some of the learners that are due. @returns how many have become tombstones */
export async function forgetLeavingLearners(app: App): Promise<number> {
  let forgotten = 0;
  const due = await findLeaving(app.db, new Date(app.clock.nowMs()));
  await eachInTurn(app, due, 'learner.leaving_failed', async ({ organisation_id, learner_id }) => {
    const gone = await withUnitOfWork(app, feedQueue(organisation_id), async (work) => {
      const feed = await lockFeed(work, organisation_id);
      return !feed.suspended && forgetUnlessAnythingIsLeft(work, feed, learner_id);
    });
    if (gone) forgotten++;
  });
  return forgotten;
}
