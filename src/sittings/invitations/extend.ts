import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import type { Invitation } from './invitations.ts';
import { lockInvitation, setInvitationEnd } from './invitations.ts';
import { recentResults, satUnder, soonWords } from './retakes.ts';

/** A learner would be assessed again within the gap, and nobody has said why. `expected`: what is asked for. */
export class TooSoon extends Error {
  readonly expected: string;

  constructor(expected: string) {
    super(`The invitation needs ${expected}.`);
    this.expected = expected;
  }
}

/**
 * Lets an invitation end at another time, later or sooner; one that has expired works again. Whoever lets one last longer is
 * held to the gap between two assessments as whoever makes one is, in the subjects that it still lets somebody sit.
 * @param retakeReason null where none is given: one that was given before still counts
 * @returns undefined where there is none that could be used again
 * @throws TooSoon
 */
export async function extendInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  { end, retakeReason }: { end: Date; retakeReason: string | null },
): Promise<Invitation | undefined> {
  await lockFeed(work, organisationId);
  const found = await lockInvitation(work, organisationId, invitationId);
  if (found === undefined || found.status !== 'open') return undefined;
  if (end > found.expires_at && found.retake_reason === null && retakeReason === null) {
    const organisation = await readOrganisation(work.tx, organisationId);
    const recent = await recentResults(work.tx, organisation, [found.learner_id], work.nowMs);
    const done = (await satUnder(work.tx, organisationId, [invitationId])).get(invitationId) ?? [];
    const left = found.subjects.filter((subject) => !done.includes(subject));
    const expected = soonWords(organisation, found.learner_id, left, recent);
    if (expected !== null) throw new TooSoon(expected);
  }
  return setInvitationEnd(work, organisationId, invitationId, { end, retakeReason });
}
