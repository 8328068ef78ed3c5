import { wouldBeReference } from '../../records/learners/rename.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { type AskedGroup, ensureGroups } from '../../organisations/groups/create.ts';
import { groupSetsOf, renderSets } from '../../feed/group-sets.ts';
import { findLearner } from '../../records/learners/learners.ts';
import { spendCredits } from '../../organisations/credits.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { assessmentUrl, createInvitations, findOpenInvitations, type Invitation } from './invitations.ts';
import { groupIds, writeGroups, writeLearners } from './invite.ts';

type ProvisionRequest = { full_name: string; email: string | null; ref: string | null; groups: AskedGroup[] };

/**
 * POST /learners: one unit of work writes the learner, groups, invitation and credit. If the reference exists, its
 * learner is updated; groups are only added. An open invitation is returned and costs no credit.
 * @param actor the access key, or a person's ID
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
  // The request may contain a previous reference, and the learner's current reference as the name. A name must not be a
  // reference.
  if (known !== undefined && wouldBeReference(known, request.full_name))
    throw ApiError.field('invalid_full_name', 'full_name is a reference. Send the name of the learner.');
  const groups = await ensureGroups(work, feed, request.groups, { autocreate: organisation.group_autocreate });
  const learner = known ?? { learner_id: work.uuid(), ref: request.ref, full_name: request.full_name };
  const entries = [{ learner, row: request, isNew: known === undefined }];
  await writeLearners(work, feed, entries);
  await writeGroups(work, feed, entries, groupIds(groups), { teamId: null, actor });
  const learnerId = learner.learner_id;

  const now = new Date(work.nowMs);
  const [open] = known === undefined ? [] : await findOpenInvitations(work.tx, organisationId, [learnerId], now);
  let invitation = open;
  if (invitation === undefined) {
    const invitation_id = work.uuid();
    const spent = await spendCredits(work, organisation, [invitation_id], actor);
    if (spent === null) throw new ApiError('insufficient_credits');
    const row = { invitation_id, learner_id: learnerId, subjects: organisation.default_subjects };
    [invitation] = (await createInvitations(work, organisationId, [row], spent)) as [Invitation];
  }
  const setId = (await groupSetsOf(work.tx, organisationId, [learnerId])).get(learnerId)!;
  const set = (await renderSets(work.tx, organisationId, [setId])).get(setId)!;
  return {
    created: open === undefined,
    reply: {
      learner_id: learnerId,
      ref: learner.ref,
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
