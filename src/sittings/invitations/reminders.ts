import type { App } from '../../platform/app.ts';
import { statement } from '../../platform/db/database.ts';
import { rowsQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { findBegun } from '../sittings.ts';
import { type DueReminder, mailReminders } from './email-templates.ts';

type Organisation = { organisation_id: number; name: string; time_zone: string; reminder_days: number };

const asking = statement('reminder.organisations')`
  select organisation_id, name, time_zone, reminder_days from organisation
   where reminder_days is not null and suspended_at is null order by organisation_id`;

/** Older invitations get no reminder, so that a new setting does not write to everybody who was ever invited. */
const windowDays = 14;
const maxInOne = 200;
// A start of a sitting, a cancellation and an erasure lock the invitation. A locked invitation waits for the next round.
const due = statement('reminder.due')`
  select i.invitation_id, i.expires_at, l.email from invitation i
    join learner l on l.organisation_id = $1 and l.learner_id = i.learner_id
   where i.organisation_id = $1 and i.status = 'open' and i.reminded_at is null and l.email is not null
     and i.created_at <= $2::timestamptz - $3 * interval '24 hours'
     and i.created_at > $2::timestamptz - ($3 + ${windowDays}) * interval '24 hours'
     and i.expires_at > $2 and (i.mailed_at is null or i.mailed_at < $2::timestamptz - interval '24 hours')
     and not exists (select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id)
   order by i.created_at, i.invitation_id limit ${maxInOne} for update of i skip locked`;
const remind = statement('reminder.written')`
  update invitation set reminded_at = $3 where organisation_id = $1 and invitation_id = any($2::uuid[])`;

/** Writes one email to each learner who has not begun some days after the invitation, as the organisation sets. */
export async function remindLearners(app: App, signal: AbortSignal): Promise<void> {
  if (app.settings.mailServer === null) return;
  for (const organisation of await app.db.query<Organisation>(asking)) {
    let count: number = maxInOne;
    while (count === maxInOne && !signal.aborted) count = await remindSome(app, organisation);
  }
}

function remindSome(app: App, organisation: Organisation): Promise<number> {
  const { organisation_id: id, reminder_days: days } = organisation;
  return withUnitOfWork(app, rowsQueue(id), async (work) => {
    const now = new Date(work.nowMs);
    const found = await work.tx.query<DueReminder>(due, [id, now, days]);
    // A sitting may have begun between the reading and the lock.
    const begun = await findBegun(
      work.tx,
      id,
      found.map((one) => one.invitation_id),
    );
    const rows = found.filter((one) => !begun.has(one.invitation_id));
    const ids = rows.map((one) => one.invitation_id);
    await work.tx.query(remind, [id, ids, now]);
    await mailReminders(work, organisation, rows);
    return found.length;
  });
}
