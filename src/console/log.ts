import { routes } from '../api/routes.ts';
import { callsByHour } from '../audit/hours.ts';
import type { LoggedCall, LogFilter } from '../audit/log.ts';
import { asCurl, findCall, findCalls, fixOf, groupErrors } from '../audit/log.ts';
import type { Content, Markup } from '../html.ts';
import { html } from '../html.ts';
import { listKeys } from '../keys/keys.ts';
import { apiBase } from '../settings.ts';
import { actorNames } from './actors.ts';
import { codeLink, empty, facts, filters, instant, moment, pager, table, withQuery, number } from './blocks.ts';
import { selectField, textField } from './form.ts';
import { totalOf } from './key-hours.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get } from './route.ts';
import { endOfDay, startOfDay } from '../organisations/zone.ts';
import { logReaders } from '../users/roles.ts';

/** The request log: every call of the last 90 days, by key, route, status, code and day. */

export const logRoutes: ConsoleRoute[] = [
  get('/log', logReaders, log, { menu: 'Request log', section: 'integration' }),
  get('/log/errors', logReaders, errors),
  get('/log/{call}', logReaders, call),
];

const dayMs = 86_400_000;
const days = 90;
/** What was refused lately is what is still to be mended; older calls stand in the log itself. */
const errorDays = 30;
const rowsOnPage = 50;
const classes = { '': 'Any', '2xx': '2xx, sent', '3xx': '304, unchanged', '4xx': '4xx, refused', '5xx': '5xx, failed' };

/** What the address asks for; what isn't understood asks for nothing. */
function readFilter({ query, app, zone }: Visit, lastDays = days): LogFilter {
  const now = app.clock.nowMs();
  const text = (name: string) => (query.get(name) ?? '') || null;
  const day = query.get('day') ?? '';
  const status = query.get('status') ?? '';
  return {
    actor: text('key'),
    action: text('route'),
    statusClass: /^[2-5]xx$/.test(status) ? Number(status[0]) : null,
    code: text('code'),
    from: startOfDay(day, zone) ?? new Date(now - lastDays * dayMs),
    // A clock that is ahead doesn't hide its calls.
    to: endOfDay(day, zone) ?? new Date(now + dayMs),
  };
}

function readPlace(query: URLSearchParams): { at: Date; id: number } | null {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(query.get('after') ?? '');
  return match === null ? null : { at: new Date(Number(match[1])), id: Number(match[2]) };
}

async function log(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;

  const path = `${base}/log`;
  const [{ calls, next }, keys, names] = await Promise.all([
    findCalls(app.db, id, readFilter(visit), readPlace(query), rowsOnPage),
    listKeys(app.db, id),
    actorNames(visit),
  ]);
  const choice = (value: string, label = value) => ({ value, label });
  return {
    title: 'Request log',
    says: 'Every call of your platforms in the last 90 days: by which key, for what, and how it was answered.',
    main: html`${filters(path, [
      selectField({
        name: 'key',
        label: 'Key',
        chosen: query.get('key') ?? '',
        choices: [choice('', 'Any'), ...keys.map((key) => choice(key.key_id, key.label ?? key.key_id))],
      }),
      selectField({
        name: 'route',
        label: 'Route',
        chosen: query.get('route') ?? '',
        choices: [choice('', 'Any'), ...routes.map((route) => choice(`${route.method} ${route.path}`))],
      }),
      selectField({
        name: 'status',
        label: 'Status',
        chosen: query.get('status') ?? '',
        choices: Object.entries(classes).map(([value, label]) => choice(value, label)),
      }),
      textField({ name: 'code', label: 'Error code', value: query.get('code') ?? '', width: 20 }),
      textField({ name: 'day', label: 'Day', type: 'date', value: query.get('day') ?? '' }),
    ])}<p><a href="${path}/errors">Errors by code, and how to mend them</a></p>${
      calls.length === 0
        ? empty(`There are no such calls in the last ${days} days.`)
        : table<LoggedCall>({
            caption: 'The newest first',
            rows: calls,
            columns: [
              { head: 'Time', cell: (one) => html`<a href="${path}/${one.audit_id}">${instant(one.at, zone)}</a>` },
              { head: 'By', cell: (one) => names.get(one.actor) ?? one.actor },
              { head: 'Call', cell: (one) => html`<code>${one.action}</code>` },
              { head: 'Status', number: true, cell: (one) => (one.status === null ? '' : String(one.status)) },
              { head: 'Answer', cell: answerOf },
            ],
          })
    }${pager({
      first: query.get('after') === null ? null : withQuery(path, query, { after: null }),
      next: next === null ? null : withQuery(path, query, { after: `${next.at.getTime()}-${next.id}` }),
    })}`,
  };
}

function answerOf({ detail }: LoggedCall): Content {
  if (detail?.code !== undefined) return html`<code>${detail.code}</code>`;
  if (detail?.rows === undefined) return '';
  return `${detail.rows} ${detail.rows === 1 ? 'row' : 'rows'}${detail.more === true ? ', more follow' : ''}`;
}

async function call(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, params } = visit;

  const given = params.call!;
  const found = /^\d{1,15}$/.test(given) ? await findCall(app.db, id, Number(given)) : undefined;
  if (found === undefined) throw new NoSuchPage();
  const { detail } = found;
  const curl = asCurl(`${app.settings.baseUrl}${apiBase}`, found);
  const position = (us: number | undefined): Content => (us === undefined ? null : instant(new Date(us / 1000), zone));
  const rows: [string, Content][] = [
    ['Time', instant(found.at, zone)],
    ['Request id', html`<code>${found.request_id}</code>`],
    ['By', html`${(await actorNames(visit)).get(found.actor)} <code>${found.actor}</code>`],
    ['Call', html`<code>${found.action}</code>`],
    ['Status', found.status === null ? null : String(found.status)],
    ['Acted on', found.resource === null ? null : html`<code>${found.resource}</code>`],
    ['Parameters', detail?.query === undefined ? null : html`<code>${decodeURIComponent(detail.query)}</code>`],
    ['Page size', detail?.limit === undefined ? null : String(detail.limit)],
    ['Cursor at', position(detail?.cursor)],
    ['Rows sent', detail?.rows === undefined ? null : String(detail.rows)],
    ['First position', position(detail?.first)],
    ['Last position', position(detail?.last)],
    ['X-Sync-Through', position(detail?.through)],
    ['Error', detail?.code === undefined ? null : codeLink(detail.code)],
    ['What to do', detail?.code === undefined ? null : fixOf(detail.code)],
    ['Bytes', detail?.bytes === undefined ? null : number(detail.bytes)],
    ['Milliseconds', detail?.ms === undefined ? null : String(detail.ms)],
  ];
  return {
    title: `Call ${found.audit_id}`,
    back: { to: `${base}/log`, label: 'Request log' },
    main: html`${facts(rows.filter(([, value]) => value !== null))}${
      curl === null
        ? null
        : html`<h2>The same call</h2><pre tabindex="0" role="region" aria-label="Command">${curl}</pre>`
    }`,
  };
}

/** How many calls there were in an hour, as a bar beside its number. */
function bar(value: number, most: number): Markup {
  return html`<meter min="0" max="${Math.max(1, most)}" value="${value}" aria-hidden="true"></meter> ${number(value)}`;
}

async function errors(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;

  const filter = readFilter(visit, errorDays);
  const now = app.clock.nowMs();
  const lately = { actor: filter.actor ?? null, from: new Date(now - dayMs), to: new Date(now + dayMs) };
  const [groups, hours] = await Promise.all([groupErrors(app.db, id, filter), callsByHour(app.db, id, lately)]);
  const most = Math.max(...hours.map(totalOf));
  const path = `${base}/log`;
  return {
    title: 'Errors and traffic',
    says: `Which calls were refused in the last ${errorDays} days, why, and what to do about it.`,
    back: { to: path, label: 'Request log' },
    main: html`${
      groups.length === 0
        ? empty(`No call was refused in the last ${errorDays} days.`)
        : table({
            caption: 'Refused calls, the most frequent first',
            rows: groups,
            columns: [
              {
                head: 'Code',
                cell: (one) =>
                  html`<a href="${withQuery(path, query, { code: one.code, route: one.action, after: null })}">${one.code === '' ? 'none' : one.code}</a>`,
              },
              { head: 'Call', cell: (one) => html`<code>${one.action}</code>` },
              { head: 'Calls', number: true, cell: (one) => number(one.calls) },
              { head: 'Keys', number: true, cell: (one) => String(one.keys) },
              { head: 'Last', cell: (one) => moment(one.last_at, zone) },
              {
                head: 'What to do',
                cell: (one) => html`${one.fix} ${one.code === '' ? null : codeLink(one.code)}`,
              },
            ],
          })
    }${
      hours.length === 0
        ? null
        : table({
            caption: 'Calls by the hour, the last day',
            rows: hours,
            columns: [
              { head: 'Hour', cell: (one) => moment(one.hour, zone) },
              { head: 'Sent', number: true, cell: (one) => bar(one.answered, most) },
              { head: 'Unchanged (304)', number: true, cell: (one) => bar(one.unchanged, most) },
              { head: 'Refused', number: true, cell: (one) => bar(one.refused, most) },
              { head: 'Over the limit', number: true, cell: (one) => bar(one.limited, most) },
              { head: 'Failed', number: true, cell: (one) => bar(one.failed, most) },
              {
                head: 'Share of 304',
                number: true,
                cell: (one) => {
                  const polls = one.answered + one.unchanged;
                  return polls === 0 ? '' : `${Math.round((100 * one.unchanged) / polls)} %`;
                },
              },
            ],
          })
    }`,
  };
}
