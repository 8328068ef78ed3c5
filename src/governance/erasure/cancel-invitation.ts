import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { cancelInvitationEmail } from '../../sittings/invitations/email-templates.ts';
import { findInvitation, markInvitationWithdrawn } from '../../sittings/invitations/invitations.ts';
import { returnCredit } from '../../organisations/credits.ts';
import { findBegun, voidSittingsOfInvitation } from '../../sittings/sittings.ts';

export type Cancelled = { creditReturned: boolean };

/**
 * Ends an invitation and its open sitting. If no sitting has begun, the credit is returned. The start of a sitting also
 * locks the invitation, so a sitting cannot begin during this change.
 * @returns null if there is no such open invitation
 */
export async function cancelInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  by: { actor: string; reason?: string },
): Promise<Cancelled | null> {
  await lockFeed(work, organisationId);
  const invitation = await findInvitation(work.tx, organisationId, invitationId, 'update');
  if (invitation?.status !== 'open') return null;
  const begun = (await findBegun(work.tx, organisationId, [invitationId])).size > 0;
  await markInvitationWithdrawn(work.tx, organisationId, invitationId);
  await voidSittingsOfInvitation(work, organisationId, invitationId);
  await cancelInvitationEmail(work, invitation);
  const creditReturned = invitation.credit_spent && !begun;
  if (creditReturned) await returnCredit(work, organisationId, { ...by, invitationId });
  return { creditReturned };
}
