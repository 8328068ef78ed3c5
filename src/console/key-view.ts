import type { KeyView, ViewedEntry } from '../api/key-view.ts';
import { viewKey } from '../api/key-view.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { sightInWords } from '../keys/sight.ts';
import { apiBase } from '../settings.ts';
import type { Role } from '../users/roles.ts';
import { codeLink, empty, facts, instant, moment, pager, table, told, withQuery } from './blocks.ts';
import { name } from './frame.ts';
import { keyKeepers } from './key-links.ts';
import { groupList, keyOf } from './keys.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage } from './route.ts';

/** What a key receives next, entry by entry, before it asks. */

const readers = ['owner', 'admin', 'developer', 'auditor'] as const;

/** Who sees learners' names and levels; developers see references and ids. */
export const seesLearners: readonly Role[] = ['owner', 'admin', 'auditor'];

export const keyViewRoutes: ConsoleRoute[] = [
  { for: readers, method: 'GET', path: '/keys/{key_id}/view', handle: view },
];

const entriesShown = 50;

const number = (value: number) => value.toLocaleString('en-GB');

async function view(visit: Visit): Promise<Answer> {
  const { app, base, organisation, query } = visit;
  const { organisation_id: id } = organisation;
  const key = await keyOf(visit);
  const call = query.get('call');
  if (call !== null && !/^\d{1,15}$/.test(call)) throw new NoSuchPage();
  const part = { from: Number(/^\d{1,4}$/.exec(query.get('from') ?? '')?.[0] ?? 0), count: entriesShown };
  const found = await viewKey(app, id, key, call === null ? null : Number(call), part);
  if (found === undefined) throw new NoSuchPage();
  const bounded = key.group_ids !== null || key.subjects !== null;
  const sight = bounded
    ? await sightInWords(app.db, id, {
        groupIds: key.group_ids ?? [],
        subjects: key.subjects ?? [],
        networks: key.networks ?? [],
      })
    : null;
  return {
    page: {
      title: 'What it receives next',
      ...(keyKeepers.includes(organisation.role)
        ? { back: { to: `${base}/keys/${key.key_id}`, label: key.label ?? key.key_id } }
        : {}),
      main: html`<h2>${told(found.sentence, organisation.time_zone)}</h2>${summary(visit, found)}${next(visit, found, part.from)}${keptOut(visit, found)}${
        sight === null
          ? null
          : html`<h2>Its bounds</h2><ul>${sight.may.map((one) => html`<li>${one}</li>`)}</ul>${groupList(sight)}`
      }${others(visit, found)}`,
    },
  };
}

function summary(
  { base, organisation }: Visit,
  { last, refusal, lag, polls, rate, request, comparisons }: KeyView,
): Content {
  const zone = organisation.time_zone;
  const asked = polls.answered + polls.unchanged;
  const share =
    asked === 0 ? 'No list was asked for' : `${Math.round((100 * polls.unchanged) / asked)} % of ${number(asked)}`;
  const rows: [string, Content][] = [
    [
      'Its last answered list',
      last === null
        ? 'None'
        : html`<a href="${base}/log/${last.audit_id}">${instant(last.at, zone)}</a> (${last.status})`,
    ],
    [
      'Behind',
      lag === null
        ? 'Not counted: it does not walk by updated_at'
        : html`${lag.atLeast ? 'At least ' : ''}${number(lag.changes)} ${lag.changes === 1 ? 'change' : 'changes'}${lag.oldest === null ? null : html`, the oldest of ${instant(lag.oldest, zone)}`}`,
    ],
    ['Nothing new (304), last 24 hours', share],
    [
      'Room under the rate limit, this minute',
      `${number(Math.max(0, rate.limit - rate.used))} of ${number(rate.limit)} requests`,
    ],
    [
      'Digest of the next page',
      request?.digest == null ? 'None: it stands on the last page of a walk' : html`<code>${request.digest}</code>`,
    ],
    [
      'Looks for differences by digest, last 24 hours',
      comparisons === 0 ? 'None' : html`${number(comparisons)}: its copy had differed`,
    ],
  ];
  return html`${
    refusal === null
      ? null
      : html`<div class="error"><p>Its last call was refused at ${instant(refusal.call.at, zone)} with ${codeLink(refusal.code)}. ${refusal.fix} <a href="${base}/log/${refusal.call.audit_id}">The call</a></p></div>`
  }${facts(rows)}`;
}

function next(visit: Visit, { request }: KeyView, from: number): Content {
  const { app, base, params, query } = visit;
  if (request === null) return null;
  const { entries, sent, more, unchanged, rawQuery, text } = request;
  const path = `${base}/keys/${params.key_id}/view`;
  const pages = pager({
    first: from === 0 ? null : withQuery(path, query, { from: null }),
    next: from + entriesShown < sent ? withQuery(path, query, { from: String(from + entriesShown) }) : null,
  });
  const curl = [
    `curl '${app.settings.baseUrl}${apiBase}/assessments${rawQuery === '' ? '' : `?${rawQuery.replace(/learner_ref=[^&]*/, 'learner_ref=LEARNER_REF')}`}'`,
    `  -H 'X-Access-Key-Id: ${params.key_id}'`,
    `  -H "X-Secret-Access-Key: $SECRET_ACCESS_KEY"`,
  ].join(' \\\n');
  return html`<h2>The next request, and its answer</h2><p><code>${text}</code></p>${
    unchanged ? html`<p>With the ETag that it was given it is answered by 304, without a body. Without one:</p>` : null
  }${
    entries.length === 0
      ? html`${empty(sent === 0 ? 'An empty page: there is nothing for it.' : 'The page has no more entries.')}${pages}`
      : html`${entryTable(visit, entries, sent, from, more)}${pages}`
  }<details><summary>The same as a command</summary><pre tabindex="0" role="region" aria-label="Command">${curl}</pre></details>`;
}

const kinds: Record<ViewedEntry['kind'], string> = {
  result: 'Result',
  withdrawn: 'Tombstone: withdrawn',
  left_scope: 'Tombstone: left the groups',
};

function entryTable(visit: Visit, shown: ViewedEntry[], all: number, from: number, more: boolean): Content {
  const { base, organisation } = visit;
  const zone = organisation.time_zone;
  const named = seesLearners.includes(organisation.role);
  return table<ViewedEntry>({
    caption: `${number(from + 1)} to ${number(from + shown.length)} of ${number(all)} on the page${more ? '; more follow on the next' : ''}`,
    rows: shown,
    columns: [
      {
        head: 'Result',
        cell: ({ payload }) =>
          html`<a href="${base}/trace?assessment_id=${payload.assessment_id}"><code>${payload.assessment_id}</code></a>`,
      },
      { head: 'Comes as', cell: ({ kind }) => kinds[kind] },
      { head: 'Updated', cell: ({ payload }) => instant(new Date(payload.updated_at), zone) },
      {
        head: 'Learner',
        cell: ({ payload: { learner } }) =>
          learner === undefined
            ? 'Not told'
            : html`${learner.ref === null ? html`<code>${learner.learner_id}</code>` : html`<code>${learner.ref}</code>`}${named ? html` ${name(learner.full_name)}` : null}`,
      },
      ...(named
        ? [
            {
              head: 'Level',
              cell: ({ payload }: ViewedEntry) =>
                payload.subject === undefined
                  ? ''
                  : `${payload.subject}: ${payload.working_level ?? payload.rqf_level ?? 'not placed'}`,
            },
          ]
        : []),
      { head: 'Why', cell: ({ why }) => why },
    ],
  });
}

function keptOut({ base, organisation }: Visit, { keptOut: rows }: KeyView): Content {
  if (rows.length === 0) return null;
  const named = rows.filter((one) => one.why !== '');
  return html`<h2>What does not come to it</h2><p>${number(rows.length)} of the newest changes are kept out by its filters or bounds${named.length < rows.length ? html`; the first ${number(named.length)}` : null}:</p>${table(
    {
      caption: 'Kept out',
      rows: named,
      columns: [
        {
          head: 'Result',
          cell: (one) =>
            html`<a href="${base}/trace?assessment_id=${one.assessment_id}"><code>${one.assessment_id}</code></a>`,
        },
        { head: 'Updated', cell: (one) => instant(new Date(one.updated_at), organisation.time_zone) },
        { head: 'Why', cell: (one) => one.why },
      ],
    },
  )}`;
}

function others({ base, organisation, params, query }: Visit, { others: rows }: KeyView): Content {
  const path = `${base}/keys/${params.key_id}/view`;
  const back = query.get('call') === null ? null : html`<p><a href="${path}">By its last request</a></p>`;
  if (rows.length === 0) return back;
  return html`<h2>Its other walks</h2>${back}${table({
    caption: 'It has asked with other filters lately: each has a view of its own',
    rows,
    columns: [
      {
        head: 'Filters',
        cell: ({ filters, call }) =>
          html`<a href="${withQuery(path, new URLSearchParams(), { call: String(call.audit_id) })}"><code>${filters === '' ? 'none' : decodeURIComponent(filters)}</code></a>`,
      },
      { head: 'Last', cell: ({ call }) => moment(call.at, organisation.time_zone) },
    ],
  })}`;
}
