import type { App } from '../app.ts';
import type { Statement, Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { advisoryLocks } from '../db/locks.ts';
import type { ByMonths } from '../db/months.ts';
import { changeMonths, makeMonths, monthsBefore } from '../db/months.ts';
import { keepMs } from './deliveries.ts';

/**
 * Events by months, with their deliveries and the attempts of these: an id names the day of its event (events/ids.ts), so
 * the three go together (docs/decisions/0007-lease-endpoint-queues.md).
 */
const ofEvents: ByMonths = {
  table: 'event',
  along: ['delivery', 'delivery_attempt'],
  make: 'make_event_month',
  lock: advisoryLocks.eventMonths,
  ahead: 1,
};

export const makeEventMonths = (app: App): Promise<void> => makeMonths(app, ofEvents);

// "select 1": an answer without columns can't be brought together from several nodes.
/** What is still to be sent, or was to be sent again not long ago while its endpoint is paused. */
const awaited = (part: string) => `exists (
  select 1 from delivery${part} d join webhook_endpoint w using (organisation_id, endpoint_id)
   where d.status = 'pending' and (w.status = 'active' or d.next_attempt_at >= $1))`;
/** What has finally failed not long ago, and may be sent again. */
const failedLately = (part: string) => `exists (
  select 1 from delivery${part} d join webhook_endpoint w using (organisation_id, endpoint_id)
   where d.status = 'dead' and d.finished_at >= $1)`;

const isWanted = (part: string) =>
  statement(`delivery.wanted_in${part}`, `select ${awaited(part)} or ${failedLately(part)} as so`);
const isAwaited = (part: string) => statement(`delivery.awaited_in${part}`, `select ${awaited(part)} as so`);
const isSo = async (tx: Tx, condition: Statement, since: Date): Promise<boolean> =>
  (await tx.query<{ so: boolean }>(condition, [since]))[0]!.so;

/**
 * Drops the months that ended longer ago than deliveries are kept. One of which something is still awaited stays whole
 * until the next look.
 */
export async function dropEventMonths(app: App): Promise<void> {
  const since = new Date(app.clock.nowMs() - keepMs);
  for (const { name } of await monthsBefore(app.db, ofEvents, since)) {
    const part = name.slice('event'.length);
    if (await isSo(app.db, isWanted(part), since)) continue;
    await changeMonths(app.db, ofEvents, async (tx) => {
      if ((await tx.query('select from pg_class where oid = to_regclass($1)', [name])).length === 0) return;
      await tx.query('lock table only event, only delivery, only delivery_attempt in access exclusive mode');
      // Sent again since it was asked.
      if (await isSo(tx, isAwaited(part), since)) return;
      await tx.query(`drop table event${part}, delivery${part}, delivery_attempt${part}`);
    });
    app.log.info('webhook.month_dropped', { name });
  }
}
