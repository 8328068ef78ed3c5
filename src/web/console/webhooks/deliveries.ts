import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { emptiedWords } from '../../../feed/events/cancel.ts';
import { findLearnersByRefs } from '../../../records/learners/learners.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type {
  BrowsedDelivery,
  DeliveryFilter,
  KeptAttempt,
  DeliveryStatus,
} from '../../../integrations/webhooks/browse.ts';
import { browseDeliveries, findDelivery, deliveryStatuses } from '../../../integrations/webhooks/browse.ts';
import { redeliverOne } from '../../../integrations/webhooks/resend.ts';
import { sentRequest } from '../../../integrations/webhooks/http/signing.ts';
import type { EndpointRow } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { listEndpoints } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { empty, facts, filters, moment, notice, pager, table, numeric } from '../kit/blocks.ts';
import { buttonForm, filtersOf, fieldsOf, tickBox, any } from '../kit/form.ts';
import { payloadFor } from './payload.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get, post, named, unlessRefused } from '../kit/route.ts';
import { eventNames } from './webhooks.ts';
import { endOfDay, startOfDay } from '../../../organisations/zone.ts';
import { eventTypes } from '../../../platform/validation/event-types.ts';
import { integrators } from '../../../organisations/users/roles.ts';

export const deliveryRoutes: ConsoleRoute[] = [
  get('/deliveries', integrators, deliveries),
  get('/deliveries/{delivery_id}', integrators, delivery),
  post('/deliveries/{delivery_id}/resend', integrators, resend),
];

export const deliveryWords: Record<DeliveryStatus, string> = {
  pending: 'Waiting',
  succeeded: 'Delivered',
  dead: 'Finally failed',
  cancelled: 'Cancelled',
};

/** Unknown values of the query filter nothing. */
function readFilter({ query, zone }: Visit): DeliveryFilter {
  const id = (name: string) => {
    const given = query.get(name) ?? '';
    return isUuid(given) ? given.toLowerCase() : null;
  };
  const [, ms, deliveryId] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(query.get('after') ?? '') ?? [];
  return {
    endpointId: id('endpoint'),
    status: deliveryStatuses.find((one) => one === query.get('status')) ?? null,
    type: eventTypes.find((one) => one === query.get('type')) ?? null,
    from: startOfDay(query.get('from') ?? '', zone),
    to: endOfDay(query.get('to') ?? '', zone),
    after:
      ms === undefined || !isUuid(deliveryId!) ? null : { createdAt: new Date(Number(ms)), deliveryId: deliveryId! },
  };
}

export const endpointChoices = (endpoints: EndpointRow[]): Record<string, string> =>
  Object.fromEntries(endpoints.map((row) => [row.endpoint_id, row.url.slice(0, 60)]));

function filterForm(visit: Visit, endpoints: EndpointRow[]): Content {
  const q = filtersOf(visit);
  return filters(visit.path, [
    q.select('endpoint', 'Endpoint', any(endpointChoices(endpoints))),
    q.select('status', 'State', any(deliveryWords)),
    q.select('type', 'Event', any(eventNames)),
    q.text('from', 'From', { type: 'date' }),
    q.text('to', 'To', { type: 'date' }),
  ]);
}

function lastWords(row: { last_status: number | null; last_error: string | null; last_ms: number | null }): Content {
  if (row.last_ms === null) return 'Not tried yet';
  return html`${row.last_error ?? `Answered ${row.last_status}`} <span class="hint">${row.last_ms} ms</span>`;
}

async function deliveries(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, path } = visit;
  const [endpoints, { deliveries: rows, next }] = await Promise.all([
    listEndpoints(app.db, id),
    browseDeliveries(app.db, id, readFilter(visit), limits.consoleRows),
  ]);
  const shown = table<BrowsedDelivery>('The newest first', rows, {
    Event: (row) => html`<a href="${path}/${row.delivery_id}">${eventNames[row.type] ?? row.type}</a>`,
    Made: (row) => moment(row.created_at, zone),
    Endpoint: (row) => new URL(row.url).host,
    State: (row) => (row.emptied === null ? deliveryWords[row.status] : emptiedWords[row.emptied]),
    Attempts: numeric((row) => row.attempts),
    'Last attempt': lastWords,
    'Send again': (row) =>
      row.emptied === null && (row.status === 'dead' || row.status === 'succeeded')
        ? tickBox('delivery', row.delivery_id, row.delivery_id)
        : '',
  });
  return {
    title: 'Deliveries',
    says: 'What was sent to your endpoints, what became of it, and what can be sent again.',
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    main: html`${filterForm(visit, endpoints)}${
      rows.length === 0
        ? empty(
            next === null
              ? 'There are none like this. Deliveries are kept for 30 days at least.'
              : html`There are none like this since ${moment(next.createdAt, zone)}. The next page looks further back.`,
          )
        : fieldsOf(visit).form('Send the chosen ones again', { to: `${base}/resends/chosen` }, shown)
    }${pager(visit, next && `${next.createdAt.getTime()}.${next.deliveryId}`)}`,
  };
}

async function delivery(visit: Visit): Promise<Answer> {
  const { base, zone, role, query } = visit;
  const { delivery: one, attempts } = await named(visit, 'delivery_id', findDelivery);
  const gone = one.emptied === null ? null : emptiedWords[one.emptied];
  const body = gone ?? payloadFor(role, one.payload);
  const mayResend = gone === null && one.status !== 'pending';
  const about = gone === null ? await aboutWhom(visit, one.payload) : undefined;
  return {
    title: eventNames[one.type] ?? one.type,
    back: { to: `${base}/deliveries`, label: 'Deliveries' },
    main: html`${notice(query, { resent: 'It is being sent again, under the same delivery id.' })}${facts({
      State: gone ?? deliveryWords[one.status],
      Endpoint: html`<a href="${base}/webhooks/${one.endpoint_id}">${one.url}</a>`,
      Happened: moment(one.occurred_at, zone),
      'Next attempt': one.next_attempt_at === null ? null : moment(one.next_attempt_at, zone),
      'Delivery id': html`<code>${one.delivery_id}</code>`,
    })}${mayResend ? buttonForm(`${base}/deliveries/${one.delivery_id}/resend`, 'Send it again') : null}<h2>Attempts</h2>${
      attempts.length === 0
        ? empty('There was none yet.')
        : attempts.map((attempt) => attemptPart(attempt, one.delivery_id, one.payload, zone))
    }<h2>Body</h2><p class="hint">${gone === null ? 'The same in every attempt, byte for byte.' : 'What it told of is gone, and nothing of it is kept.'}${body === one.payload || gone !== null ? null : ' Names, scores and levels are not shown to your role.'}</p><pre tabindex="0"><code>${body}</code></pre>`,
    ...(about === undefined ? {} : { about }),
  };
}

/** The result stays the learner's after a merge; a reference may not. */
async function aboutWhom({ app, organisationId }: Visit, payload: string): Promise<Answer['about']> {
  const [, assessmentId] = /"assessment_id":"([0-9a-f-]{36})"/.exec(payload) ?? [];
  if (assessmentId !== undefined) return { of: 'result', id: assessmentId };
  const [, ref] = /"learner_ref":"([^"]*)"/.exec(payload) ?? [];
  if (ref === undefined) return undefined;
  const [learner] = await findLearnersByRefs(app.db, organisationId, [ref]);
  return learner === undefined ? undefined : { of: 'learner', id: learner.learner_id };
}

function attemptPart(attempt: KeptAttempt, deliveryId: string, payload: string, zone: string): Content {
  const sent = sentRequest(attempt.sent, deliveryId, payload);
  return html`<h3>${attempt.number}. ${moment(attempt.at, zone)}</h3><p>${attempt.error ?? `Answered ${attempt.status_code}`} <span class="hint">${attempt.duration_ms} ms</span></p>${
    sent === null
      ? html`<p class="hint">What was sent was not kept.</p>`
      : html`<details><summary>What was sent</summary><p class="hint">To ${sent.url}, before the body:</p><pre tabindex="0"><code>${sent.head}</code></pre></details>`
  }`;
}

async function resend(visit: Visit): Promise<Answer> {
  const { base, organisationId, params, change } = visit;
  const id = params.delivery_id!.toLowerCase();
  if (!isUuid(id)) throw new NoSuchPage();
  const refused = await change(async (work) => unlessRefused(await redeliverOne(work, organisationId, id), id));
  if (refused === 'unknown') throw new NoSuchPage();
  return { to: `${base}/deliveries/${id}${refused === null ? '?did=resent' : ''}` };
}
