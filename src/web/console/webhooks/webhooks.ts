import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { findGroups, knownGroups } from '../../../organisations/groups/groups.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { holdsNationalInsuranceNumber } from '../../../platform/validation/personal-data.ts';
import type { Settings } from '../../../platform/config/settings.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { checkUrl } from '../../../platform/validation/networks.ts';
import { asUri } from '../../../integrations/webhooks/schema.ts';
import type { EndpointInput } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { limits } from '../../../platform/config/limits.ts';
import { ApiError } from '../../../platform/errors/errors.ts';
import type { Hour } from '../../../integrations/webhooks/browse.ts';
import { hoursOf } from '../../../integrations/webhooks/browse.ts';
import {
  editEndpoint,
  registerEndpoint,
  secretEnds,
  countUndelivered,
  findEndpoint,
  lastDelivered,
  listEndpoints,
} from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { endpointWarning, noticeAfterMs } from '../../../integrations/webhooks/endpoints/health.ts';
import type { Notice } from '../../../integrations/webhooks/endpoints/notices.ts';
import { latestNotices } from '../../../integrations/webhooks/endpoints/notices.ts';
import type { EndpointRow } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { keepMs } from '../../../integrations/webhooks/retention.ts';
import { bar, facts, moment, notice, table, number, numeric } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { buttonForm, fieldsOf } from '../kit/form.ts';
import { enterButton, groupField, looksForGroups } from '../kit/group-field.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get, formRoutes, onceOf } from '../kit/route.ts';
import { endpointOf, shownSecret, webhookActs } from './actions.ts';
import type { Seen } from '../kit/form-version.ts';
import { markOf, overtakenNote, saveSeen, seenBy, seenField } from '../kit/form-version.ts';
import { assessmentCompleted, eventTypes, learnerGroupsUpdated } from '../../../platform/validation/event-types.ts';
import { integrators } from '../../../organisations/users/roles.ts';

export const webhookRoutes: ConsoleRoute[] = [
  get('/webhooks', integrators, webhooks, { menu: 'Webhooks', section: 'integration' }),
  ...formRoutes('/webhooks/create', integrators, createPage, create, { proof: true }),
  get('/webhooks/{endpoint_id}', integrators, webhook),
  ...formRoutes('/webhooks/{endpoint_id}/edit', integrators, showEdit, edit, { proof: true }),
  ...webhookActs,
];

export const eventNames: Record<string, string> = {
  [assessmentCompleted]: 'A result is completed',
  [learnerGroupsUpdated]: 'A learner joins or leaves groups',
};

const eventChoices = eventTypes.map((value) => ({ value, label: eventNames[value]!, hint: value }));

const noticeWords: Record<Notice['kind'], string> = {
  failing: 'has begun to fail',
  recovered: 'has recovered',
  disabled: 'was disabled',
};

const noticeDaysMs = 7 * 24 * 3600_000;
const hoursShown = 24;

/** The count for one endpoint stops here. */
const maxCounted = 10_000;
const counted = (n: number) => (n > maxCounted ? `over ${number(maxCounted)}` : number(n));

/** An endpoint to which nothing was sent is neither healthy nor failing. */
function health(
  row: EndpointRow,
  { delivered, waiting, nowMs }: { delivered: Date | undefined; waiting: number; nowMs: number },
  zone: string,
): Content {
  if (row.status === 'disabled') return row.disabled_reason;
  if (row.failing_since !== null && nowMs - row.failing_since.getTime() >= noticeAfterMs)
    return html`<strong>Failing</strong> since ${moment(row.failing_since, zone)}`;
  if (row.failing_since !== null)
    return html`Failed at ${moment(row.failing_since, zone)}${row.status === 'active' && waiting > 0 ? ', is tried again' : null}`;
  if (delivered !== undefined) return html`Last delivered ${moment(delivered, zone)}`;
  if (waiting > 0) return 'Nothing delivered of what waits';
  return nowMs - row.created_at.getTime() < keepMs
    ? 'Nothing delivered yet'
    : `Nothing delivered in ${keepMs / 86_400_000} days`;
}

const statusWords: Record<EndpointRow['status'], string> = {
  active: 'Active',
  paused: 'Paused',
  disabled: 'Disabled',
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
    says: 'Where your platforms are told of results and groups, and whether it arrives.',
    main: html`${notice(query, { removed: 'The endpoint is removed. Nothing is sent to it any more.' })}${
      notices.length === 0
        ? null
        : html`<div class="note"><h2>In the last seven days</h2><ul>${notices.map(
            (one) =>
              html`<li>${moment(one.at, zone)}: <a href="${base}/webhooks/${one.endpoint_id}">${one.url}</a> ${noticeWords[one.kind]}${one.since === null || one.kind === 'failing' ? null : html`, after it had failed since ${moment(one.since, zone)}`}</li>`,
          )}</ul></div>`
    }<div class="actions"><a class="button" href="${base}/webhooks/create">Register an endpoint</a><a href="${base}/deliveries">All deliveries</a><a href="${base}/resends/create">Send failed ones again</a></div>${table<EndpointRow>(
      {
        caption: 'Endpoints, the oldest first',
        none: 'No endpoint is registered. The feed tells the same, at the next poll.',
      },
      rows,
      {
        Address: (row) => html`<a href="${base}/webhooks/${row.endpoint_id}">${row.url}</a>`,
        State: (row) => statusWords[row.status],
        Health: (row) => health(row, { delivered: delivered.get(row.endpoint_id), waiting: waiting(row), nowMs }, zone),
        Waiting: numeric((row) => counted(waiting(row))),
        'Finally failed': numeric((row) =>
          dead(row) === 0
            ? '0'
            : html`<a href="${base}/deliveries?endpoint=${row.endpoint_id}&status=dead">${counted(dead(row))}</a>`,
        ),
      },
    )}`,
  };
}

const groupNames = (groups: readonly { name: string }[]): string =>
  groups
    .map((group) => group.name)
    .sort()
    .join('; ');

async function webhook(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const row = await endpointOf(visit);
  const here = `${base}/webhooks/${row.endpoint_id}`;
  const nowMs = app.clock.nowMs();
  const { endpoint_id: endpointId } = row;
  const [hours, taken, undelivered] = await Promise.all([
    hoursOf(app.db, id, endpointId, nowMs, hoursShown),
    lastDelivered(app.db, id, endpointId),
    countUndelivered(app.db, id, { endpointId, upTo: 1 }),
  ]);
  const delivered = taken.get(endpointId);
  const waiting = undelivered.get(endpointId)?.pending ?? 0;
  const groups = row.group_ids === null ? [] : await findGroups(app.db, id, row.group_ids);
  const warning = row.status === 'disabled' ? null : endpointWarning(row, nowMs);
  return {
    title: new URL(row.url).host,
    back: { to: `${base}/webhooks`, label: 'Webhooks' },
    main: html`${notice(query, {
      edited: 'The endpoint is changed. What waits for it goes to its new address.',
      paused: 'The endpoint is paused. What comes meanwhile waits.',
      resumed: 'The endpoint is active. What waited is being sent.',
    })}${warning === null ? null : html`<div class="error"><p>${warning}</p></div>`}${facts({
      Address: row.url,
      State: statusWords[row.status],
      Health: health(row, { delivered, waiting, nowMs }, zone),
      'Told of': row.event_types.map((type) => eventNames[type] ?? type).join('; '),
      Groups: row.group_ids === null ? 'All' : groupNames(groups),
      Registered: moment(row.created_at, zone),
      'Endpoint id': html`<code>${row.endpoint_id}</code>`,
    })}<div class="actions"><a class="button" href="${here}/edit">Edit</a><a href="${base}/deliveries?endpoint=${row.endpoint_id}">Deliveries</a><a href="${base}/resends/create?endpoint=${row.endpoint_id}">Send failed ones again</a></div>${buttonForm(`${here}/test`, 'Send a test event')}${
      row.status === 'active'
        ? buttonForm(`${here}/pause`, 'Pause')
        : buttonForm(`${here}/resume`, row.status === 'paused' ? 'Resume' : 'Enable again')
    }<h2>Signing secrets</h2>${table<Date | null>('Each of them signs; none is shown again', secretEnds(row, nowMs), {
      Secret: (end) => (end === null ? 'The current one' : 'An earlier one'),
      'Signs until': (end) => (end === null ? 'It is rotated' : moment(end, zone)),
    })}<p><a href="${here}/rotate">Rotate the secret</a></p><h2>The last ${hoursShown} hours</h2>${chart(hours, zone)}<h2>Remove</h2><p><a href="${here}/remove">Remove the endpoint</a></p>`,
  };
}

function chart(hours: Hour[], zone: string): Content {
  const max = Math.max(...hours.map((one) => one.succeeded + one.failed));
  const slowest = Math.max(...hours.map((one) => one.median_ms));
  const caption = 'Attempts by hour: what came of them, and how long the endpoint took';
  return table<Hour>({ caption, none: 'Nothing was sent.' }, hours, {
    'Hour from': (one) => moment(one.hour, zone),
    Succeeded: numeric((one) => html`${one.succeeded}${bar(one.succeeded, max)}`),
    Failed: numeric((one) => html`${one.failed}${bar(one.failed, max)}`),
    'Median, ms': numeric((one) => html`${one.median_ms}${bar(one.median_ms, slowest)}`),
    'Slowest, ms': numeric((one) => one.slowest_ms),
  });
}

type WrittenEndpoint = { url: string; eventTypes: string[]; groups: string[] };

/** @returns the input, or the faults by field */
async function readEndpoint(
  tx: Tx,
  organisationId: number,
  written: WrittenEndpoint,
  settings: Settings,
): Promise<{ description: EndpointInput } | { faults: Partial<Record<keyof WrittenEndpoint, string>> }> {
  const faults: Partial<Record<keyof WrittenEndpoint, string>> = {};
  const verdict = checkUrl(written.url, { allowNetworks: settings.webhookAllowNetworks });
  const url = verdict.ok ? asUri(written.url) : '';
  if (!verdict.ok || url.length > limits.webhookUrlChars || holdsNationalInsuranceNumber(written.url))
    faults.url = `Enter an https address that the public internet can reach, without credentials or fragment${verdict.ok ? '' : `: ${verdict.reason}`}.`;
  const types = [...new Set(written.eventTypes)];
  if (types.length === 0 || !types.every((one) => (eventTypes as readonly string[]).includes(one)))
    faults.eventTypes = 'Choose at least one kind of event.';
  const groupIds = [...new Set(written.groups.map((id) => id.toLowerCase()))];
  if (groupIds.length > limits.webhookGroups) faults.groups = `Choose at most ${limits.webhookGroups} groups.`;
  else if (
    !groupIds.every(isUuid) ||
    (groupIds.length > 0 && (await knownGroups(tx, organisationId, groupIds)).size < groupIds.length)
  )
    faults.groups = 'Choose groups of the organisation.';
  if (Object.keys(faults).length > 0) return { faults };
  return { description: { url, eventTypes: types, groupIds: groupIds.length === 0 ? null : groupIds } };
}

function written({ form: sent }: Visit): WrittenEndpoint {
  return { url: sent.text('url'), eventTypes: sent.all('eventTypes'), groups: sent.all('groups') };
}

async function endpointFields(visit: Visit, shown: WrittenEndpoint, faults: Faults): Promise<Content> {
  const f = fieldsOf(visit, faults);
  return [
    enterButton(),
    f.text('url', 'Address', { hint: 'https, reachable from the internet.', type: 'url', value: shown.url }),
    f.tick('eventTypes', 'What it is told of', eventChoices, { values: shown.eventTypes }),
    await groupField(visit, {
      label: 'Only of learners in these groups',
      hint: `None ticked: all. At most ${limits.webhookGroups}.`,
      chosen: shown.groups,
      fault: faults.groups,
    }),
  ];
}

async function createPage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const f = fieldsOf(visit, faults);
  const cancel = `${visit.base}/webhooks`;
  const shown = written(visit);
  if (visit.form.text('once') === '') shown.eventTypes = [assessmentCompleted];
  return {
    title: 'Register an endpoint',
    says: 'An address of your platform that is told as soon as something happens.',
    back: { to: cancel, label: 'Webhooks' },
    faults,
    main: f.form('Register it and show its secret', { cancel }, [
      await endpointFields(visit, shown, faults),
      f.once(visit.app),
    ]),
  };
}

async function create(visit: Visit): Promise<Answer> {
  const { app, organisationId: id, change } = visit;
  if (looksForGroups(visit.form)) return createPage(visit);
  const read = await readEndpoint(app.db, id, written(visit), app.settings);
  if ('faults' in read) return createPage(visit, read.faults);
  const once = onceOf(visit);
  if (once === null) throw new NoSuchPage();
  try {
    // The form carries the ID of the endpoint: sent twice, it makes one.
    const secret = await change(async (work): Promise<Acted<string | null>> => {
      if ((await findEndpoint(work.tx, id, once)) !== undefined) return { result: null };
      const made = await registerEndpoint(work, id, { ...read.description, endpointId: once });
      return { result: made.secret, resource: once };
    });
    return shownSecret(visit, once, secret, 'The endpoint is registered', null);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'webhook_limit_exceeded') throw error;
    return createPage(visit, {
      url: `There are ${limits.webhooksPerOrganisation} endpoints already, as many as there may be: remove one first.`,
    });
  }
}

const writtenOf = (row: Pick<EndpointRow, 'url' | 'event_types' | 'group_ids'>): WrittenEndpoint => ({
  url: row.url,
  eventTypes: [...row.event_types].sort(),
  groups: [...(row.group_ids ?? [])].sort(),
});

async function showEdit(visit: Visit): Promise<Answer> {
  const row = await endpointOf(visit);
  const shown = writtenOf(row);
  return editPage(visit, row, shown, { seen: markOf(shown) });
}

async function editPage(
  visit: Visit,
  row: EndpointRow,
  shown: WrittenEndpoint,
  { seen, faults = {}, overtaken }: Seen,
): Promise<Answer> {
  const f = fieldsOf(visit, faults);
  const here = `${visit.base}/webhooks/${row.endpoint_id}`;
  return {
    title: 'Edit the endpoint',
    back: { to: here, label: 'The endpoint' },
    faults,
    status: overtaken && 409,
    main: html`${overtaken}${f.form('Save', { cancel: here }, [seenField(seen), await endpointFields(visit, shown, faults)])}`,
  };
}

async function edit(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id } = visit;
  const row = await endpointOf(visit);
  const seen = seenBy(visit);
  if (looksForGroups(visit.form)) return editPage(visit, row, written(visit), { seen });
  const read = await readEndpoint(app.db, id, written(visit), app.settings);
  if ('faults' in read) return editPage(visit, row, written(visit), { seen, faults: read.faults });
  const { url, eventTypes: event_types, groupIds: group_ids } = read.description;
  const entered = writtenOf({ url, event_types, group_ids });
  const instead = await saveSeen(visit, {
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
  const inWords = ({ eventTypes: types, groups: ids }: WrittenEndpoint) => ({
    types: types.map((type) => eventNames[type] ?? type).join('; '),
    groups: ids.length === 0 ? 'All' : groupNames(groups.filter((group) => ids.includes(group.group_id))),
  });
  const [now, yours] = [inWords(instead), inWords(entered)];
  const overtaken = overtakenNote([
    ['Address', instead.url, entered.url],
    ['What it is told of', now.types, yours.types],
    ['Groups', now.groups, yours.groups],
  ]);
  return editPage(visit, row, written(visit), { seen: markOf(instead), overtaken });
}
