import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { cancelInvitationLetter } from '../../sittings/invitations/email-templates.ts';
import { lockInvitation, markInvitationWithdrawn } from '../../sittings/invitations/invitations.ts';
import { returnCredit } from '../../organisations/credits.ts';
import { findBegun, voidSittingsOfInvitation } from '../../sittings/sittings.ts';

/** What came of it: whether the credit came back; null where the invitation isn't open any more, or isn't there. */
export type Cancelled = { creditReturned: boolean };

/**
 * Ends an invitation: its address leads nowhere any more, and a sitting that is under way ends without a result. The credit comes back where no sitting has begun under it. A
 * learner who begins at the same moment comes before it or after it, never both: beginning reads the invitation with a
 * lock, too.
 */
export async function cancelInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  by: { actor: string; reason?: string },
): Promise<Cancelled | null> {
  await lockFeed(work, organisationId);
  const invitation = await lockInvitation(work, organisationId, invitationId);
  if (invitation?.status !== 'open') return null;
  const begun = (await findBegun(work.tx, organisationId, [invitationId])).size > 0;
  await markInvitationWithdrawn(work.tx, organisationId, invitationId);
  await voidSittingsOfInvitation(work, organisationId, invitationId);
  await cancelInvitationLetter(work, invitation);
  const creditReturned = invitation.credit_spent && !begun;
  if (creditReturned) await returnCredit(work, organisationId, { ...by, invitationId });
  return { creditReturned };
}
