import type { Latest } from '../../../records/results/lists/gaps.ts';
import {
  byNeed,
  latestOfMembers,
  domainNames,
  domainIn,
  gapColumns,
  isNeed,
} from '../../../records/results/lists/gaps.ts';
import { placementWords } from '../../../records/results/lists/interval.ts';
import { comparedWords, domainStatus, subjectName } from '../../../records/evidence/wording.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type Subject, subjects } from '../../../engine/scoring/levels.ts';
import { type LabelKind, count, day, label, number } from '../kit/blocks.ts';
import { barChart } from '../kit/chart.ts';
import { filtersOf } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { listPage, refusal } from '../kit/page.ts';
import { type Answer, type ConsoleRoute, type Visit, formRoutes, get } from '../kit/route.ts';
import { downloaded, formatPage } from './export.ts';
import { groupFields, groupOf, readResultFilter, subjectNames } from './filter.ts';
import { exportLink, learnerCell } from './results.ts';
import { filterQuery } from '../../../records/results/lists/filter-query.ts';
import { readCount, withQuery } from '../kit/paging.ts';
import { plain } from '../kit/table.ts';
import { scheduleLink } from './scheduled-reports.ts';

export const gapRoutes: ConsoleRoute[] = [
  get('/results/gaps', learnerReaders, gaps),
  ...formRoutes('/results/gaps/export', learnerReaders, showExport, exportGaps, { proof: true }),
];

/** The most learners that the page and a file read, because they are sorted by need. */
const maxSorted = 1000;
const maxInFile = 20_000;
const kinds: Record<string, LabelKind> = {
  secure: 'good',
  developing: 'wait',
  needs_support: 'bad',
  stronger: 'good',
  weaker: 'wait',
};

export const subjectIn = (query: URLSearchParams): Subject =>
  subjects.find((one) => one === query.get('subject')) ?? 'english';

function cell(row: Latest, of: string): Content {
  const found = domainIn(row, of);
  const status = label(kinds[found?.status ?? ''] ?? 'off', domainStatus(found?.status ?? null));
  const compared = found?.compared == null ? null : label(kinds[found.compared] ?? 'off', comparedWords(found)!);
  return html`<span class="narrow-only">${of}: </span>${status}${found?.score_pct == null ? null : html` <span class="hint">${found.score_pct}\u00a0%</span>`}${compared === null ? null : html` ${compared}`}`;
}

type Found = Awaited<ReturnType<typeof latestOfMembers>>;

function needPart({ rows, members, isMore }: Found, domains: readonly string[], subject: string): Content {
  const without = members - rows.length;
  const needs = rows.flatMap((row) => row.content.domains.filter(isNeed));
  return [
    isMore &&
      html`<p class="note">The group has more than ${number(maxSorted)} learners. The page shows ${number(maxSorted)} of them. Choose a smaller group, or export all.</p>`,
    without > 0 && html`<p class="hint">${count(without, 'learner has', 'learners have')} no result in ${subject}.</p>`,
    rows.length > 0 &&
      barChart({
        caption: `${subject}: learners who need support or are weaker, of ${number(rows.length)}`,
        of: 'Domain',
        value: 'Learners',
        rows: domains.map((one) => ({ label: one, value: needs.filter(({ name: of }) => of === one).length })),
      }),
  ];
}

async function gaps(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, path, query } = visit;
  const { groupIds, visibility } = await readResultFilter(visit);
  if (groupIds.length === 0 && visibility?.length === 1 && !query.has('team'))
    return { to: withQuery(path, query, { team: visibility[0]! }) };
  const subject = subjectIn(query);
  const from = readCount(query, 'after');
  const [groups, group, found] = await Promise.all([
    groupFields(visit),
    groupIds.length === 0 ? null : groupOf(visit, groupIds[0]!),
    groupIds.length === 0
      ? null
      : app.db.snapshot((tx) => latestOfMembers(tx, id, { groupIds, visibility }, subject, maxSorted)),
  ]);
  const sorted = byNeed(found?.rows ?? []);
  const rows = sorted.slice(from, from + limits.consoleRows);
  const domains = domainNames(sorted);
  const kept = filterQuery(query, []);
  kept.set('subject', subject);
  return listPage<Latest>(visit, {
    title: 'Gaps by domain',
    heading: group === null ? undefined : html`Gaps by domain: ${name(group.name)}`,
    back: { to: `${base}/results`, label: 'Results' },
    says: 'The domains of each learner’s latest result. Learners who need most support come first. ± is the standard error.',
    actions: [
      rows.length > 0 && html`<a href="${withQuery(`${base}/results/report`, kept, {})}">Class report (PDF)</a>`,
      scheduleLink(visit, 'gaps'),
      rows.length > 0 && exportLink(path, kept, 'Export gaps'),
    ],
    filters: () => [groups, filtersOf(visit).select('subject', 'Subject', subjectNames, { value: subject })],
    note: found !== null && needPart(found, domains, subjectName(subject)),
    caption: html`<span class="matrix">${subjectName(subject)}: learners by domain, greatest need first. Print this page to get the matrix on paper.</span>`,
    none:
      found === null
        ? 'Choose a team or a group, and press Filter.'
        : `No learner of this group has a result in ${subjectName(subject)}.`,
    sticky: true,
    rows,
    columns: {
      Learner: (row) => learnerCell(`${base}/learners/${row.learner_id}`, row),
      Placement: plain(
        (row) =>
          html`<a href="${base}/results/${row.assessment_id}">${placementWords(row)}</a> <span class="hint">${day(row.content.assessed_at_us, zone)}</span>`,
      ),
      ...Object.fromEntries(domains.map((one) => [one, (row: Latest) => cell(row, one)])),
    },
    next: from + limits.consoleRows < sorted.length ? String(from + limits.consoleRows) : null,
    kept,
  });
}

async function showExport(visit: Visit): Promise<Answer> {
  const kept = filterQuery(visit.query, []);
  const page = {
    title: 'Export gaps',
    back: { to: withQuery(`${visit.base}/results/gaps`, kept, {}), label: 'Gaps by domain' },
    intro: html`<p>The file contains each learner of the group, with score and status of each domain. It contains names. Store it securely, and delete it after use.</p>`,
  };
  return formatPage(visit, page, kept);
}

async function exportGaps(visit: Visit): Promise<Answer> {
  const { app, base, zone, organisationId: id, query } = visit;
  const { groupIds, visibility } = await readResultFilter(visit);
  if (groupIds.length === 0) return { to: `${base}/results/gaps` };
  const subject = subjectIn(query);
  const { rows, isMore } = await app.db.snapshot((tx) =>
    latestOfMembers(tx, id, { groupIds, visibility }, subject, maxInFile),
  );
  if (isMore)
    return refusal(
      'There are too many learners',
      `A file holds ${number(maxInFile)} learners. Choose a smaller group.`,
    );
  const sorted = byNeed(rows);
  const columns = gapColumns(domainNames(sorted), zone);
  return downloaded(visit, {
    name: `gaps-${subject}`,
    resource: 'gaps',
    kept: filterQuery(query, []),
    sheetOf: () => ({
      name: 'Gaps',
      columns,
      rows: (async function* () {
        yield sorted;
      })(),
    }),
  });
}
