import type { BrowsedResult, ResultDetail } from '../../../records/results/lists/browse.ts';
import { browseResults, findResult, maxRows } from '../../../records/results/lists/browse.ts';
import type { ResultQuery, ResultPageStart, ResultSort } from '../../../records/results/lists/browse-statements.ts';
import { pageStartTypes, resultSorts } from '../../../records/results/lists/browse-statements.ts';
import { type FieldChange, type HistoryEntry, historyOf } from '../../../records/results/lists/history.ts';
import { closeWords, isProvisional, provisionalWords } from '../../../records/results/lists/interval.ts';
import { placementOf, placementWords, intervalWords } from '../../../records/results/lists/interval.ts';
import { readReport } from '../../../records/evidence/evidence.ts';
import { comparedWords, domainStatus, reviewWords, subjectName } from '../../../records/evidence/wording.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import type { ResultContent, ShownDomain } from '../../../records/results/body.ts';
import { flagsOf } from '../../../records/results/reviews.ts';
import { isClose } from '../../../engine/scoring/probabilities.ts';
import { findRepeated, repeatedWords } from '../../../sittings/scoring/repeated.ts';
import { renderSets } from '../../../feed/group-sets.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { managers, learnerReaders, reviewers } from '../../../organisations/users/roles.ts';
import { actorNames, openToken, sealToken, visibilityOf } from '../kit/reader.ts';
import { day, facts, moment, number, code, label } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import { readResultFilter, resultFields } from './filter.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, get, findOr404, routesOf } from '../kit/route.ts';
import { scheduleLink } from './scheduled-reports.ts';
import { traceLink } from '../organisation/trace.ts';
import { hiddenField } from '../kit/form.ts';
import { listPage } from '../kit/page.ts';
import { filterQuery } from '../../../records/results/lists/filter-query.ts';
import { type TokenPart, withQuery, readToken } from '../kit/paging.ts';
import { bar, table, sorted, numeric, wideOnly } from '../kit/table.ts';

/** A result of a learner whom the person may not see gets the same 404 as an unknown result. */
export const resultOf = (visit: Visit): Promise<ResultDetail> =>
  findOr404(visit, 'assessment_id', async (tx, organisationId, id) =>
    findResult(tx, organisationId, id, await visibilityOf(visit)),
  );
const ofResult = routesOf(resultOf);
export const resultRoutes: ConsoleRoute[] = [
  get('/results', learnerReaders, results, { menu: 'Results' }),
  ofResult.get('/results/{assessment_id}', learnerReaders, result),
  ofResult.get('/results/{assessment_id}/evidence', learnerReaders, evidence),
];

export function readResultSort(query: URLSearchParams): { sort: ResultSort; descending: boolean } {
  const text = query.get('sort') ?? '-assessed';
  const sort = resultSorts.find((one) => one === text.replace(/^-/, ''));
  return sort === undefined ? { sort: 'assessed', descending: true } : { sort, descending: text.startsWith('-') };
}

/** Reads the page token from the query. The token contains numbers and an ID, never a name. */
export function readPlace(visit: Visit, visibility: Visibility, sort: ResultSort): ResultPageStart | null {
  return readToken(
    openToken(visit, visibility, visit.query.get('after') ?? ''),
    ...(pageStartTypes(sort) as TokenPart[]),
  );
}

export const sourceWords = { sitting: 'Sitting', imported: 'Imported' } as const;

/** The flags as labels, for lists. */
export const flagLabels = (content: ResultContent): Content[] =>
  flagsOf(content).map((flag) =>
    flag === 'needs_review' ? [label('wait', 'Needs review'), ' '] : label('info', 'Close to a boundary'),
  );

export const learnerCell = (to: string, row: Pick<BrowsedResult, 'full_name' | 'ref'>): Content =>
  html`<a href="${to}">${name(row.full_name)}</a>${row.ref === null ? null : html` <span class="hint">${row.ref}</span>`}`;

function changeWords(row: BrowsedResult, zone: string): Content {
  const at = day(row.position, zone);
  return row.change === null ? at : html`${at}: ${row.change.reason}`;
}

async function results(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, zone, role, path, query } = visit;
  const { sort, descending } = readResultSort(query);
  const filter = await readResultFilter(visit);
  const after = readPlace(visit, filter.visibility, sort);
  const look: ResultQuery = { organisationId, filter, sort, descending, after, limit: limits.consoleRows };
  const [page, fields, total] = await Promise.all([
    app.db.snapshot((tx) => browseResults(tx, look)),
    resultFields(visit),
    maxRows(app.db, look),
  ]);
  const { rows, next, isCutShort, sortedSinceUs } = page;
  const kept = filterQuery(query);
  const isUsual = sort === 'assessed' && descending;
  const none =
    filter.visibility?.length === 0
      ? 'You are in no team yet. Ask an admin to add you to a team.'
      : 'No result matches. Change the filter, or invite learners.';
  return listPage<BrowsedResult>(visit, {
    title: 'Results',
    says: 'All completed results. To find a result by the learner’s name, search at the top of the page.',
    actions: [
      html`<a href="${base}/results/spread">Distribution of placements</a><a href="${base}/results/gaps">Gaps by domain</a><a href="${base}/results/lists">Funding lists</a>`,
      managers.includes(role) && html`<a href="${base}/results/import">Import results</a>`,
      scheduleLink(visit, 'results'),
      rows.length > 0 && exportLink(path, kept, 'Export results'),
    ],
    filters: () => [fields, !isUsual && hiddenField('sort', query.get('sort') ?? '')],
    note: [
      sortedSinceUs !== null &&
        html`<p class="note">There are too many results to sort. The list shows results assessed on ${day(sortedSinceUs, zone)} or later. Filter by a group or by dates to sort all.</p>`,
    ],
    caption: 'Results',
    none: isCutShort ? 'No result that was checked so far matches. Open the next page for more.' : none,
    sorting: { path, query: kept, by: sort, descending },
    sticky: true,
    rows,
    columns: {
      Learner: sorted('learner', (row) => learnerCell(`${base}/results/${row.assessment_id}`, row)),
      Subject: sorted('subject', ({ content }) => shortSubjectNames[content.subject], 'plain'),
      Placement: sorted('placement', placementWords, 'plain'),
      ...(rows.some(({ content }) => content.level_probabilities !== null) && {
        'Likely level': wideOnly(({ content }: BrowsedResult) => intervalWords(content.level_probabilities)),
      }),
      Assessed: sorted('assessed', ({ content }) => day(content.assessed_at_us, zone), 'plain'),
      Flags: sorted('flags', ({ content }) => flagLabels(content)),
      Source: sorted('source', (row) => sourceWords[row.source], 'hidden'),
      'Last change': sorted('changed', (row) => changeWords(row, zone), 'hidden'),
    },
    around: (shown) => [shown, isCutShort && rows.length > 0 && thereMayBeMore],
    next: next && sealToken(visit, filter.visibility, next.join('.')),
    ...(total.exact && { total: number(total.n) }),
    kept,
  });
}

export const exportLink = (path: string, kept: URLSearchParams, words: string): Content =>
  html`<a class="button" href="${withQuery(`${path}/export`, kept, {})}">${words}</a>`;

export const thereMayBeMore = html`<p>There may be more. Open the next page.</p>`;

const fieldNames: Record<string, string> = {
  framework: 'Framework',
  working_level: 'Placement',
  recommended_next_level: 'Recommended next level',
  is_borderline: 'API flag Borderline',
  needs_review: 'Needs review',
  domains: 'Domains',
  level_probabilities: 'Probabilities of levels',
};

function valueWords(value: unknown): string {
  if (value === null) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value))
    return value
      .map((one: { name: string; score_pct: number | null; status: string | null }) =>
        [one.name, one.score_pct !== null && `${one.score_pct} %`, one.status !== null && domainStatus(one.status)]
          .filter(Boolean)
          .join(' '),
      )
      .join('; ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([level, share]) => `${level} ${percent(share as number)}`)
      .join('; ');
  return String(value);
}

export const percent = (share: number): string =>
  `${(share * 100).toLocaleString('en-GB', { maximumFractionDigits: 1 })} %`;

const changeLine = ({ field, before, after }: FieldChange) =>
  html`<li>${fieldNames[field] ?? field}: ${valueWords(before)} → ${valueWords(after)}</li>`;

function historyPart(entries: readonly HistoryEntry[], by: (actor: string) => string, zone: string): Content {
  if (entries.length === 0) return html`<p>The result has never been changed.</p>`;
  return html`<ol>${entries.map(
    (one) =>
      html`<li>${one.kind === 'withdrawn' ? 'Withdrawn' : 'Amended'} on ${moment(new Date(one.at), zone)} by ${by(one.actor)}: ${one.reason}${one.changes.length === 0 ? null : html`<ul>${one.changes.map(changeLine)}</ul>`}</li>`,
  )}</ol>`;
}

function notesOf(
  placed: ResultDetail & { content: ResultContent },
  repeated: { questions: number; of: number } | null,
): (string | false)[] {
  const { content } = placed;
  return [
    content.needs_review && reviewWords(content.reviewed_at !== undefined),
    isClose(Object.values(content.level_probabilities ?? {})) && closeWords,
    isProvisional(placed) && provisionalWords,
    repeated !== null && `${repeatedWords(repeated)}. If the learner remembered them, the level is too high.`,
  ];
}

async function result(visit: Visit, found: ResultDetail): Promise<Answer> {
  const { app, base, organisationId: id, zone, role } = visit;
  const { content, assessment_id: assessmentId } = found;
  const [history, sets, by, repeated] = await Promise.all([
    historyOf(app.db, id, assessmentId),
    renderSets(app.db, id, [found.group_set_id]),
    actorNames(visit),
    findRepeated(app.db, id, assessmentId),
  ]);
  const groups = JSON.parse(sets.get(found.group_set_id)?.json ?? '[]') as { name: string; type: string }[];
  const here = `${base}/results/${assessmentId}`;
  const learner =
    found.full_name === ''
      ? { Learner: 'Erased' }
      : {
          Learner: html`<a href="${base}/learners/${found.learner_id}">${name(found.full_name)}</a>`,
          Reference: code(found.ref, 'None'),
          Groups: groups.map((one) => one.name).join('; ') || 'None',
        };
  const ids = { 'Result ID': code(assessmentId), Platforms: traceLink(visit, assessmentId) };
  const past = [html`<h2>History</h2>`, historyPart(history ?? [], by, zone)];
  const back = { to: `${base}/results`, label: 'Results' };
  const deleted = html`<p>The content is deleted. Platforms get a tombstone at their next poll, and delete their copies.</p>`;
  if (content === null)
    return { title: 'Withdrawn result', back, main: [deleted, facts({ ...learner, ...ids }), past] };
  const placed = { ...found, content };
  return {
    title: 'Result',
    heading: `${subjectName(content.subject)}: ${placementOf(content)}`,
    back,
    main: [
      notesOf(placed, repeated).map((one) => one && html`<p class="note">${one}</p>`),
      facts({
        ...learner,
        Assessed: moment(content.assessed_at_us, zone),
        Placement: placementWords(placed),
        'Likely level, at 95 %': intervalWords(content.level_probabilities),
        'Below Level 1': content.below_level_1 === null ? 'Not placed' : content.below_level_1 ? 'Yes' : 'No',
        'Recommended next level': content.recommended_next_level ?? 'None',
        Framework: content.framework,
        Source: sourceWords[found.source],
        'Last change': moment(found.position, zone),
        'Human review': content.reviewed_at !== undefined && moment(new Date(content.reviewed_at), zone),
        ...ids,
      }),
      html`<div class="actions"><a href="${base}/review/${assessmentId}">Review</a>${reviewers.includes(role) && html`<a class="danger" href="${base}/review/${assessmentId}/withdraw">Withdraw result</a>`}</div><h2>Evidence pack</h2><p><a href="${here}/evidence">Download evidence pack (PDF)</a></p>`,
      found.report_sha256 === null
        ? html`<p class="hint">The first download creates the evidence pack.</p>`
        : html`<p class="hint">SHA-256 ${code(found.report_sha256)}</p>`,
      domainPart(content.domains),
      probabilityPart(content.level_probabilities),
      past,
    ],
  };
}

const domainPart = (domains: readonly ShownDomain[]): Content =>
  table({ caption: 'Domains, with ± 1 standard error', none: null }, domains, {
    Domain: (one) => one.name,
    Score: numeric((one) => (one.score_pct === null ? '' : `${one.score_pct} %`)),
    'Of 100': (one) => (one.score_pct === null ? '' : bar(one.score_pct, 100)),
    Status: (one) => domainStatus(one.status),
    'At the next level': numeric((one) => (one.next_level_pct == null ? '' : `${one.next_level_pct} %`)),
    'Compared with the others': (one) => comparedWords(one) ?? 'Not compared: too few questions',
  });

const probabilityPart = (probabilities: Record<string, number> | null): Content =>
  table({ caption: 'Probability of each level', none: null }, Object.entries(probabilities ?? {}), {
    Level: ([level]) => level,
    Probability: numeric(([, share]) => percent(share)),
    'Of 100 %': ([, share]) => bar(share, 1),
  });

async function evidence(visit: Visit, { content, assessment_id: id }: ResultDetail): Promise<Answer> {
  const { app, organisationId, change } = visit;
  const report = content === null ? undefined : await readReport(app, organisationId, id);
  if (report === undefined) throw new NoSuchPage();
  await change(async () => true, id);
  return { file: { type: 'application/pdf', name: `evidence-${id}.pdf`, body: Buffer.from(report.pdf) } };
}
