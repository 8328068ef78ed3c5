import { integrators } from '../../../organisations/users/roles.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type { Which } from '../../../integrations/webhooks/resend.ts';
import { countResendable, orderResend, resends, redeliverOne } from '../../../integrations/webhooks/resend.ts';
import { type EndpointRow, listEndpoints } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import {
  type States,
  facts,
  instant,
  moment,
  progress,
  number,
  count,
  notice,
  code,
  label,
  wordsOf,
} from '../kit/blocks.ts';
import { type Faults, hiddenField, any, buttonForm, fieldsOf, tickBox } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { createOnce, get, post, onceOf, inBackground, findOr404, NoSuchPage } from '../kit/route.ts';
import { dayOf, startOfDay, endOfDay } from '../../../organisations/zone.ts';
import { formPage, confirmPage, messagePage, listPage, refusal } from '../kit/page.ts';
import type {
  BrowsedDelivery,
  DeliveryFilter,
  KeptAttempt,
  DeliveryStatus,
} from '../../../integrations/webhooks/browse.ts';
import { browseDeliveries, findDelivery, deliveryStatuses } from '../../../integrations/webhooks/browse.ts';
import { emptiedWords } from '../../../feed/events/cancel.ts';
import { limits } from '../../../platform/config/limits.ts';
import { sentRequest } from '../../../integrations/webhooks/http/signing.ts';
import { eventLabel, eventTypes } from '../../../platform/validation/event-types.ts';
import { payloadFor, aboutWhom } from '../../../integrations/webhooks/masked.ts';
import { readToken, uuidIn } from '../kit/paging.ts';
import { empty, numeric, plain, wideOnly } from '../kit/table.ts';

export const deliveryRoutes: ConsoleRoute[] = [
  get('/deliveries', integrators, deliveries),
  get('/deliveries/{delivery_id}', integrators, delivery),
  post('/deliveries/{delivery_id}/resend', integrators, resend),
  get('/resends/create', integrators, choosePage),
  post('/resends/failed', integrators, failed),
  post('/resends/chosen', integrators, chosen),
  post('/resends/create', integrators, order),
  get('/resends/{resend_id}', integrators, resendPage),
];

const states: States<DeliveryStatus> = {
  pending: ['wait', 'Waiting'],
  succeeded: ['good', 'Delivered'],
  dead: ['bad', 'Dead letter'],
  cancelled: ['off', 'Cancelled'],
};

function readFilter({ query, zone }: Visit): DeliveryFilter {
  const [ms, deliveryId] = readToken(query.get('after'), 'ms', 'uuid') ?? [];
  return {
    endpointId: uuidIn(query, 'endpoint'),
    status: deliveryStatuses.find((one) => one === query.get('status')) ?? null,
    type: eventTypes.find((one) => one === query.get('type')) ?? null,
    from: startOfDay(query.get('from') ?? '', zone),
    to: endOfDay(query.get('to') ?? '', zone),
    after: deliveryId === undefined ? null : { createdAt: new Date(Number(ms)), deliveryId },
  };
}

export const endpointChoices = (endpoints: EndpointRow[]): Record<string, string> =>
  Object.fromEntries(endpoints.map((row) => [row.endpoint_id, row.url.slice(0, 60)]));

function lastWords(row: { last_status: number | null; last_error: string | null; last_ms: number | null }): Content {
  if (row.last_ms === null) return 'Not tried yet';
  return html`${row.last_error ?? `Status ${row.last_status}`} <span class="hint">${row.last_ms} ms</span>`;
}

const isResendable = (row: BrowsedDelivery): boolean =>
  row.emptied === null && (row.status === 'dead' || row.status === 'succeeded');

async function deliveries(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, path } = visit;
  const [endpoints, { deliveries: rows, next }] = await Promise.all([
    listEndpoints(app.db, id),
    browseDeliveries(app.db, id, readFilter(visit), limits.consoleRows),
  ]);
  return listPage<BrowsedDelivery>(visit, {
    title: 'Deliveries',
    says: 'Events sent to your webhook endpoints, with their state. You can send them again.',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    filters: (q) => [
      q.select('endpoint', 'Webhook endpoint', any(endpointChoices(endpoints))),
      q.select('status', 'State', any(wordsOf(states))),
      q.select('type', 'Event', any(eventTypes.map((value) => ({ value, label: eventLabel(value) })))),
      q.text('from', 'From', { type: 'date' }),
      q.text('to', 'To', { type: 'date' }),
    ],
    caption: 'Deliveries, newest first',
    none:
      next === null
        ? 'No delivery matches. Deliveries are kept for at least 30 days.'
        : html`No delivery since ${moment(next.createdAt, zone)} matches. Open the next page for older ones.`,
    rows,
    columns: {
      Event: (row) => html`<a href="${path}/${row.delivery_id}">${eventLabel(row.type)}</a>`,
      Created: plain((row) => instant(row.created_at, zone)),
      'Webhook endpoint': plain((row) => new URL(row.url).host),
      State: (row) => (row.emptied === null ? label(...states[row.status]) : emptiedWords[row.emptied]),
      Attempts: wideOnly(numeric((row) => row.attempts)),
      'Last attempt': wideOnly(lastWords),
      ...(rows.some(isResendable) && {
        'Send again': (row: BrowsedDelivery) =>
          isResendable(row) && tickBox('delivery', row.delivery_id, row.delivery_id),
      }),
    },
    around: (shown) =>
      rows.some(isResendable)
        ? fieldsOf(visit).form('Send selected deliveries again', { to: `${base}/resends/chosen` }, shown)
        : shown,
    next: next && `${next.createdAt.getTime()}.${next.deliveryId}`,
  });
}

async function delivery(visit: Visit): Promise<Answer> {
  const { base, zone, role, query } = visit;
  const { delivery: one, attempts } = await findOr404(visit, 'delivery_id', findDelivery);
  const gone = one.emptied === null ? null : emptiedWords[one.emptied];
  const body = gone ?? payloadFor(role, one.payload);
  const canResend = gone === null && one.status !== 'pending';
  const about = gone === null ? await aboutWhom(visit.app.db, visit.organisationId, one.payload) : undefined;
  return {
    title: eventLabel(one.type),
    back: { to: `${base}/deliveries`, label: 'Deliveries' },
    about,
    main: [
      notice(query, { resent: 'The delivery is being sent again, with the same delivery ID.' }),
      facts({
        State: gone ?? label(...states[one.status]),
        'Webhook endpoint': html`<a href="${base}/webhooks/${one.endpoint_id}">${one.url}</a>`,
        Happened: moment(one.occurred_at, zone),
        'Next attempt': moment(one.next_attempt_at, zone),
        'Delivery ID': code(one.delivery_id),
      }),
      canResend && buttonForm(`${base}/deliveries/${one.delivery_id}/resend`, 'Send again'),
      html`<h2>Attempts</h2>`,
      attempts.length === 0
        ? empty('No attempt yet. The worker sends the event soon.')
        : attempts.map((attempt) => attemptPart(attempt, one.delivery_id, one.payload, zone)),
      html`<h2>Body</h2><p class="hint">${gone === null ? 'Every attempt sends the same bytes.' : 'The result or learner is deleted, so the body is not kept.'}${body === one.payload || gone !== null ? null : ' Names, scores and levels are not shown to your role.'}</p><pre tabindex="0"><code>${body}</code></pre>`,
    ],
  };
}

function attemptPart(attempt: KeptAttempt, deliveryId: string, payload: string, zone: string): Content {
  const sent = sentRequest(attempt.sent, deliveryId, payload);
  return html`<h3>${attempt.number}. ${moment(attempt.at, zone)}</h3><p>${attempt.error ?? `Status ${attempt.status_code}`} <span class="hint">${attempt.duration_ms} ms</span></p>${
    sent === null
      ? html`<p class="hint">The request was not kept.</p>`
      : html`<details><summary>Request</summary><p class="hint">To ${sent.url}, before the body:</p><pre tabindex="0"><code>${sent.head}</code></pre></details>`
  }`;
}

async function resend(visit: Visit): Promise<Answer> {
  const { base, organisationId, params, change } = visit;
  const id = params.delivery_id!.toLowerCase();
  if (!isUuid(id)) throw new NoSuchPage();
  const refusal = await change(
    (work) => redeliverOne(work, organisationId, id),
    (result) => result === null && id,
  );
  if (refusal === 'unknown') throw new NoSuchPage();
  return { to: `${base}/deliveries/${id}${refusal === null ? '?did=resent' : ''}` };
}

const dayMs = 24 * 3600_000;
/** The most deliveries that a form may select. One page of the list shows fewer. */
const maxChosen = 500;

async function choosePage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId, zone, query } = visit;
  const endpoints = await listEndpoints(app.db, organisationId);
  const aWeekAgo = new Date(app.clock.nowMs() - 7 * dayMs);
  return formPage(visit, {
    title: 'Send dead letters again',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    faults,
    intro: html`<p>The service counts the dead letters first. Nothing is sent before you confirm.</p>`,
    button: 'Count dead letters',
    to: `${base}/resends/failed`,
    fields: (f) => [
      f.select('endpoint', 'Webhook endpoint', any(endpointChoices(endpoints), 'All'), {
        initial: query.get('endpoint') ?? '',
      }),
      f.text('since', 'Failed on this day or later', { type: 'date', initial: dayOf(aWeekAgo, zone) }),
    ],
  });
}

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
  const nothing = 'No dead letter matches, or every matching delivery has succeeded.';
  if (found === 0) return { ...messagePage('There is nothing to send again', nothing), back };
  const deliveries = count(found, 'delivery', 'deliveries');
  return confirmPage(visit, {
    title: `Send ${deliveries} again?`,
    back,
    says: [
      `${deliveries} will be sent again, with the same IDs and a new retry schedule. Your webhook endpoint ignores IDs that it has received. Deliveries that have succeeded are not sent. This can’t be undone.`,
    ],
    button: `Send ${deliveries} again`,
    to: `${base}/resends/create`,
    danger: false,
    fields: () => [
      'deliveryIds' in which
        ? which.deliveryIds.map((id) => hiddenField('delivery', id))
        : [hiddenField('since', sent.text('since')), hiddenField('endpoint', sent.text('endpoint'))],
      hiddenField('once', app.random.uuid()),
    ],
  });
}

async function failed(visit: Visit): Promise<Answer> {
  const which = readWhich(visit);
  if (which === null || 'deliveryIds' in which)
    return choosePage(visit, { since: 'Choose a day, such as 2026-01-31.' });
  return confirmation(visit, which, `${visit.base}/resends/create`);
}

async function chosen(visit: Visit): Promise<Answer> {
  const back = { to: `${visit.base}/deliveries`, label: 'Deliveries' };
  const which = readWhich(visit);
  if (which === null || !('deliveryIds' in which))
    return refusal('No delivery is selected', 'Go back and tick the deliveries to send again.', back);
  return confirmation(visit, which, back.to);
}

async function order(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, userId } = visit;
  const which = readWhich(visit);
  if (which === null) return choosePage(visit, { since: 'Choose a day, such as 2026-01-31.' });
  const resendId = onceOf(visit);
  const find: typeof resends.find = (...of) => resends.find(...of);
  await createOnce(visit, resendId, find, (work) => orderResend(work, id, { resendId, which, by: userId }));
  inBackground(app, 'resend.failed', resends.run(app));
  return { to: `${base}/resends/${resendId}` };
}

async function resendPage(visit: Visit): Promise<Answer> {
  const { base, zone, path } = visit;
  const found = await findOr404(visit, 'resend_id', (...of) => resends.find(...of));
  const isDone = found.finished_at !== null;
  return {
    title: isDone ? 'Deliveries are queued again' : 'Deliveries are being queued again',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    main: [
      facts({ Started: moment(found.created_at, zone) }),
      isDone
        ? facts({
            Queued: `${number(found.resent)} of ${number(found.total)}`,
            Done: moment(found.finished_at, zone),
          })
        : progress('Deliveries queued', found.resent, found.total, path),
      html`<p><a href="${base}/deliveries">Deliveries</a></p>`,
    ],
  };
}
