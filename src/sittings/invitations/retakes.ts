import { longDay } from '../../platform/time/dates.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import { type Organisation, readOrganisation } from '../../organisations/organisations.ts';
import { type Subject, subjects as allSubjects } from '../../engine/scoring/levels.ts';
import type { Invitation } from './invitations.ts';

const newestResults = statement('invitation.newest_results')`
  select f.learner_id, f.facet >> 3 as subject, max(f.assessed_at) as at from assessment_feed f
   where f.organisation_id = $1 and f.learner_id = any($2) and not f.deleted and f.assessed_at > $3
   group by 1, 2`;
const sat = statement('invitation.sat_under')`
  select invitation_id, subject from sitting
   where organisation_id = $1 and invitation_id = any($2) and status = 'completed'`;

/** The last assessment within the gap, in microseconds since 1970, by learner ID and subject. */
export type Recent = ReadonlyMap<string, number>;

export async function recentResults(
  tx: Tx,
  { organisation_id: id, retake_gap_days: gap }: Pick<Organisation, 'organisation_id' | 'retake_gap_days'>,
  learnerIds: readonly string[],
  nowMs: number,
): Promise<Recent> {
  if (gap === null || learnerIds.length === 0) return new Map();
  type Row = { learner_id: string; subject: number; at: number };
  const rows = await tx.query<Row>(newestResults, [id, learnerIds, (nowMs - gap * 86_400_000) * 1000]);
  return new Map(rows.map((row) => [`${row.learner_id} ${allSubjects[row.subject]}`, row.at]));
}

export async function satUnder(
  tx: Tx,
  organisationId: number,
  invitationIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await tx.query<{ invitation_id: string; subject: string }>(sat, [organisationId, invitationIds]);
  const found = Map.groupBy(rows, (row) => row.invitation_id);
  return new Map([...found].map(([id, all]) => [id, all.map((row) => row.subject)]));
}

/** Why another assessment in these subjects needs a reason; null if no reason is needed. */
export function soonWords(
  { time_zone: timeZone, retake_gap_days: gap }: Pick<Organisation, 'time_zone' | 'retake_gap_days'>,
  learnerId: string,
  subjects: readonly string[],
  recent: Recent,
): string | null {
  const soon = subjects.flatMap((subject) => {
    const at = recent.get(`${learnerId} ${subject}`);
    return at === undefined ? [] : [`${subject} on ${longDay(at / 1000, timeZone)}`];
  });
  return soon.length === 0
    ? null
    : `a reason, because the learner was assessed in ${soon.join(', ')}: less than ${gap} days ago`;
}

/** The last assessment in a subject, and the time from which the learner may begin another, in ms since 1970. */
export type RetakeWait = { subject: Subject; lastMs: number; fromMs: number };

/** The waits for the subjects of an invitation that have no result under it. */
export async function waitsOfInvitation(tx: Tx, invitation: Invitation, nowMs: number): Promise<RetakeWait[]> {
  const { organisation_id, invitation_id } = invitation;
  const done = (await satUnder(tx, organisation_id, [invitation_id])).get(invitation_id) ?? [];
  const left = (invitation.subjects as Subject[]).filter((subject) => !done.includes(subject));
  return retakeWaits(tx, invitation, left, nowMs);
}

/**
 * The subjects that the learner may not begin yet, because the gap between two assessments is not over. Results from
 * other invitations and imports count, too. A reason on the invitation allows an early retake.
 */
export async function retakeWaits(
  tx: Tx,
  {
    organisation_id: id,
    learner_id,
    retake_reason,
  }: Pick<Invitation, 'organisation_id' | 'learner_id' | 'retake_reason'>,
  subjects: readonly Subject[],
  nowMs: number,
): Promise<RetakeWait[]> {
  if (retake_reason !== null || subjects.length === 0) return [];
  const organisation = await readOrganisation(tx, id);
  const recent = await recentResults(tx, organisation, [learner_id], nowMs);
  return subjects.flatMap((subject) => {
    const at = recent.get(`${learner_id} ${subject}`);
    if (at === undefined) return [];
    return [{ subject, lastMs: at / 1000, fromMs: at / 1000 + organisation.retake_gap_days! * 86_400_000 }];
  });
}
