import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import { cancelLetters } from '../../platform/mail/outbox.ts';
import { browseGroup } from '../groups/browse.ts';
import { teamsOfStaff } from '../teams.ts';
import { type Role, learnerReaders, roles } from '../users/roles.ts';
import { dayAfter, dayOf, hourOfDay } from '../zone.ts';

/** Pages of the console whose link a person gets by email each week or month. The email contains no personal data. */

export const reportPages = {
  dashboard: { label: 'Dashboard', path: '', readers: roles },
  distance: { label: 'Distance travelled', path: '/results/progress', readers: learnerReaders },
  gaps: { label: 'Gaps by domain', path: '/results/gaps', readers: learnerReaders },
  results: { label: 'Results', path: '/results', readers: learnerReaders },
} as const satisfies Record<string, { label: string; path: string; readers: readonly Role[] }>;
export type ReportPage = keyof typeof reportPages;

/** `day`: from 1 (Monday) to 7 in a week, from 1 to 28 in a month. `hour`: in the organisation's time zone. */
export type Rhythm = { every: 'week' | 'month'; day: number; hour: number };

/** `query`: the filters of the page, which are IDs, words and dates. */
export type ScheduledReport = Rhythm & {
  report_id: string;
  user_id: string;
  page: ReportPage;
  query: string;
  next_at: Date;
  full_name: string;
  email: string;
  role: Role;
};

export const reportColumns = (from: string) => `
  select r.report_id, r.user_id, r.page, r.query, r.every, r.day, r.hour, r.next_at, u.full_name, u.email, m.role
    from ${from} r join user_membership m on m.organisation_id = r.organisation_id and m.user_id = r.user_id
    join user_account u on u.user_id = r.user_id where r.organisation_id = $1`;

const list = statement('scheduled_report.list')`
  ${reportColumns('scheduled_report')} and ($2::uuid is null or r.user_id = $2)
   order by u.full_name, r.user_id, r.page, r.next_at, r.report_id limit ${limits.scheduledReportsListed}`;
const save = statement('scheduled_report.save')`
  insert into scheduled_report (organisation_id, report_id, user_id, page, query, every, day, hour, next_at)
  select $1, $2, user_id, $4, $5, $6, $7, $8, $9 from user_membership
   where organisation_id = $1 and user_id = $3
     and (select count(*) from scheduled_report where organisation_id = $1 and user_id = $3) < ${limits.scheduledReportsOfPerson}
  on conflict (organisation_id, user_id, page, query, every, day)
  do update set hour = excluded.hour, next_at = excluded.next_at returning report_id`;
const stop = statement('scheduled_report.stop')`
  delete from scheduled_report where organisation_id = $1 and report_id = $2 and ($3::uuid is null or user_id = $3)
  returning user_id`;

/** @param userId only the reports of this person; null for everyone’s */
export function listScheduledReports(
  tx: Tx,
  organisationId: number,
  userId: string | null,
): Promise<ScheduledReport[]> {
  return tx.query<ScheduledReport>(list, [organisationId, userId]);
}

/** The same report on the same day is stored once; another hour replaces the hour. @returns null at the maximum */
export async function scheduleReport(
  work: UnitOfWork,
  organisationId: number,
  report: Rhythm & { userId: string; page: ReportPage; query: string; zone: string },
): Promise<string | null> {
  const { userId, page, query, every, day, hour, zone } = report;
  const nextAt = nextTime(report, work.nowMs, zone);
  const values = [organisationId, work.uuid(), userId, page, query, every, day, hour, nextAt];
  return (await work.tx.query<{ report_id: string }>(save, values))[0]?.report_id ?? null;
}

/** @param userId the person who may stop only their own reports; null for a manager */
export async function stopReport(
  work: UnitOfWork,
  organisationId: number,
  reportId: string,
  userId: string | null,
): Promise<boolean> {
  const [stopped] = await work.tx.query<{ user_id: string }>(stop, [organisationId, reportId, userId]);
  if (stopped !== undefined) await cancelReportLetters(work, organisationId, stopped.user_id, reportId);
  return stopped !== undefined;
}

/** Cancels emails that wait for the mail server, because the person or the role has changed or the report is stopped. */
export function cancelReportLetters(
  work: UnitOfWork,
  organisationId: number,
  userId: string,
  reportId = '',
): Promise<void> {
  return cancelLetters(work, organisationId, `scheduled_report ${userId} ${reportId}`);
}

/** The first time after `ms` in the rhythm. An hour that the clocks leave out is the hour after it. */
export function nextTime({ every, day, hour }: Rhythm, ms: number, zone: string): Date {
  const today = dayOf(new Date(ms), zone);
  for (let n = 0; ; n++) {
    const on = dayAfter(today, n);
    const dayHere = every === 'month' ? Number(on.slice(8)) : new Date(`${on}T00:00:00Z`).getUTCDay() || 7;
    const at = hourOfDay(on, hour, zone);
    if (dayHere === day && at.getTime() > ms) return at;
  }
}

const groupsIn = (query: string): string[] => {
  const of = new URLSearchParams(query);
  return ['team', 'group'].flatMap((name) => of.get(name) ?? []);
};

/** Whether the person may open the page. A tutor may not if they see no learner of its group. */
export async function mayReadReport(
  tx: Tx,
  organisationId: number,
  { page, query, user_id: userId, role }: Pick<ScheduledReport, 'page' | 'query' | 'user_id' | 'role'>,
): Promise<boolean> {
  if (!(reportPages[page].readers as readonly Role[]).includes(role)) return false;
  const groups = groupsIn(query);
  const visibility = role === 'tutor' ? await teamsOfStaff(tx, organisationId, userId) : null;
  const found = await Promise.all(groups.map((id) => browseGroup(tx, organisationId, id, visibility)));
  return found.every((one) => one !== undefined);
}
