import { type CallHour, callsByHour } from '../../../platform/audit/log.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { bar, moment, table, number, numeric } from '../kit/blocks.ts';
import type { Visit } from '../kit/route.ts';

const hoursShown = 24;
const hourMs = 3600_000;

export const totalOf = (one: CallHour) => one.answered + one.unchanged + one.refused + one.limited + one.failed;
const share = (part: number, whole: number) =>
  html`${whole === 0 ? '0 %' : `${Math.round((100 * part) / whole)} %`}${bar(part, whole)}`;

/** A key's calls by hour, with the share of 304 responses and of the rate limit. */
export async function keyHours({ app, organisationId: id, zone }: Visit, keyId: string): Promise<Content> {
  const nowMs = app.clock.nowMs();
  const rows = await callsByHour(app.db, id, {
    actor: keyId,
    from: new Date(nowMs - hoursShown * hourMs),
    // Rows of a process with a fast clock are included.
    to: new Date(nowMs + hourMs),
  });
  const hourlyLimit = app.settings.rateLimit * 60;
  const caption = `Requests by hour; ${app.settings.rateLimit} a minute are allowed.`;
  const max = Math.max(...rows.map(totalOf));
  return table<CallHour>({ caption, none: 'No request in the last day.' }, rows, {
    'Hour from': (one) => moment(one.hour, zone),
    Requests: numeric((one) => html`${number(totalOf(one))}${bar(totalOf(one), max)}`),
    Answered: numeric((one) => one.answered),
    Refused: numeric((one) => one.refused),
    'Over the limit': numeric((one) => one.limited),
    'Our faults': numeric((one) => one.failed),
    'Nothing new (304)': numeric((one) => share(one.unchanged, totalOf(one))),
    'Room under the limit': numeric((one) => share(Math.max(0, hourlyLimit - totalOf(one)), hourlyLimit)),
  });
}
