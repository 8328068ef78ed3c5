import { html } from '../html.ts';
import { errorFields } from '../log.ts';
import { isUuid } from '../uuid.ts';
import type { Resend, Which } from '../webhooks/resend.ts';
import { countResendable, orderResend, resends } from '../webhooks/resend.ts';
import { listEndpoints } from '../webhooks/webhooks.ts';
import { facts, messagePage, moment, progress, number } from './blocks.ts';
import type { Faults } from './form.ts';
import { form, hiddenField, selectField, textField } from './form.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get, post } from './route.ts';
import { dayOf, startOfDay } from '../organisations/zone.ts';
import { integrators } from '../users/roles.ts';

/** Sending many deliveries again: counted, confirmed, and then done in the background. */
export const resendRoutes: ConsoleRoute[] = [
  get('/resends/create', integrators, choosePage),
  post('/resends/failed', integrators, failed),
  post('/resends/chosen', integrators, chosen),
  post('/resends/create', integrators, order),
  get('/resends/{resend_id}', integrators, resend),
];

const dayMs = 24 * 3600_000;
/** How many a selection may hold: a page of the list, and to spare. */
const mostChosen = 500;

async function choosePage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId, zone, query, form: sent } = visit;
  const endpoints = await listEndpoints(app.db, organisationId);
  return {
    title: 'Send failed deliveries again',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    faults,
    main: html`<p>Everything that has finally failed since a day, and has not succeeded since. First it is counted; nothing is sent before you confirm.</p>${form(
      `${base}/resends/failed`,
      [
        selectField({
          name: 'endpoint',
          label: 'Endpoint',
          choices: [
            { value: '', label: 'All' },
            ...endpoints.map((row) => ({ value: row.endpoint_id, label: row.url.slice(0, 60) })),
          ],
          chosen: sent.text('endpoint') || (query.get('endpoint') ?? ''),
        }),
        textField({
          name: 'since',
          label: 'Failed on this day or later',
          type: 'date',
          value: sent.text('since') || dayOf(new Date(app.clock.nowMs() - 7 * dayMs), zone),
          width: 20,
          fault: faults.since,
        }),
      ],
      'Count them',
      { faults, cancel: `${base}/webhooks` },
    )}`,
  };
}

/** What is to be sent again, as a form carries it. */
function readWhich({ form: sent, zone }: Visit): Which | null {
  const ids = [...new Set(sent.all('delivery').map((id) => id.toLowerCase()))];
  if (ids.length > 0) return ids.length <= mostChosen && ids.every(isUuid) ? { deliveryIds: ids } : null;
  const failedSince = startOfDay(sent.text('since'), zone);
  const endpoint = sent.text('endpoint');
  if (failedSince === null || (endpoint !== '' && !isUuid(endpoint))) return null;
  return { endpointId: endpoint === '' ? null : endpoint.toLowerCase(), failedSince };
}

async function confirmation(visit: Visit, which: Which, cancel: string): Promise<Answer> {
  const { app, base, organisationId, form: sent } = visit;
  const count = await countResendable(app.db, organisationId, which, new Date(app.clock.nowMs()));
  const back = { to: cancel, label: 'Back' };
  if (count === 0)
    return {
      ...messagePage(
        'There is nothing to send again',
        'Nothing like this has finally failed, or it has succeeded since.',
      ),
      back,
    };
  const deliveries = `${number(count)} ${count === 1 ? 'delivery' : 'deliveries'}`;
  return {
    title: `Send ${deliveries} again?`,
    back,
    main: html`<p>${deliveries} will be sent again, each once, with a fresh schedule of retries, under the ids that they have: your endpoint passes over what it has taken already. What succeeds meanwhile is left alone.</p>${form(
      `${base}/resends/create`,
      [
        'deliveryIds' in which
          ? which.deliveryIds.map((id) => hiddenField('delivery', id))
          : [hiddenField('since', sent.text('since')), hiddenField('endpoint', sent.text('endpoint'))],
        hiddenField('once', app.random.uuid()),
      ],
      'Send them again',
      { cancel },
    )}`,
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
  const { app, base, organisationId: id, session, form: sent, change } = visit;

  const which = readWhich(visit);
  const once = sent.text('once').toLowerCase();
  if (which === null || !isUuid(once)) return choosePage(visit, { since: 'Choose a day, such as 2026-01-31.' });
  await change(async (work) => {
    if ((await resends.find(work.tx, id, once)) !== undefined) return { result: null };
    await orderResend(work, id, { resendId: once, which, by: session.user_id });
    return { result: null, resource: once };
  });
  // Begun at once; if this process ends before it is done, another goes on within a minute.
  void resends.run(app).catch((error: unknown) => app.log.error('resend.failed', errorFields(error)));
  return { to: `${base}/resends/${once}` };
}

async function resend(visit: Visit): Promise<Answer> {
  const { app, base, zone, organisationId, params } = visit;

  const id = params.resend_id!.toLowerCase();
  const found: Resend | undefined = isUuid(id) ? await resends.find(app.db, organisationId, id) : undefined;
  if (found === undefined) throw new NoSuchPage();
  const here = `${base}/resends/${found.run_id}`;
  const more =
    found.finished_at === null
      ? progress('Handed over to be sent', found.resent, found.total, here)
      : facts([
          ['Handed over to be sent', html`${number(found.resent)} of ${number(found.total)}`],
          ['Done', moment(found.finished_at, zone)],
        ]);
  return {
    title: found.finished_at === null ? 'Being sent again' : 'Sent again',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    main: html`${facts([['Ordered', moment(found.created_at, zone)]])}${more}<p><a href="${base}/deliveries">What came of them</a></p>`,
  };
}
