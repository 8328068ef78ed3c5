import { type Content, type Markup, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { AlikeBy, AlikeRow, Twin, WithoutRef } from '../../../governance/deduplication/matching.ts';
import { keepApart, listAlike, listWithoutRef } from '../../../governance/deduplication/matching.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { day, notice, code } from '../kit/blocks.ts';
import { buttonForm, hiddenField } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { type Answer, type ConsoleRoute, type Visit, get, post } from '../kit/route.ts';
import { pager, readPage, uuidIn } from '../kit/paging.ts';
import { empty, table } from '../kit/table.ts';

/** Platforms cannot match learners without a reference, or learners who may be the same person. */
export const matchingRoutes: ConsoleRoute[] = [
  get('/matching', managers, matching, { menu: 'Matching' }),
  post('/matching/distinct', managers, distinct),
];

const kinds = ['without', 'name', 'reference'] as const;
type Kind = (typeof kinds)[number];

const words: Record<Kind, { title: string; none: string }> = {
  without: { title: 'Without a reference', none: 'Every learner has a reference.' },
  name: { title: 'Equal names', none: 'No two learners have equal names.' },
  reference: {
    title: 'Similar references',
    none: 'No two references differ only in capitals, punctuation or leading zeros.',
  },
};

async function matching(visit: Visit): Promise<Answer> {
  const { base, path, query } = visit;
  const kind = kinds.find((one) => one === query.get('kind')) ?? 'without';
  const { content, next } = kind === 'without' ? await withoutRef(visit) : await alike(visit, kind);
  const links = kinds.map((one) =>
    one === kind
      ? html`<li><strong aria-current="page">${words[one].title}</strong></li>`
      : html`<li><a href="${path}?kind=${one}">${words[one].title}</a></li>`,
  );
  return {
    title: 'Matching',
    main: [
      html`<p>Learners whom platforms can’t match: learners without a reference, and possible duplicates. After a correction, platforms get the results again at their next request.</p>`,
      notice(query, {
        merged: 'The learners are merged.',
        distinct: 'The learners are marked as different people.',
        referenced: 'The reference is saved.',
      }),
      html`<nav class="pager" aria-label="Matching"><ul>${links}</ul></nav>`,
      content,
      pager(visit, next),
      html`<h2>Unknown references</h2><p>A platform that asks for an unknown reference gets an empty response. The service does not store unknown references, because they may name a person. Search for the reference at the top of the page. If no learner has it, add it to the right learner. <a href="${base}/log?route=GET%20%2Flearners%2F%7Bref%7D&amp;code=not_found">Requests for unknown references</a></p>`,
    ],
  };
}

type Part = { content: Content; next?: string | null | undefined };

const resultsCell = (visit: Visit, row: { results: number; last_assessed_at: number | null }): Content =>
  row.last_assessed_at === null ? 'None' : html`${row.results}, the latest on ${day(row.last_assessed_at, visit.zone)}`;

async function withoutRef(visit: Visit): Promise<Part> {
  const { app, base, organisationId, zone, query } = visit;
  const after = uuidIn(query);
  const { rows, last } = await readPage((limit) => listWithoutRef(app.db, organisationId, { after, limit }));
  const { title: caption, none } = words.without;
  return {
    content: table<WithoutRef>({ caption, none }, rows, {
      Learner: (row) => html`<a href="${base}/learners/${row.learner_id}">${name(row.full_name)}</a>`,
      Results: (row) => resultsCell(visit, row),
      Since: (row) => day(row.created_at, zone),
      'Possible duplicates': (row) =>
        row.twins.length === 0 ? 'None' : html`<ul>${row.twins.map((twin) => twinLine(visit, row, twin))}</ul>`,
      Correction: (row) =>
        html`<a href="${base}/learners/${row.learner_id}/reference">Add reference<span class="unseen"> to ${row.full_name}</span></a>`,
    }),
    next: last?.learner_id,
  };
}

const refOf = ({ ref }: { ref: string | null }): Content => code(ref, 'no reference');

function twinLine({ base }: Visit, row: WithoutRef, twin: Twin): Markup {
  const apart = apartButton(base, 'without', [row.learner_id, twin.learner_id]);
  return html`<li>${name(twin.full_name)}, ${refOf(twin)}: ${twin.same ? 'equal name' : 'similar name'}. <a href="${base}/learners/${row.learner_id}/merge/${twin.learner_id}">Compare</a>${apart}</li>`;
}

const apartButton = (base: string, kind: Kind, [one, other]: readonly [string, string]): Markup =>
  buttonForm(`${base}/matching/distinct`, 'Mark as different people', [
    hiddenField('one', one),
    hiddenField('other', other),
    hiddenField('kind', kind),
  ]);

async function alike(visit: Visit, kind: AlikeBy): Promise<Part> {
  const { app, organisationId, query } = visit;
  const after = Number(query.get('after') ?? '-1');
  const { groups, last } = await listAlike(app.db, organisationId, kind, {
    after: Number.isSafeInteger(after) ? after : null,
    limit: limits.consoleRows / 2,
  });
  const none =
    last === null
      ? words[kind].none
      : 'All learners that were checked for this page are marked as different people. Open the next page for more.';
  return {
    content: groups.length === 0 ? empty(none) : groups.map((members) => groupTable(visit, kind, members)),
    next: last === null ? null : String(last),
  };
}

function groupTable(visit: Visit, kind: AlikeBy, members: AlikeRow[]): Content {
  const { base, zone } = visit;
  const first = members[0]!;
  const caption = kind === 'name' ? html`${name(first.full_name)}: equal names` : `${first.ref}: similar references`;
  return table<AlikeRow>({ caption }, members, {
    Learner: (row) => html`<a href="${base}/learners/${row.learner_id}">${name(row.full_name)}</a>`,
    Reference: refOf,
    Results: (row) => resultsCell(visit, row),
    Since: (row) => day(row.created_at, zone),
    Correction: (row) =>
      row === first
        ? 'First of these'
        : html`<a href="${base}/learners/${row.learner_id}/merge/${first.learner_id}">Compare with the first</a>${apartButton(base, kind, [row.learner_id, first.learner_id])}`,
  });
}

async function distinct(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId: actor, form: sent, change } = visit;
  const [one, other] = [sent.raw('one').toLowerCase(), sent.raw('other').toLowerCase()];
  const kind = kinds.find((known) => known === sent.raw('kind')) ?? 'without';
  const here = `${base}/matching?kind=${kind}`;
  if (!isUuid(one) || !isUuid(other)) return { to: here };
  const isDone = await change((work) => keepApart(work, organisationId, [one, other], { actor }), one);
  return { to: isDone ? `${here}&did=distinct` : here };
}
