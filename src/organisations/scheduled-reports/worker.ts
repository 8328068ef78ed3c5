import type { App } from '../../platform/app.ts';
import { statement } from '../../platform/db/database.ts';
import { type UnitOfWork, rowsQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { postLetter } from '../../platform/mail/outbox.ts';
import { type Letter, nameInLetter } from '../../platform/mail/template.ts';
import { type ScheduledReport, mayReadReport, nextTime, reportColumns, reportPages } from './scheduled-reports.ts';

type Organisation = { organisation_id: number; public_id: string; name: string; time_zone: string };

const maxInOne = 100;
/** After a long stop or a restore, an old report gets no email: the next one comes at its time. */
const lateMs = 24 * 3600_000;

const organisations = statement('scheduled_report.organisations')`
  select organisation_id, public_id, name, time_zone from organisation
   where suspended_at is null and organisation_id in (select organisation_id from scheduled_report where next_at <= $1)
   order by organisation_id`;
const due = statement('scheduled_report.due')`
  ${reportColumns('scheduled_report')} and r.next_at <= $2
   order by r.next_at, r.report_id limit ${maxInOne} for update of r skip locked`;
const moveOn = statement('scheduled_report.move_on')`
  update scheduled_report set next_at = $3 where organisation_id = $1 and report_id = $2`;

/**
 * Queues the emails of due reports. The next time and the email are one transaction, so several workers and a kill send
 * each report once.
 */
export async function writeScheduledReports(app: App, signal: AbortSignal): Promise<void> {
  if (app.settings.mailServer === null) return;
  for (const one of await app.db.query<Organisation>(organisations, [new Date(app.clock.nowMs())])) {
    let count: number = maxInOne;
    while (count === maxInOne && !signal.aborted)
      count = await withUnitOfWork(app, rowsQueue(one.organisation_id), (work) => writeSome(work, one));
  }
}

async function writeSome(work: UnitOfWork, organisation: Organisation): Promise<number> {
  const { organisation_id: id, time_zone: zone } = organisation;
  const reports = await work.tx.query<ScheduledReport>(due, [id, new Date(work.nowMs)]);
  for (const report of reports) {
    const { report_id: reportId, user_id: userId, next_at: dueAt, email: address } = report;
    await work.tx.query(moveOn, [id, reportId, nextTime(report, work.nowMs, zone)]);
    if (work.nowMs - dueAt.getTime() > lateMs || !(await mayReadReport(work.tx, id, report))) continue;
    const cause = `scheduled_report ${userId} ${reportId} ${dueAt.getTime()}`;
    const letter = reportLetter(organisation, report);
    await postLetter(work, { organisationId: id, cause, address, letter, expiresMs: work.nowMs + lateMs });
  }
  return reports.length;
}

function reportLetter({ public_id: publicId, name }: Organisation, { page, query, every }: ScheduledReport): Letter {
  const { label, path } = reportPages[page];
  const base = `/console/${publicId}` as const;
  return {
    subject: `${every === 'week' ? 'Weekly' : 'Monthly'} report of ${nameInLetter(name, 'your organisation')}: ${label}`,
    says: [
      `Your report “${label}” is ready. Sign in to read it. The page shows the data of the moment when you open it.`,
      { to: `${base}${path}${query && `?${query}`}`, label: `Open ${label}` },
      'You get this email because a manager of your organisation scheduled it for you. You can stop it.',
      { to: `${base}/reports`, label: 'Open scheduled reports' },
    ],
  };
}
