import { type BrowsedResult, maxRows, browseResults } from '../../../records/results/lists/browse.ts';
import type { ResultQuery } from '../../../records/results/lists/browse-statements.ts';
import { probabilityBelow, placementWords, intervalWords } from '../../../records/results/lists/interval.ts';
import { subjectName } from '../../../records/evidence/wording.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { day, facts, number } from '../kit/blocks.ts';
import { dateFields, groupFields, readResultFilter, filterInWords } from './filter.ts';
import { flagLabels, learnerCell, percent, readPlace, exportLink, thereMayBeMore, readResultSort } from './results.ts';
import { sealToken } from '../kit/reader.ts';
import { type Answer, type ConsoleRoute, type Visit, get, formRoutes } from '../kit/route.ts';
import { startOfDay, dayOf } from '../../../organisations/zone.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { listPage, formPage, refusal, busyPage } from '../kit/page.ts';
import type { FundingColumns } from '../../../records/results/lists/export.ts';
import { exportedResults, ExportsBusy, resultColumns, sheetFile } from '../../../records/results/lists/export.ts';
import { type Sheet, type SheetFormat, sheetTypes } from '../../../platform/formats/sheet.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { filterQuery } from '../../../records/results/lists/filter-query.ts';
import { type List, fundingLists, fundingFilter } from '../../../records/results/lists/funding.ts';
import { withQuery } from '../kit/paging.ts';
import { numeric, plain, wideOnly } from '../kit/table.ts';

export const resultExportRoutes: ConsoleRoute[] = formRoutes('/results/export', learnerReaders, showExport, exportAll, {
  proof: true,
});

const formats = [
  { value: 'xlsx', label: 'Excel (XLSX)', hint: 'Opens in Excel and LibreOffice, with real dates and numbers.' },
  {
    value: 'csv',
    label: 'CSV',
    hint: 'For other programs. An apostrophe disables formulas in cells.',
  },
];

export function formatPage(
  visit: Visit,
  page: { title: string; back: { to: string; label: string }; intro: Content; also?: Content },
  kept: URLSearchParams,
): Answer {
  return formPage(visit, {
    ...page,
    button: 'Download file',
    to: withQuery(visit.path, kept, {}),
    fields: (f) => f.choose('format', 'File format', formats, { value: 'xlsx' }),
  });
}

async function lookOf(visit: Visit): Promise<ResultQuery> {
  const { organisationId, query } = visit;
  const filter = await readResultFilter(visit);
  return { organisationId, filter, ...readResultSort(query), after: null, limit: limits.exportPage };
}

const sheetHolds = `One sheet has room for ${number(limits.sheetRows - 1)} results.`;

async function showExport(visit: Visit): Promise<Answer> {
  const look = await lookOf(visit);
  const [max, words] = await Promise.all([maxRows(visit.app.db, look), filterInWords(visit)]);
  const kept = filterQuery(visit.query);
  const isFiltered = Object.values(words).some((one) => one !== undefined);
  const rows = `${max.exact ? '' : 'At most '}${number(max.n)}`;
  const page = {
    title: 'Export results',
    back: { to: withQuery(`${visit.base}/results`, kept, {}), label: 'Results' },
    intro: [
      html`<p>The file contains every result that matches these filters. It contains names. Store it securely, and delete it after use.</p>`,
      facts({ Results: rows, ...(isFiltered ? words : { Filters: 'None: all results' }) }),
    ],
    also: [
      max.n >= limits.sheetRows &&
        html`<p class="hint">${sheetHolds} A larger workbook stops early. Choose CSV instead.</p>`,
      html`<p class="hint">The audit log records each export.</p>`,
    ],
  };
  return formatPage(visit, page, kept);
}

/**
 * Answers with the file. The audit row is written before the first byte is sent.
 * @param options.resource the text of the audit row; it must not contain a person's name
 */
export async function downloaded<Row>(
  visit: Visit,
  options: { name: string; resource: string; kept: URLSearchParams; sheetOf(tx: Tx): Sheet<Row> },
): Promise<Answer> {
  const { app, zone, change } = visit;
  const { name, kept } = options;
  const format = formatOf(visit);
  const filter = kept.toString();
  const resource = `${options.resource} as ${format}${filter === '' ? '' : `: ${filter}`}`.slice(0, 500);
  let body;
  try {
    body = sheetFile(app, format, options.sheetOf);
  } catch (error) {
    if (!(error instanceof ExportsBusy)) throw error;
    return busyPage('Too many exports are running', 'Nothing was exported.');
  }
  try {
    await change(async () => true, resource);
  } catch (error) {
    body.destroy();
    throw error;
  }
  const day = dayOf(new Date(app.clock.nowMs()), zone);
  return { file: { type: sheetTypes[format], name: `${name}-${day}.${format}`, body } };
}

const formatOf = ({ form: sent }: Visit): SheetFormat => (sent.raw('format') === 'csv' ? 'csv' : 'xlsx');

/** @param options.funding further columns of a list for funding; null for other exports */
export async function downloadedResults(
  visit: Visit,
  look: ResultQuery,
  { funding, ...options }: { name: string; resource: string; kept: URLSearchParams; funding: FundingColumns | null },
): Promise<Answer> {
  const max = await maxRows(visit.app.db, look);
  // We refuse only if the count is exact. Otherwise it may be too high, and a full sheet ends the download.
  if (formatOf(visit) === 'xlsx' && max.exact && max.n >= limits.sheetRows)
    return refusal('There are too many results', `${sheetHolds} Filter by a subject or a group, or choose CSV.`);
  const columns = resultColumns(visit.zone, funding);
  const sheetOf = (tx: Tx) => ({ name: 'Results', columns, rows: exportedResults(tx, look) });
  return downloaded(visit, { ...options, sheetOf });
}

async function exportAll(visit: Visit): Promise<Answer> {
  const options = { name: 'results', resource: 'results', kept: filterQuery(visit.query), funding: null };
  return downloadedResults(visit, await lookOf(visit), options);
}

/** Pages for two funding lists. Each list shows learners whose latest result in a subject is below a level. */

const pathOf = ({ name }: List) => `/results/lists/${name}`;

export const resultListRoutes: ConsoleRoute[] = [
  get('/results/lists', learnerReaders, showLists),
  ...fundingLists.flatMap((list): ConsoleRoute[] => [
    get(pathOf(list), learnerReaders, (visit) => showList(visit, list)),
    ...formRoutes(
      `${pathOf(list)}/export`,
      learnerReaders,
      (visit) => showListExport(visit, list),
      (visit) => exportList(visit, list),
      { proof: true },
    ),
  ]),
];

/** The service does not say how a list affects funding. The page links to the funder's rules instead. */
async function rulesOf({ app, organisationId }: Visit): Promise<Content> {
  const { funding_rules_url: url } = await readOrganisation(app.db, organisationId);
  return html`A result does not decide about funding. Check each learner against ${url === null ? 'your funder’s rules' : html`<a href="${url}" rel="noreferrer">these funding rules</a>`}.`;
}

async function showLists(visit: Visit): Promise<Answer> {
  const { base } = visit;
  return {
    title: 'Funding lists',
    back: { to: `${base}/results`, label: 'Results' },
    main: [
      html`<p>Learners whose latest result in a subject is below a level, with date, probability and evidence pack.</p><ul class="choices">${fundingLists.map(
        (list) => html`<li><a href="${base}${pathOf(list)}">${list.title}</a><p class="hint">${list.says}</p></li>`,
      )}<li><a href="${base}/results/lists/ilr">Assessed levels for the ILR</a><p class="hint">A CSV file with the column names of the ILR.</p></li></ul>`,
      html`<p>${await rulesOf(visit)}</p>`,
    ],
  };
}

/** The first day of the learner's programme, as microseconds since 1970. */
function startOf({ query, zone }: Visit): number | null {
  const at = startOfDay(query.get('start') ?? '', zone);
  return at === null ? null : at.getTime() * 1000;
}

async function lookFor(visit: Visit, list: List): Promise<ResultQuery> {
  const filter = fundingFilter(await readResultFilter(visit), list);
  return {
    organisationId: visit.organisationId,
    filter,
    sort: 'assessed',
    descending: true,
    after: readPlace(visit, filter.visibility, 'assessed'),
    limit: limits.consoleRows,
  };
}

const keptOf = ({ query }: Visit): URLSearchParams => filterQuery(query, ['start']);

async function showList(visit: Visit, list: List): Promise<Answer> {
  const { app, base, zone, path } = visit;
  const look = await lookFor(visit, list);
  const startUs = startOf(visit);
  const [{ rows, next, isCutShort }, groups, rules] = await Promise.all([
    app.db.snapshot((tx) => browseResults(tx, look)),
    groupFields(visit),
    rulesOf(visit),
  ]);
  const isLate = ({ content }: BrowsedResult) => startUs !== null && content.assessed_at_us >= startUs;
  const late = rows.filter(isLate).length;
  const probability = ({ content }: BrowsedResult): Content => {
    const found = probabilityBelow(content.level_probabilities, list.below);
    return found === null ? 'Not recorded' : percent(found);
  };
  const kept = keptOf(visit);
  return listPage<BrowsedResult>(visit, {
    title: list.title,
    back: { to: `${base}/results/lists`, label: 'Funding lists' },
    actions: rows.length > 0 && exportLink(path, kept, 'Export list'),
    intro: html`<p>${list.says} ${rules}</p>`,
    filters: (q) => [groups, dateFields(q), q.text('start', 'Programme starts on', { type: 'date' })],
    note: [
      late > 0 &&
        html`<p class="note"><strong>${late === 1 ? 'One result on this page was' : `${late} results on this page were`} assessed on or after the start of the programme.</strong> A starting point must be assessed before.</p>`,
    ],
    caption: 'Learners, latest assessment first',
    none: isCutShort
      ? 'No result that was checked so far matches. Open the next page for more.'
      : 'No result matches. Change the filter.',
    sticky: true,
    rows,
    columns: {
      Learner: (row) => learnerCell(`${base}/results/${row.assessment_id}`, row),
      Subject: plain(({ content }) => subjectName(content.subject)),
      Placement: plain(placementWords),
      'Likely level': wideOnly(({ content }) => intervalWords(content.level_probabilities)),
      [`Probability below ${list.below}`]: wideOnly(numeric(probability)),
      Assessed: plain(
        (row: BrowsedResult) =>
          html`${day(row.content.assessed_at_us, zone)}${isLate(row) && html`<br><strong>After the start of the programme</strong>`}`,
      ),
      Flags: ({ content }) => flagLabels(content),
      Evidence: plain(
        (row) =>
          html`<a href="${base}/results/${row.assessment_id}/evidence">PDF<span class="unseen"> of the result of ${row.full_name}</span></a>`,
      ),
    },
    around: (shown) => [shown, isCutShort && rows.length > 0 && thereMayBeMore],
    next: next && sealToken(visit, look.filter.visibility, next.join('.')),
    kept,
  });
}

async function showListExport(visit: Visit, list: List): Promise<Answer> {
  const kept = keptOf(visit);
  const page = {
    title: `Export: ${list.title}`,
    back: { to: withQuery(visit.base + pathOf(list), kept, {}), label: list.title },
    intro: html`<p>The file contains every row that matches the filter, with probability, evidence hash and date. ${startOf(visit) === null ? 'To mark late results, filter by the start of the programme first.' : 'Results on or after the start of the programme are marked.'} It contains names. Store it securely, and delete it after use.</p>`,
  };
  return formatPage(visit, page, kept);
}

async function exportList(visit: Visit, list: List): Promise<Answer> {
  return downloadedResults(visit, await lookFor(visit, list), {
    name: list.name,
    resource: list.title,
    kept: keptOf(visit),
    funding: { below: list.below, startUs: startOf(visit) },
  });
}
