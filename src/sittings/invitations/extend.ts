import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { adjustInvitation, findInvitation, type Invitation } from './invitations.ts';
import { recentResults, satUnder, soonWords } from './retakes.ts';

/** The learner's last assessment is too recent for another one, and no reason was entered. */
export class TooSoon extends Error {
  readonly expected: string;

  constructor(expected: string) {
    super(`The invitation needs ${expected}.`);
    this.expected = expected;
  }
}

/**
 * Moves the end of an invitation; an expired invitation becomes usable again. A later end counts as another assessment,
 * so each remaining subject must respect the gap between two assessments.
 * @param retakeReason null keeps the invitation's present reason
 * @returns undefined if there is no open invitation
 * @throws TooSoon
 */
export async function extendInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  { end, retakeReason }: { end: Date; retakeReason: string | null },
): Promise<Invitation | undefined> {
  await lockFeed(work, organisationId);
  const found = await findInvitation(work.tx, organisationId, invitationId, 'update');
  if (found === undefined || found.status !== 'open') return undefined;
  if (end > found.expires_at && found.retake_reason === null && retakeReason === null) {
    const organisation = await readOrganisation(work.tx, organisationId);
    const recent = await recentResults(work.tx, organisation, [found.learner_id], work.nowMs);
    const done = (await satUnder(work.tx, organisationId, [invitationId])).get(invitationId) ?? [];
    const left = found.subjects.filter((subject) => !done.includes(subject));
    const expected = soonWords(organisation, found.learner_id, left, recent);
    if (expected !== null) throw new TooSoon(expected);
  }
  return adjustInvitation(work, organisationId, invitationId, {
    expires_at: end,
    ...(retakeReason === null ? {} : { retake_reason: retakeReason }),
  });
}

/**
 * Lets the learner begin although the gap between two assessments is not over.
 * @returns undefined if there is no open invitation, or it has a reason already
 */
export async function allowRetake(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  reason: string,
): Promise<Invitation | undefined> {
  await lockFeed(work, organisationId);
  const found = await findInvitation(work.tx, organisationId, invitationId, 'update');
  if (found?.status !== 'open' || found.retake_reason !== null) return undefined;
  return adjustInvitation(work, organisationId, invitationId, { retake_reason: reason });
}
