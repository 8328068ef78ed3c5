import { longDay } from '../../platform/time/dates.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import type { Organisation } from '../../organisations/organisations.ts';
import { subjects as allSubjects } from '../../engine/scoring/levels.ts';

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
