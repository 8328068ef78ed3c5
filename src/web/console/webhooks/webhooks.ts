import { type Content, type Markup, html } from '../../../platform/html/html.ts';
import { findGroups } from '../../../organisations/groups/groups.ts';
import type { EndpointRow } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import {
  editEndpoint,
  registerEndpoint,
  secretEnds,
  countUndelivered,
  findEndpoint,
  lastDelivered,
  listEndpoints,
} from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { limits } from '../../../platform/config/limits.ts';
import { ApiError } from '../../../platform/errors/errors.ts';
import { type Hour, hoursOf, maxSummarised } from '../../../integrations/webhooks/browse.ts';
import { endpointWarning, noticeAfterMs } from '../../../integrations/webhooks/endpoints/health.ts';
import { type Notice, latestNotices } from '../../../integrations/webhooks/endpoints/notices.ts';
import { keepMs } from '../../../integrations/webhooks/retention.ts';
import { facts, moment, notice, number, code, label } from '../kit/blocks.ts';
import { type Faults, buttonForm, fieldsOf } from '../kit/form.ts';
import { enterButton, groupField, looksForGroups } from '../kit/group-field.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { createOnce, again, NoSuchPage, get, formRoutes, onceOf, routesOf } from '../kit/route.ts';
import { endpointOf, shownSecret, webhookActs } from './actions.ts';
import { type FormVersion, overtakenNote, versionOf, sentVersion, saveVersion } from '../kit/form-version.ts';
import { assessmentCompleted, eventLabel, eventTypes } from '../../../platform/validation/event-types.ts';
import { integrators } from '../../../organisations/users/roles.ts';
import { formPage } from '../kit/page.ts';
import { type WrittenEndpoint, readEndpoint } from '../../../integrations/webhooks/endpoints/written.ts';
import { bar, table, numeric } from '../kit/table.ts';

const ofEndpoint = routesOf(endpointOf);
export const webhookRoutes: ConsoleRoute[] = [
  get('/webhooks', integrators, webhooks, { menu: 'Webhooks', section: 'integration' }),
  ...formRoutes('/webhooks/create', integrators, createPage, create, { proof: true }),
  ofEndpoint.get('/webhooks/{endpoint_id}', integrators, webhook),
  ...ofEndpoint.form('/webhooks/{endpoint_id}/edit', integrators, showEdit, edit, { proof: true }),
  ...webhookActs,
];

const eventChoices = eventTypes.map((value) => ({ value, label: eventLabel(value), hint: value }));

const noticeWords: Record<Notice['kind'], string> = {
  failing: 'has started failing',
  recovered: 'has recovered',
  disabled: 'was disabled',
};

const noticeDaysMs = 7 * 24 * 3600_000;
const hoursShown = 24;

/** Counts stop at this number per endpoint. */
const maxCounted = 10_000;
const counted = (n: number) => (n > maxCounted ? `over ${number(maxCounted)}` : number(n));

/** Says whether an endpoint is healthy or failing. An endpoint without a delivery is neither. */
function health(row: EndpointRow, delivered: Date | undefined, waiting: number, nowMs: number, zone: string): Content {
  if (row.status === 'disabled') return row.disabled_reason;
  if (row.failing_since !== null && nowMs - row.failing_since.getTime() >= noticeAfterMs)
    return html`${label('bad', 'Failing')} since ${moment(row.failing_since, zone)}`;
  if (row.failing_since !== null)
    return html`Failed at ${moment(row.failing_since, zone)}${row.status === 'active' && waiting > 0 ? '; deliveries are retried' : null}`;
  if (delivered !== undefined) return html`Last delivered ${moment(delivered, zone)}`;
  if (waiting > 0) return 'Nothing delivered, deliveries wait';
  return nowMs - row.created_at.getTime() < keepMs
    ? 'Nothing delivered yet'
    : `Nothing delivered in ${keepMs / 86_400_000} days`;
}

const statusLabels: Record<EndpointRow['status'], Content> = {
  active: label('good', 'Active'),
  paused: label('wait', 'Paused'),
  disabled: label('bad', 'Disabled'),
};

async function webhooks(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const nowMs = app.clock.nowMs();
  const [rows, delivered, undelivered, notices] = await Promise.all([
    listEndpoints(app.db, id),
    lastDelivered(app.db, id),
    countUndelivered(app.db, id, { upTo: maxCounted + 1 }),
    latestNotices(app.db, id, new Date(nowMs - noticeDaysMs), 10),
  ]);
  const waiting = (row: EndpointRow) => undelivered.get(row.endpoint_id)?.pending ?? 0;
  const dead = (row: EndpointRow) => undelivered.get(row.endpoint_id)?.dead ?? 0;
  return {
    title: 'Webhooks',
    says: 'The URLs at which your platforms receive events about results and groups.',
    actions: html`<a href="${base}/deliveries">Deliveries</a><a href="${base}/resends/create">Send dead letters again</a><a class="button" href="${base}/webhooks/create">Register webhook endpoint</a>`,
    main: [
      notice(query, { removed: 'The webhook endpoint is removed. No more events are sent to it.' }),
      notices.length > 0 &&
        html`<div class="note"><h2>Notices of the last 7 days</h2><ul>${notices.map((one) => noticeLine(visit, one))}</ul></div>`,
      table<EndpointRow>(
        {
          caption: 'Webhook endpoints, oldest first',
          sorting: visit,
          none: 'No webhook endpoint is registered. Register one, or let platforms poll the feed.',
        },
        rows,
        {
          URL: (row) => html`<a href="${base}/webhooks/${row.endpoint_id}">${row.url}</a>`,
          State: (row) => statusLabels[row.status],
          Health: (row) => health(row, delivered.get(row.endpoint_id), waiting(row), nowMs, zone),
          Waiting: numeric((row) => counted(waiting(row))),
          'Dead letters': numeric((row) =>
            dead(row) === 0
              ? '0'
              : html`<a href="${base}/deliveries?endpoint=${row.endpoint_id}&status=dead">${counted(dead(row))}</a>`,
          ),
        },
      ),
    ],
  };
}

function noticeLine({ base, zone }: Visit, { at, endpoint_id, url, kind, since }: Notice): Markup {
  const after = since !== null && kind !== 'failing' && html`, after failures since ${moment(since, zone)}`;
  return html`<li>${moment(at, zone)}: <a href="${base}/webhooks/${endpoint_id}">${url}</a> ${noticeWords[kind]}${after}</li>`;
}

const groupNames = (groups: readonly { name: string }[]) =>
  groups
    .map((one) => one.name)
    .sort()
    .join('; ');

async function webhook(visit: Visit, row: EndpointRow): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const { endpoint_id: endpointId } = row;
  const here = `${base}/webhooks/${endpointId}`;
  const nowMs = app.clock.nowMs();
  const [hours, delivered, undelivered, groups] = await Promise.all([
    hoursOf(app.db, id, endpointId, nowMs, hoursShown),
    lastDelivered(app.db, id, endpointId),
    countUndelivered(app.db, id, { endpointId, upTo: 1 }),
    row.group_ids === null ? [] : findGroups(app.db, id, row.group_ids),
  ]);
  const waiting = undelivered.get(endpointId)?.pending ?? 0;
  const warning = row.status === 'disabled' ? null : endpointWarning(row, nowMs);
  return {
    title: new URL(row.url).host,
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    main: [
      notice(query, {
        edited: 'The webhook endpoint is saved. Waiting deliveries use the new settings.',
        paused: 'The webhook endpoint is paused. New deliveries wait.',
        resumed: 'The webhook endpoint is active. Waiting deliveries are being sent.',
      }),
      warning !== null && html`<div class="error"><p>${warning}</p></div>`,
      facts({
        URL: row.url,
        State: statusLabels[row.status],
        Health: health(row, delivered.get(endpointId), waiting, nowMs, zone),
        Events: typeWords(row.event_types),
        Groups: row.group_ids === null ? 'All' : groupNames(groups),
        Registered: moment(row.created_at, zone),
        'Endpoint ID': code(endpointId),
      }),
      html`<div class="actions"><a class="button" href="${here}/edit">Edit</a><a href="${base}/deliveries?endpoint=${endpointId}">Deliveries</a><a href="${base}/resends/create?endpoint=${endpointId}">Send dead letters again</a></div>`,
      buttonForm(`${here}/test`, 'Send test event'),
      row.status === 'active'
        ? buttonForm(`${here}/pause`, 'Pause')
        : buttonForm(`${here}/resume`, row.status === 'paused' ? 'Resume' : 'Enable again'),
      html`<h2>Signing secrets</h2>`,
      table<Date | null>('Secrets that sign deliveries', secretEnds(row, nowMs), {
        Secret: (end) => (end === null ? 'Current' : 'Earlier'),
        'Signs until': (end) => moment(end, zone) ?? 'Next rotation',
      }),
      html`<p><a href="${here}/rotate">Rotate signing secret</a></p><h2>The last ${hoursShown} hours</h2>`,
      chart(hours, zone),
      html`<h2>Remove webhook endpoint</h2><p><a href="${here}/remove">Remove webhook endpoint</a></p>`,
    ],
  };
}

const typeWords = (types: readonly string[]): string => types.map(eventLabel).join('; ');

function chart(hours: Hour[], zone: string): Content {
  const max = Math.max(...hours.map((one) => one.succeeded + one.failed));
  const slowest = Math.max(...hours.map((one) => one.median_ms));
  const caption = `Attempts by hour, of the newest ${number(maxSummarised)} deliveries`;
  return table<Hour>({ caption, none: 'No event was sent in this time.' }, hours, {
    'Hour from': (one) => moment(one.hour, zone),
    Succeeded: numeric((one) => html`${one.succeeded}${bar(one.succeeded, max)}`),
    Failed: numeric((one) => html`${one.failed}${bar(one.failed, max)}`),
    'Median, ms': numeric((one) => html`${one.median_ms}${bar(one.median_ms, slowest)}`),
    'Slowest, ms': numeric((one) => one.slowest_ms),
  });
}

const written = ({ form: sent }: Visit): WrittenEndpoint => ({
  url: sent.text('url'),
  eventTypes: sent.all('eventTypes'),
  groups: sent.all('groups'),
});

async function endpointFields(visit: Visit, shown: WrittenEndpoint, faults: Faults = {}): Promise<Content> {
  const f = fieldsOf(visit, faults, shown);
  return [
    enterButton(),
    f.text('url', 'URL', { hint: 'Such as https://platform.example/webhooks.', type: 'url' }),
    f.tick('eventTypes', 'Events', eventChoices),
    await groupField(visit, {
      label: 'Only learners in these groups',
      hint: `None ticked: all. At most ${limits.webhookGroups}.`,
      chosen: shown.groups,
      fault: faults.groups,
    }),
  ];
}

async function createPage(visit: Visit): Promise<Answer> {
  const shown = written(visit);
  if (visit.form.text('once') === '') shown.eventTypes = [assessmentCompleted];
  const described = await endpointFields(visit, shown, visit.faults);
  return formPage(visit, {
    title: 'Register webhook endpoint',
    says: 'The service sends each event to this URL of your platform.',
    back: { to: `${visit.base}/webhooks`, label: 'Webhooks' },
    button: 'Register webhook endpoint',
    fields: (f) => [described, f.once(visit.app)],
  });
}

async function create(visit: Visit) {
  const { organisationId: id } = visit;
  if (looksForGroups(visit.form)) return again();
  const read = await readEndpoint(visit.app, visit.organisationId, written(visit));
  if ('faults' in read) return again(read.faults);
  const endpointId = onceOf(visit);
  try {
    const made = await createOnce(visit, endpointId, findEndpoint, (work) =>
      registerEndpoint(work, id, { ...read.description, endpointId }),
    );
    return shownSecret(visit, endpointId, made?.made.secret ?? null, 'The webhook endpoint is registered', null);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'webhook_limit_exceeded') throw error;
    return again({
      url: `There are ${limits.webhooksPerOrganisation} webhook endpoints, which is the maximum. Remove one first.`,
    });
  }
}

const writtenOf = (row: Pick<EndpointRow, 'url' | 'event_types' | 'group_ids'>): WrittenEndpoint => ({
  url: row.url,
  eventTypes: [...row.event_types].sort(),
  groups: [...(row.group_ids ?? [])].sort(),
});

async function showEdit(visit: Visit, row: EndpointRow): Promise<Answer> {
  const shown = writtenOf(row);
  return editPage(visit, row, shown, { version: versionOf(shown) });
}

async function editPage(
  visit: Visit,
  { endpoint_id: id }: EndpointRow,
  shown: WrittenEndpoint,
  { version, faults = {}, overtaken }: FormVersion,
): Promise<Answer> {
  const described = await endpointFields(visit, shown, faults);
  const page = formPage(visit, {
    title: 'Edit webhook endpoint',
    back: { to: `${visit.base}/webhooks/${id}`, label: 'Webhook endpoint' },
    faults,
    intro: overtaken,
    button: 'Save',
    fields: (f) => [f.version(version), described],
  });
  return { ...page, status: overtaken && 409 };
}

async function edit(visit: Visit, row: EndpointRow): Promise<Answer> {
  const { app, base, organisationId: id } = visit;
  const version = sentVersion(visit);
  if (looksForGroups(visit.form)) return editPage(visit, row, written(visit), { version });
  const read = await readEndpoint(visit.app, visit.organisationId, written(visit));
  if ('faults' in read) return editPage(visit, row, written(visit), { version, faults: read.faults });
  const { url, eventTypes: event_types, groupIds: group_ids } = read.description;
  const entered = writtenOf({ url, event_types, group_ids });
  const instead = await saveVersion(visit, {
    resource: row.endpoint_id,
    async read(tx) {
      const stored = await findEndpoint(tx, id, row.endpoint_id);
      if (stored === undefined) throw new NoSuchPage();
      return writtenOf(stored);
    },
    written: entered,
    write: (work) => editEndpoint(work, id, row.endpoint_id, read.description),
  });
  if (instead === null) return { to: `${base}/webhooks/${row.endpoint_id}?did=edited` };
  const groups = await findGroups(app.db, id, [...instead.groups, ...entered.groups]);
  const groupWords = ({ groups: ids }: WrittenEndpoint) =>
    ids.length === 0 ? 'All' : groupNames(groups.filter((group) => ids.includes(group.group_id)));
  const overtaken = overtakenNote([
    ['URL', instead.url, entered.url],
    ['Events', typeWords(instead.eventTypes), typeWords(entered.eventTypes)],
    ['Groups', groupWords(instead), groupWords(entered)],
  ]);
  return editPage(visit, row, written(visit), { version: versionOf(instead), overtaken });
}
