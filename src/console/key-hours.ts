import type { CallHour } from '../audit/hours.ts';
import { callsByHour } from '../audit/hours.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { bar, empty, moment, table, number } from './blocks.ts';
import type { Visit } from './route.ts';

const hoursShown = 24;
const hourMs = 3600_000;

/** Calls of an hour, whatever came of them. */
export const totalOf = (one: CallHour) => one.answered + one.unchanged + one.refused + one.limited + one.failed;
const percent = (part: number, whole: number) => (whole === 0 ? '0 %' : `${Math.round((100 * part) / whole)} %`);

/** Requests of a key by the hour: what came of them, how many found nothing new, and how much room the rate limit leaves. */
export async function keyHours({ app, organisationId: id, zone }: Visit, keyId: string): Promise<Content> {
  const nowMs = app.clock.nowMs();
  const rows = await callsByHour(app.db, id, {
    actor: keyId,
    from: new Date(nowMs - hoursShown * hourMs),
    // A clock that is ahead doesn't hide its calls.
    to: new Date(nowMs + hourMs),
  });
  if (rows.length === 0) return empty('No request in the last day.');
  const hourlyLimit = app.settings.rateLimit * 60;
  const most = Math.max(...rows.map(totalOf));
  return table<CallHour>({
    caption: `Requests by hour; ${app.settings.rateLimit} a minute are allowed.`,
    rows,
    columns: [
      { head: 'Hour from', cell: (one) => moment(one.hour, zone) },
      {
        head: 'Requests',
        number: true,
        cell: (one) => html`${number(totalOf(one))}${bar(totalOf(one), most)}`,
      },
      { head: 'Answered', number: true, cell: (one) => number(one.answered) },
      { head: 'Refused', number: true, cell: (one) => number(one.refused) },
      { head: 'Over the limit', number: true, cell: (one) => number(one.limited) },
      { head: 'Our faults', number: true, cell: (one) => number(one.failed) },
      {
        head: 'Nothing new (304)',
        number: true,
        cell: (one) => html`${percent(one.unchanged, totalOf(one))}${bar(one.unchanged, totalOf(one))}`,
      },
      {
        head: 'Room under the limit',
        number: true,
        cell: (one) => {
          const room = Math.max(0, hourlyLimit - totalOf(one));
          return html`${percent(room, hourlyLimit)}${bar(room, hourlyLimit)}`;
        },
      },
    ],
  });
}
