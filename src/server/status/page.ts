import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tokens } from '../../platform/html/assets.ts';
import { type Content, Markup, html } from '../../platform/html/html.ts';
import { hasCountedCredits } from '../../organisations/credits.ts';
import {
  type Attention,
  type EndpointStatus,
  type KeyStatus,
  type OrganisationStatus,
  type Status,
  counted,
  duration,
} from './status.ts';

/** The operator's page on the port of ARS_METRICS_PORT: one document without script. */

const style = tokens + readFileSync(new URL('style.css', import.meta.url), 'utf8');

export const statusHeaders = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

const maxRows = 500;

const document = (title: string, main: Content): string =>
  html`<!doctype html><html lang="en" class="schemes"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} – Assessment Results Service</title>${new Markup(`<style>${style}</style>`)}</head><body><header><p><a href="/status">Assessment Results Service: status</a></p></header><main>${main}</main></body></html>`
    .text;

const moment = (ms: number | null, nowMs: number): Content =>
  ms === null
    ? 'Never'
    : html`<time datetime="${new Date(ms).toISOString()}">${ms > nowMs ? `in ${duration(ms - nowMs)}` : `${duration(nowMs - ms)} ago`}</time>`;

const attentionList = (attention: readonly Attention[], none: string): Content =>
  html`<ul class="attention">${attention.length === 0 ? html`<li>${none}</li>` : attention.map(({ level, text }) => html`<li class="${level}">${text}</li>`)}</ul>`;

type Cells<Row> = Record<string, (row: Row) => Content>;

/** The first column names the row. Columns in `numbers` contain figures. */
function table<Row>(
  caption: string,
  rows: readonly Row[],
  cells: Cells<Row>,
  numbers: readonly string[] = [],
): Content {
  const columns = Object.entries(cells);
  const classOf = (head: string) => (numbers.includes(head) ? 'number' : '');
  const cell = (row: Row, [head, of]: (typeof columns)[number], i: number) =>
    i === 0
      ? html`<th scope="row">${of(row)}</th>`
      : html`<td class="${classOf(head)}" data-head="${head}">${of(row)}</td>`;
  return html`<div class="scroll"><table><caption>${caption}</caption><thead><tr>${columns.map(([head]) => html`<th scope="col" class="${classOf(head)}">${head}</th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr>${columns.map((column, i) => cell(row, column, i))}</tr>`)}</tbody></table></div>`;
}

const tile = (count: number, text: string, level: '' | 'bad' | 'wait'): Content =>
  html`<li class="${count === 0 ? '' : level}"><strong>${count}</strong>${text}</li>`;

export const credits = ({ plan, credits: left }: OrganisationStatus): string =>
  hasCountedCredits(plan) ? String(left) : 'Not counted';

/** The states of an organisation's webhook endpoints, such as `2 active, 1 failing`. */
export function endpointStates({ endpoints }: OrganisationStatus): string {
  const groups = Map.groupBy(endpoints, ({ status }) => status);
  return [...groups].map(([status, of]) => `${of.length} ${status}`).join(', ') || 'None';
}

export function overviewPage({ at, organisations }: Status): string {
  const nowMs = Date.parse(at);
  const needing = organisations.filter(({ attention }) => attention.length > 0);
  const endpoints = organisations.flatMap((one) => one.endpoints);
  const silent = organisations.flatMap(({ keys }) => keys).filter((key) => key.is_silent && !key.is_replaced);
  const title = `${needing.length} of ${organisations.length} organisations need attention`;
  return document(title, [
    html`<h1>${title}</h1><p class="soft">At <time datetime="${at}">${at.slice(0, 16).replace('T', ' ')}</time> UTC. Open an organisation for its keys and webhook endpoints.</p>`,
    html`<ul class="tiles">${[
      tile(endpoints.filter(({ status }) => status === 'disabled').length, 'webhook endpoints disabled', 'bad'),
      tile(endpoints.filter(({ status }) => status === 'failing').length, 'webhook endpoints failing', 'bad'),
      tile(silent.length, 'keys have stopped polling', 'bad'),
      tile(organisations.filter((one) => one.dead_letters > 0).length, 'organisations with dead letters', 'bad'),
      tile(organisations.filter((one) => one.failed > 0).length, 'organisations with 5xx responses', 'wait'),
    ]}</ul>`,
    table(
      organisations.length > maxRows
        ? `The first ${maxRows} organisations, those that need attention first`
        : 'Organisations, those that need attention first',
      organisations.slice(0, maxRows),
      {
        Organisation: (one) =>
          html`<a href="/status/${one.organisation_id}">${one.name}</a>${one.is_sandbox && ' (sandbox)'}`,
        Attention: (one) => attentionList(one.attention, one.is_suspended ? 'Suspended' : 'None'),
        'Last request': (one) => moment(one.last_request_ms, nowMs),
        'Webhook endpoints': endpointStates,
        'Dead letters': (one) => counted(one.dead_letters),
        'Oldest pending': (one) => (one.oldest_pending_ms === null ? '–' : moment(one.oldest_pending_ms, nowMs)),
        '4xx, 5xx': (one) => `${one.refused}, ${one.failed}`,
        Credits: credits,
      },
      ['Dead letters', '4xx, 5xx', 'Credits'],
    ),
  ]);
}

export function organisationPage({ at, silent_after }: Status, one: OrganisationStatus): string {
  const nowMs = Date.parse(at);
  const rows: [string, Content][] = [
    ['Organisation', html`<code>${one.organisation_id}</code>`],
    ['Last request', moment(one.last_request_ms, nowMs)],
    ['Errors in this hour and the hour before', `${one.refused} responses with 4xx, ${one.failed} with 5xx`],
    ['Credits', credits(one)],
  ];
  return document(one.name, [
    html`<h1>${one.name}</h1><p class="soft">At ${at.slice(0, 16).replace('T', ' ')} UTC.</p>`,
    attentionList(one.attention, one.is_suspended ? 'Suspended' : 'Nothing needs attention'),
    html`<h2>State</h2>`,
    table('State of the organisation', rows, { Fact: ([head]) => head, Value: ([, value]) => value }),
    html`<h2>Access keys</h2>`,
    table<KeyStatus>(`A key is silent after ${silent_after} times its usual pause`, one.keys, {
      Key: (key) => html`<code>${key.key_id}</code>`,
      'Last request': (key) => moment(key.last_request_ms, nowMs),
      'Usual pause': (key) => (key.usual_ms === null ? 'Too few requests' : `Up to ${duration(key.usual_ms)}`),
      Ends: (key) => (key.expires_ms === null ? '–' : moment(key.expires_ms, nowMs)),
      State: (key) => attentionList(keyStates(key), 'Polls'),
    }),
    html`<h2>Webhook endpoints</h2>`,
    table<EndpointStatus>('Webhook endpoints, oldest first', one.endpoints, {
      'Endpoint ID': (endpoint) => html`<code>${endpoint.endpoint_id}</code>`,
      Host: (endpoint) => endpoint.host,
      State: (endpoint) => attentionList(endpointState(endpoint), 'Active'),
      'Failing since': (endpoint) =>
        endpoint.failing_since_ms === null ? '–' : moment(endpoint.failing_since_ms, nowMs),
      'Dead letters': (endpoint) => counted(endpoint.dead_letters),
      Pending: (endpoint) => counted(endpoint.pending),
      'Oldest pending': (endpoint) =>
        endpoint.oldest_pending_ms === null ? '–' : moment(endpoint.oldest_pending_ms, nowMs),
    }),
  ]);
}

function keyStates(key: KeyStatus): Attention[] {
  if (key.is_replaced) return [{ level: 'wait', text: 'Replaced by a newer key' }];
  if (key.is_silent) return [{ level: 'bad', text: 'Silent' }];
  return key.last_request_ms === null ? [{ level: 'wait', text: 'Never used' }] : [];
}

function endpointState({ status, disabled_reason: reason }: EndpointStatus): Attention[] {
  if (status === 'active') return [];
  const text = { failing: 'Failing', paused: 'Paused', disabled: `Disabled${reason === null ? '' : `: ${reason}`}` };
  return [{ level: status === 'paused' ? 'wait' : 'bad', text: text[status] }];
}

export const missingPage = (): string =>
  document(
    'Organisation not found',
    html`<h1>Organisation not found</h1><p>No organisation has this ID. Choose one in the <a href="/status">list</a>.</p>`,
  );
