import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { handOverRuns } from '../sittings/invitations/runs/run.ts';
import { handOverLinks } from './access-keys/link.ts';
import { type Accepting, acceptInvitation } from '../organisations/users/invitations.ts';
import { isStorableText } from '../platform/validation/personal-data.ts';
import { limits } from '../platform/config/limits.ts';

/** A new account takes over the set-up links and invitation tables of the account that it replaces. */
export async function acceptInside(work: UnitOfWork, token: string, accepting: Accepting) {
  const made = await acceptInvitation(work, token, accepting);
  for (const from of made?.replaced ?? []) {
    await handOverLinks(work, made!.organisationId, { from, to: made!.userId });
    await handOverRuns(work, made!.organisationId, { from, to: made!.userId });
  }
  return made;
}

export const nameFault = (fullName: string): string | null =>
  isStorableText(fullName, limits.fullNameChars) ? null : 'The name is missing or can’t be stored. Enter your name.';
