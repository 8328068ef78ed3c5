import { removeContent } from '../../records/results/amend.ts';
import { findLearnerAssessments, forgetReasons } from '../../records/results/results.ts';
import { forgetRequests } from '../subject-requests/subject-requests.ts';
import { lockErasures } from '../../platform/db/locks.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { cancelEvents } from '../../feed/events/cancel.ts';
import { redactEditions } from '../../records/evidence/evidence.ts';
import { appendErasures } from '../../organisations/erasures-list.ts';
import { lockFeed } from '../../feed/position.ts';
import { forgetHolds, refuseUnderHold } from '../legal-holds/holds.ts';
import { redactInvitations } from '../../sittings/invitations/invitations.ts';
import { cancelInvitationEmail } from '../../sittings/invitations/email-templates.ts';
import { forgetImportRows } from '../../records/import/run.ts';
import { forgetRunRows } from '../../sittings/invitations/runs/forget-rows.ts';
import { hashOfRef } from '../../organisations/learner-ref.ts';
import {
  findLearnerEmail,
  findLearnersByIds,
  findPerson,
  hashAliases,
  type LearnerName,
  recordErasure,
} from '../../records/learners/learners.ts';
import { forgetCreditReasons, returnCredit } from '../../organisations/credits.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { findBegun, voidSittingsOfLearner } from '../../sittings/sittings.ts';
import { forgetLearners } from './forget.ts';
import { redactStoredResponses } from './stored-responses.ts';

export type Erasure = { learner_id: string; results: number; openSittings: number; creditsReturned: number };

/** Every learner who is not erased has a name. */
export const isErased = (learner: LearnerName): boolean => learner.full_name === '';

/** Replaces all reasons about the learner: a reason is free text and may name the learner. */
const reason = 'Erased';

/**
 * Erases a learner (UK GDPR, article 17): the learner and the results become tombstones, and all personal data is
 * deleted. IDs, times, positions, item IDs and keyed hashes of references stay, so that feeds still show the tombstones
 * (docs/decisions/0011).
 * @param by `restoredAt`: when the service found the restore that brought the learner back; null without a restore
 * @returns null if there is no such learner, or the learner is erased
 * @throws UnderHold
 */
export async function eraseLearner(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
  { actor, restoredAt = null }: { actor: string; restoredAt?: Date | null },
): Promise<Erasure | null> {
  const by = { actor };
  const feed = await lockFeed(work, organisationId);
  const { tx } = work;
  const [learner] = await findLearnersByIds(tx, organisationId, [learnerId]);
  if (learner === undefined || isErased(learner)) return null;
  // A restore may also bring back holds that had ended before the erasure. Therefore holds that are older than the
  // restore do not count.
  await refuseUnderHold(work, organisationId, learnerId, restoredAt);
  // Invitations are locked first, so that no sitting begins afterwards. Open sittings are locked second: a learner
  // either finishes before the lock, so that the result is read below, or cannot finish.
  const invitations = await redactInvitations(tx, organisationId, learnerId);
  const openSittings = await voidSittingsOfLearner(work, organisationId, learnerId);
  const results = await findLearnerAssessments(tx, organisationId, learnerId);
  for (const row of results) {
    await removeContent(work, feed, row, { ...by, reason });
    await redactEditions(work, organisationId, row.assessment_id);
  }
  const assessmentIds = results.map((row) => row.assessment_id);
  const person = await findPerson(tx, organisationId, learner);
  await cancelEvents(work, organisationId, { assessmentIds, learnerRefs: person.refs }, 'erased');
  await forgetReasons(tx, organisationId, learnerId, reason);
  await forgetHolds(tx, organisationId, learnerId);
  await forgetRequests(tx, organisationId, learnerId);
  await forgetCreditReasons(
    tx,
    organisationId,
    invitations.map((one) => one.invitation_id),
  );
  for (const one of invitations) await cancelInvitationEmail(work, one);
  const paid = invitations.filter((one) => one.is_paid).map((one) => one.invitation_id);
  const begun = await findBegun(tx, organisationId, paid);
  const unused = paid.filter((id) => !begun.has(id));
  for (const invitationId of unused) await returnCredit(work, organisationId, { ...by, invitationId });
  const named = { refs: person.refs, fullName: learner.full_name };
  await forgetRunRows(tx, organisationId, { ...named, email: await findLearnerEmail(tx, organisationId, learnerId) });
  await forgetImportRows(tx, organisationId, named);
  await redactStoredResponses(tx, work.secrets, organisationId, person);
  await hashAliases(work, organisationId, person.aliases);
  await recordErasure(work, organisationId, learnerId, {
    ...by,
    refHash: learner.ref === null ? null : hashOfRef(work.secrets, organisationId, learner.ref),
  });
  await forgetLearners(work, feed, [learnerId]);
  await listOutside(work, organisationId, person.ids);
  return { learner_id: learnerId, results: results.length, openSittings, creditsReturned: unused.length };
}

/**
 * Adds the erasure to the list outside the database. The list is written before the commit, so that it contains every
 * committed erasure. If the commit fails, the service erases the learner at its next start.
 * The list also contains learners who were merged into this learner, because a restore may bring them back.
 */
async function listOutside(work: UnitOfWork, organisationId: number, learnerIds: readonly string[]): Promise<void> {
  const path = work.settings.erasuresFile;
  if (path === null) return;
  const { public_id } = await readOrganisation(work.tx, organisationId);
  const erased = learnerIds.map((learner_id) => ({ organisation_id: public_id, learner_id }));
  work.beforeCommit(async () => {
    await lockErasures(work.tx);
    await appendErasures(path, erased);
  });
}
