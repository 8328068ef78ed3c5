import type { App } from '../../platform/app.ts';
import { redactReviews, findLearnerAssessments } from '../../records/results/results.ts';
import { eachInTurn, feedQueue, type UnitOfWork, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { type Feed, lockFeed } from '../../feed/position.ts';
import { holdOn } from '../legal-holds/holds.ts';
import { leaveEveryGroup } from '../../organisations/groups/members.ts';
import { findOpenInvitations, withdrawInvitations } from '../../sittings/invitations/invitations.ts';
import { limits } from '../../platform/config/limits.ts';
import {
  redactLearners,
  findDueRemovalChecks,
  findLearnersByIds,
  scheduleRemovalCheck,
  cancelRemovalCheck,
} from '../../records/learners/learners.ts';
import { redactSittingOfResult, redactSittingsOfLearners, hasOpenSitting } from '../../sittings/sittings.ts';

/**
 * Turns learners into tombstones: deletes names, references, email addresses and answers, and ends memberships and
 * invitations. The caller has deleted or moved the results, and closed the sittings.
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
 * Call this function after a result is withdrawn. It deletes the contents of the result's sitting. If the learner has
 * no reference and no other result, it also forgets the learner.
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
 * A learner without a reference is known only by the results, so the learner is forgotten after the last result. If an
 * open invitation, an open sitting or a legal hold remains, the learner is checked again later.
 * @returns whether the learner is a tombstone now
 */
async function forgetUnlessAnythingIsLeft(work: UnitOfWork, feed: Feed, learnerId: string): Promise<boolean> {
  const { tx } = work;
  const { organisationId } = feed;
  const [learner] = await findLearnersByIds(tx, organisationId, [learnerId]);
  const nameless =
    learner !== undefined &&
    learner.full_name !== '' &&
    learner.ref === null &&
    (await findLearnerAssessments(tx, organisationId, learnerId)).length === 0;
  if (!nameless) {
    await cancelRemovalCheck(tx, organisationId, learnerId);
    return false;
  }
  const held = (await holdOn(tx, organisationId, learnerId, new Date(work.nowMs))) !== undefined;
  const awaited =
    held ||
    (await findOpenInvitations(tx, organisationId, [learnerId], new Date(work.nowMs))).length > 0 ||
    (await hasOpenSitting(tx, organisationId, learnerId));
  if (awaited) await scheduleRemovalCheck(tx, organisationId, learnerId, new Date(work.nowMs + limits.forgetLookMs));
  else await forgetLearners(work, feed, [learnerId]);
  return !awaited;
}

/** @returns how many learners have become tombstones */
export async function forgetLeavingLearners(app: App): Promise<number> {
  let forgotten = 0;
  const due = await findDueRemovalChecks(app.db, new Date(app.clock.nowMs()));
  await eachInTurn(app, due, 'learner.leaving_failed', async ({ organisation_id, learner_id }) => {
    const gone = await withUnitOfWork(app, feedQueue(organisation_id), async (work) => {
      const feed = await lockFeed(work, organisation_id);
      return !feed.suspended && forgetUnlessAnythingIsLeft(work, feed, learner_id);
    });
    if (gone) forgotten++;
  });
  return forgotten;
}
