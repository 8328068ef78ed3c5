import { html } from '../../../platform/html/html.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type { Which } from '../../../integrations/webhooks/resend.ts';
import { countResendable, orderResend, resends } from '../../../integrations/webhooks/resend.ts';
import { listEndpoints } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { facts, messagePage, moment, progress, number, count } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { hiddenField, any, fieldsOf } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get, post, onceOf, inBackground, named } from '../kit/route.ts';
import { dayOf, startOfDay } from '../../../organisations/zone.ts';
import { endpointChoices } from './deliveries.ts';
import { integrators } from '../../../organisations/users/roles.ts';

/** Many deliveries are sent again: they are counted, confirmed, and sent by a background job. */
export const resendRoutes: ConsoleRoute[] = [
  get('/resends/create', integrators, choosePage),
  post('/resends/failed', integrators, failed),
  post('/resends/chosen', integrators, chosen),
  post('/resends/create', integrators, order),
  get('/resends/{resend_id}', integrators, resend),
];

const dayMs = 24 * 3600_000;
/** More than one page of the list holds. */
const maxChosen = 500;

async function choosePage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId, zone, query } = visit;
  const f = fieldsOf(visit, faults);
  const endpoints = await listEndpoints(app.db, organisationId);
  return {
    title: 'Send failed deliveries again',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    faults,
    main: html`<p>Everything that has finally failed since a day, and has not succeeded since. First it is counted; nothing is sent before you confirm.</p>${f.form(
      'Count them',
      { to: `${base}/resends/failed`, cancel: `${base}/webhooks` },
      [
        f.select('endpoint', 'Endpoint', any(endpointChoices(endpoints), 'All'), {
          initial: query.get('endpoint') ?? '',
        }),
        f.text('since', 'Failed on this day or later', {
          type: 'date',
          initial: dayOf(new Date(app.clock.nowMs() - 7 * dayMs), zone),
        }),
      ],
    )}`,
  };
}

/** The choice that the form carries: ticked deliveries, or all failed ones since a day. */
function readWhich({ form: sent, zone }: Visit): Which | null {
  const ids = [...new Set(sent.all('delivery').map((id) => id.toLowerCase()))];
  if (ids.length > 0) return ids.length <= maxChosen && ids.every(isUuid) ? { deliveryIds: ids } : null;
  const failedSince = startOfDay(sent.text('since'), zone);
  const endpoint = sent.text('endpoint');
  if (failedSince === null || (endpoint !== '' && !isUuid(endpoint))) return null;
  return { endpointId: endpoint === '' ? null : endpoint.toLowerCase(), failedSince };
}

async function confirmation(visit: Visit, which: Which, cancel: string): Promise<Answer> {
  const { app, base, organisationId, form: sent } = visit;
  const found = await countResendable(app.db, organisationId, which, new Date(app.clock.nowMs()));
  const back = { to: cancel, label: 'Back' };
  if (found === 0)
    return {
      ...messagePage(
        'There is nothing to send again',
        'Nothing like this has finally failed, or it has succeeded since.',
      ),
      back,
    };
  const deliveries = count(found, 'delivery', 'deliveries');
  return {
    title: `Send ${deliveries} again?`,
    back,
    main: html`<p>${deliveries} will be sent again, each once, with a fresh schedule of retries, under the ids that they have: your endpoint passes over what it has taken already. What succeeds meanwhile is left alone.</p>${fieldsOf(
      visit,
    ).form('Send them again', { to: `${base}/resends/create`, cancel }, [
      'deliveryIds' in which
        ? which.deliveryIds.map((id) => hiddenField('delivery', id))
        : [hiddenField('since', sent.text('since')), hiddenField('endpoint', sent.text('endpoint'))],
      hiddenField('once', app.random.uuid()),
    ])}`,
  };
}

async function failed(visit: Visit): Promise<Answer> {
  const which = readWhich(visit);
  if (which === null || 'deliveryIds' in which)
    return choosePage(visit, { since: 'Choose a day, such as 2026-01-31.' });
  return confirmation(visit, which, `${visit.base}/resends/create`);
}

async function chosen(visit: Visit): Promise<Answer> {
  const back = `${visit.base}/deliveries`;
  const which = readWhich(visit);
  if (which === null || !('deliveryIds' in which))
    return {
      ...messagePage('Nothing was chosen', 'Tick what is to be sent again.'),
      back: { to: back, label: 'Deliveries' },
      status: 422,
    };
  return confirmation(visit, which, back);
}

async function order(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, userId, change } = visit;
  const which = readWhich(visit);
  const once = onceOf(visit);
  if (which === null || once === null) return choosePage(visit, { since: 'Choose a day, such as 2026-01-31.' });
  await change(async (work) => {
    if ((await resends.find(work.tx, id, once)) !== undefined) return { result: null };
    await orderResend(work, id, { resendId: once, which, by: userId });
    return { result: null, resource: once };
  });
  inBackground(app, 'resend.failed', resends.run(app));
  return { to: `${base}/resends/${once}` };
}

async function resend(visit: Visit): Promise<Answer> {
  const { base, zone, path } = visit;
  const found = await named(visit, 'resend_id', (...of) => resends.find(...of));
  const more =
    found.finished_at === null
      ? progress('Handed over to be sent', found.resent, found.total, path)
      : facts({
          'Handed over to be sent': html`${number(found.resent)} of ${number(found.total)}`,
          Done: moment(found.finished_at, zone),
        });
  return {
    title: found.finished_at === null ? 'Being sent again' : 'Sent again',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    main: html`${facts({ Ordered: moment(found.created_at, zone) })}${more}<p><a href="${base}/deliveries">What came of them</a></p>`,
  };
}
