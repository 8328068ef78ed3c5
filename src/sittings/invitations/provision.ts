import { renameLearner, wouldBeReference } from '../../records/learners/rename.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { emitGroupsUpdated } from '../../feed/events/emit.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearnersAndAssessments } from '../../feed/stamp.ts';
import type { AskedGroup } from '../../organisations/groups/create.ts';
import { ensureGroups } from '../../organisations/groups/create.ts';
import { joinGroups } from '../../organisations/groups/members.ts';
import { groupSetsOf, renderSets } from '../../feed/group-sets.ts';
import { findLearner, insertLearners, updateLearner } from '../../records/learners/learners.ts';
import { spendCredits } from '../../organisations/credits.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { assessmentUrl, createInvitation, findOpenInvitation } from './invitations.ts';
import { cancelLettersTo } from './email-templates.ts';

export type ProvisionRequest = { full_name: string; email: string | null; ref: string | null; groups: AskedGroup[] };

/**
 * POST /learners: the learner, its groups, its invitation and the credit, all or nothing. A learner whom the
 * reference reaches is updated; groups are added, never removed. An invitation that is still open is given again, without a
 * credit.
 * @param actor who invites: the key, or a person's id
 * @throws ApiError invalid_full_name, group_autocreate_disabled, group_limit_exceeded, insufficient_credits
 */
export async function provisionLearner(
  work: UnitOfWork,
  organisationId: number,
  request: ProvisionRequest,
  actor: string,
) {
  const feed = await lockFeed(work, organisationId);
  const organisation = await readOrganisation(work.tx, organisationId);
  const known = request.ref === null ? undefined : await findLearner(work.tx, organisationId, request.ref);
  // By an alias the name may be the reference of now, which must not be a name.
  if (known !== undefined && wouldBeReference(known, request.full_name))
    throw ApiError.field('invalid_full_name', 'full_name must not be the reference that the learner has now.');
  const groups = await ensureGroups(work, feed, request.groups, { autocreate: organisation.group_autocreate });

  const learnerId = known?.learner_id ?? work.uuid();
  const named_at = work.nowMs * 1000;
  if (known !== undefined && request.email !== null)
    await cancelLettersTo(work, organisationId, [{ learner_id: learnerId, email: request.email }]);
  let changed = false;
  if (known === undefined) {
    await insertLearners(work, feed, [
      { learner_id: learnerId, ref: request.ref, full_name: request.full_name, email: request.email, named_at },
    ]);
  } else if (known.full_name !== request.full_name) {
    await renameLearner(work, organisationId, known, request.full_name, { email: request.email, namedAtUs: named_at });
    changed = true;
  } else {
    await updateLearner(work.tx, organisationId, learnerId, request.full_name, {
      email: request.email,
      namedAtUs: named_at,
    });
  }
  const joined = await joinGroups(
    work,
    feed,
    groups.map(({ row }) => ({ group_id: row.group_id, learner_id: learnerId })),
    actor,
  );
  if (known !== undefined && (changed || joined.length > 0)) await stampLearnersAndAssessments(work, feed, [learnerId]);
  if (known !== undefined && known.ref !== null && joined.length > 0) {
    await emitGroupsUpdated(work, organisationId, [
      { learner_ref: known.ref, added: joined.map((pair) => pair.group_id), removed: [] },
    ]);
  }

  let invitation = known === undefined ? undefined : await findOpenInvitation(work, organisationId, learnerId);
  const created = invitation === undefined;
  if (invitation === undefined) {
    const invitationId = work.uuid();
    const spent = await spendCredits(work, organisation, [invitationId], actor);
    if (spent === null) throw new ApiError('insufficient_credits');
    invitation = await createInvitation(work, organisationId, {
      invitationId,
      learnerId,
      subjects: organisation.default_subjects,
      creditSpent: spent,
    });
  }
  const setId = (await groupSetsOf(work.tx, organisationId, [learnerId])).get(learnerId)!;
  const set = (await renderSets(work.tx, organisationId, [setId])).get(setId)!;
  return {
    created,
    reply: {
      learner_id: learnerId,
      ref: known === undefined ? request.ref : known.ref,
      full_name: request.full_name,
      assessment_url: assessmentUrl(work.settings.baseUrl, work.secrets, invitation),
      invitation_id: invitation.invitation_id,
      expires_at: invitation.expires_at.toISOString(),
      groups: JSON.parse(set.json) as unknown[],
      archived_groups: groups
        .filter(({ row }) => !row.active)
        .map(({ row }) => ({ id: row.group_id, ref: row.ref, name: row.name, type: row.type })),
      created_at: invitation.created_at.toISOString(),
    },
  };
}
