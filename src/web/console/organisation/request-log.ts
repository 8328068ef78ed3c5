import { routes } from '../../../api/route-table.ts';
import type { LoggedCall, LogFilter } from '../../../platform/audit/log.ts';
import { callsByHour, asCurl, findCall, findCalls, fixOf, groupErrors } from '../../../platform/audit/log.ts';
import { type Content, type Markup, html } from '../../../platform/html/html.ts';
import { listKeys } from '../../../integrations/access-keys/keys.ts';
import { apiBase } from '../../../platform/config/settings.ts';
import { actorNames } from '../kit/reader.ts';
import { codeLink, facts, instant, moment, number, code, label } from '../kit/blocks.ts';
import { totalOf } from '../keys/keys.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, get } from '../kit/route.ts';
import { endOfDay, startOfDay } from '../../../organisations/zone.ts';
import { auditReaders, logReaders } from '../../../organisations/users/roles.ts';
import { any } from '../kit/form.ts';
import { listPage } from '../kit/page.ts';
import { withQuery, readToken } from '../kit/paging.ts';
import { table, numeric, plain } from '../kit/table.ts';

export const logRoutes: ConsoleRoute[] = [
  get('/log', logReaders, log, { menu: 'API requests', section: 'integration' }),
  get('/log/errors', logReaders, errors),
  get('/log/{call}', logReaders, call),
];

const dayMs = 86_400_000;
const days = 90;
/** The page of errors shows only recent ones, because they may still need a fix. */
const errorDays = 30;
const rowsOnPage = 50;
const classes = { '2xx': '2xx, sent', '3xx': '304, unchanged', '4xx': '4xx, refused', '5xx': '5xx, failed' };

const routeChoices = Object.fromEntries(routes.map(({ method, path }) => Array(2).fill(`${method} ${path}`)));

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
    // The period ends a day from now, because a process with a fast clock may log rows in the future.
    to: endOfDay(day, zone) ?? new Date(now + dayMs),
  };
}

async function log(visit: Visit): Promise<Answer> {
  const { app, organisationId: id, zone, path, query } = visit;
  const [ms, auditId] = readToken(query.get('after'), 'ms', 'int8') ?? [];
  const after = auditId === undefined ? null : { at: new Date(Number(ms)), id: Number(auditId) };
  const [{ calls, next }, keys, by] = await Promise.all([
    findCalls(app.db, id, readFilter(visit), after, rowsOnPage),
    listKeys(app.db, id),
    actorNames(visit),
  ]);
  const keyNames = Object.fromEntries(keys.map((key) => [key.key_id, key.label ?? key.key_id]));
  return listPage<LoggedCall>(visit, {
    title: 'API requests',
    says: 'Every API request of your platforms in the last 90 days, with its key and response.',
    filters: (q) => [
      q.select('key', 'Key', any(keyNames)),
      q.select('route', 'Route', any(routeChoices)),
      q.select('status', 'Status', any(classes)),
      q.text('code', 'Error code', { width: 20 }),
      q.text('day', 'Day', { type: 'date' }),
    ],
    actions: html`<a href="${path}/errors">Errors and traffic</a>`,
    caption: 'Requests, newest first',
    none: `No request in the last ${days} days matches. Change the filter.`,
    rows: calls,
    columns: {
      Time: (one) => html`<a href="${path}/${one.audit_id}">${instant(one.at, zone)}</a>`,
      Status: (one) => one.status !== null && statusLabel(one.status),
      By: plain((one) => by(one.actor)),
      Request: plain((one) => code(one.action)),
      Response: plain(answerOf),
    },
    next: next && `${next.at.getTime()}.${next.id}`,
  });
}

const statusLabel = (status: number) => label(status < 400 ? 'good' : status < 500 ? 'wait' : 'bad', String(status));

function answerOf({ detail }: LoggedCall): Content {
  if (detail?.code !== undefined) return code(detail.code);
  if (detail?.rows === undefined) return '';
  return `${detail.rows} ${detail.rows === 1 ? 'row' : 'rows'}${detail.more === true ? ', more follow' : ''}`;
}

async function call(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, params } = visit;
  const [auditId] = readToken(params.call!, 'int8') ?? [];
  const found = auditId === undefined ? undefined : await findCall(app.db, id, Number(auditId));
  const isAct = found?.status === null;
  if (found === undefined || (isAct && !auditReaders.includes(visit.role))) throw new NoSuchPage();
  const { detail } = found;
  const curl = asCurl(`${app.settings.baseUrl}${apiBase}`, found);
  const position = (us: number | undefined): Content => instant(us ?? null, zone);
  const by = (await actorNames(visit))(found.actor);
  return {
    title: `${isAct ? 'Action' : 'Request'} ${found.audit_id}`,
    back: isAct ? { to: `${base}/activity`, label: 'Activity' } : { to: `${base}/log`, label: 'API requests' },
    main: [
      facts({
        Time: instant(found.at, zone),
        'Request ID': code(found.request_id),
        By: html`${by !== found.actor && by} ${code(found.actor)}`,
        Request: code(found.action),
        Status: found.status !== null && statusLabel(found.status),
        Resource: code(found.resource),
        Parameters: code(detail?.query && decodeURIComponent(detail.query)),
        'Page size': detail?.limit,
        'Cursor at': position(detail?.cursor),
        'Rows sent': detail?.rows,
        'First position': position(detail?.first),
        'Last position': position(detail?.last),
        'X-Sync-Through': position(detail?.through),
        Error: detail?.code && codeLink(detail.code),
        'What to do': detail?.code && fixOf(detail.code),
        Bytes: detail?.bytes === undefined ? null : number(detail.bytes),
        Milliseconds: detail?.ms,
      }),
      curl !== null &&
        html`<h2>Repeat the request</h2><pre tabindex="0" role="region" aria-label="Command">${curl}</pre>`,
    ],
  };
}

const meter = (value: number, max: number): Markup =>
  html`<meter min="0" max="${Math.max(1, max)}" value="${value}" aria-hidden="true"></meter> ${number(value)}`;

async function errors(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const filter = readFilter(visit, errorDays);
  const now = app.clock.nowMs();
  const lastDay = { actor: filter.actor ?? null, from: new Date(now - dayMs), to: new Date(now + dayMs) };
  const [groups, hours] = await Promise.all([groupErrors(app.db, id, filter), callsByHour(app.db, id, lastDay)]);
  const max = Math.max(...hours.map(totalOf));
  const path = `${base}/log`;
  return {
    title: 'Errors and traffic',
    says: `Requests that were refused in the last ${errorDays} days, with the reason and the fix.`,
    back: { to: path, label: 'API requests' },
    main: [
      table(
        {
          caption: 'Refused requests, most frequent first',
          none: `No request was refused in the last ${errorDays} days.`,
        },
        groups,
        {
          Code: (one) =>
            html`<a href="${withQuery(path, query, { code: one.code, route: one.action, after: null })}">${one.code === '' ? 'none' : one.code}</a>`,
          Request: (one) => code(one.action),
          Requests: numeric((one) => one.calls),
          Keys: numeric((one) => one.keys),
          Last: (one) => moment(one.last_at, zone),
          'What to do': (one) => html`${one.fix} ${one.code === '' ? null : codeLink(one.code)}`,
        },
      ),
      table({ caption: 'Requests by hour, the last 24 hours', none: null }, hours, {
        Hour: (one) => moment(one.hour, zone),
        Sent: numeric((one) => meter(one.answered, max)),
        'Unchanged (304)': numeric((one) => meter(one.unchanged, max)),
        Refused: numeric((one) => meter(one.refused, max)),
        'Over the limit': numeric((one) => meter(one.limited, max)),
        Failed: numeric((one) => meter(one.failed, max)),
        'Share of 304': numeric((one) => {
          const polls = one.answered + one.unchanged;
          return polls === 0 ? '' : `${Math.round((100 * one.unchanged) / polls)} %`;
        }),
      }),
    ],
  };
}
