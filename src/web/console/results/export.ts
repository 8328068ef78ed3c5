import type { ResultQuery } from '../../../records/results/lists/browse-statements.ts';
import { countInCells, groupSetsFor } from '../../../records/results/lists/browse.ts';
import type { FundingColumns } from '../../../records/results/lists/export.ts';
import { exportedResults, ExportsBusy, resultColumns, sheetFile } from '../../../records/results/lists/export.ts';
import type { Sheet, SheetFormat } from '../../../platform/formats/sheet.ts';
import { sheetTypes } from '../../../platform/formats/sheet.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { facts, messagePage, number, withQuery } from '../kit/blocks.ts';
import { readResultFilter, filterInWords, filterQuery } from './filter.ts';
import { readResultSort } from './results.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { dayOf } from '../../../organisations/zone.ts';
import { formRoutes } from '../kit/route.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { fieldsOf } from '../kit/form.ts';
import type { Content } from '../../../platform/html/html.ts';

export const resultExportRoutes: ConsoleRoute[] = formRoutes('/results/export', learnerReaders, showExport, exportAll, {
  proof: true,
});

const formats = [
  { value: 'xlsx', label: 'Excel (XLSX)', hint: 'Opens in Excel and LibreOffice, with real dates and numbers.' },
  {
    value: 'csv',
    label: 'CSV',
    hint: 'For other programs. Cells that a spreadsheet would run are made harmless by an apostrophe.',
  },
];

/** The filter stays in the URL of the form. */
export function formatForm(visit: Visit, kept: URLSearchParams, cancel: string): Content {
  const f = fieldsOf(visit);
  const format = f.choose('format', 'Form of the file', formats, { value: 'xlsx' });
  return f.form('Download', { to: withQuery(visit.path, kept, {}), cancel }, format);
}

async function lookOf(visit: Visit): Promise<ResultQuery> {
  const { organisationId, query } = visit;
  const filter = await readResultFilter(visit);
  return {
    organisationId,
    filter,
    ...readResultSort(query),
    after: null,
    limit: limits.exportPage,
  };
}

/** The number of rows in the file. Some filters only allow an upper limit (`exact: false`). */
async function maxRows(visit: Visit, { organisationId, filter }: ResultQuery): Promise<{ n: number; exact: boolean }> {
  const { db } = visit.app;
  const { assessedFromUs, assessedBeforeUs, changedSinceUs, flag, source, latest } = filter;
  const exact =
    [assessedFromUs, assessedBeforeUs, changedSinceUs, flag, source].every((one) => one === null) && !latest;
  const counted = await countInCells(db, organisationId, filter.facets, await groupSetsFor(db, organisationId, filter));
  return { n: counted.n, exact };
}

const sheetHolds = `One sheet holds ${number(limits.sheetRows - 1)} results.`;

async function showExport(visit: Visit): Promise<Answer> {
  const look = await lookOf(visit);
  const [max, words] = await Promise.all([maxRows(visit, look), filterInWords(visit)]);
  const kept = filterQuery(visit.query);
  const back = withQuery(`${visit.base}/results`, kept, {});
  return {
    title: 'Export results',
    back: { to: back, label: 'Results' },
    main: html`<p>The file holds every result that the list shows with these filters, as they all are at one moment. It holds names: keep it where personal data belongs, and delete it when it has served.</p>${facts(
      {
        Results: `${max.exact ? '' : 'At most '}${number(max.n)}`,
        ...(Object.values(words).some((one) => one !== undefined) ? words : { Filters: 'None: all results' }),
      },
    )}${formatForm(visit, kept, back)}${max.n >= limits.sheetRows && html`<p class="hint">${sheetHolds} The download of a workbook with more breaks off: take CSV then.</p>`}<p class="hint">Who exported what stands in the audit log.</p>`,
  };
}

/**
 * The audit row is written before the first byte is sent. @param options.resource the audit row's text; it must name no
 * person
 */
export async function downloaded<Row>(
  visit: Visit,
  given: { name: string; format: SheetFormat; resource: string; sheetOf(tx: Tx): Sheet<Row> },
): Promise<Answer> {
  const { app, zone, change } = visit;
  const { format, name } = given;
  let body;
  try {
    body = sheetFile(app, format, given.sheetOf);
  } catch (error) {
    if (!(error instanceof ExportsBusy)) throw error;
    return {
      status: 503,
      headers: { 'retry-after': '30' },
      ...messagePage('Other files are being written', 'Go back, and try again in a minute. Nothing was exported.'),
    };
  }
  try {
    await change(async () => ({ result: null, resource: given.resource }));
  } catch (error) {
    body.destroy();
    throw error;
  }
  const day = dayOf(new Date(app.clock.nowMs()), zone);
  return { file: { type: sheetTypes[format], name: `${name}-${day}.${format}`, body } };
}

export const formatOf = ({ form: sent }: Visit): SheetFormat => (sent.raw('format') === 'csv' ? 'csv' : 'xlsx');

/** @param options.funding further columns of a list for funding */
export async function downloadedResults(
  visit: Visit,
  look: ResultQuery,
  given: { name: string; resource: string; funding: FundingColumns | null },
): Promise<Answer> {
  const format = formatOf(visit);
  const max = await maxRows(visit, look);
  // An inexact count may be too high, so then the sheet itself stops when it is full.
  if (format === 'xlsx' && max !== null && max.exact && max.n >= limits.sheetRows)
    return {
      status: 422,
      ...messagePage('A sheet has no room for so many', `${sheetHolds} Filter by a subject or a group, or take CSV.`),
    };
  const columns = resultColumns(visit.zone, given.funding);
  return downloaded(visit, {
    name: given.name,
    format,
    resource: given.resource,
    sheetOf: (tx) => ({ name: 'Results', columns, rows: exportedResults(tx, look) }),
  });
}

async function exportAll(visit: Visit): Promise<Answer> {
  const kept = filterQuery(visit.query).toString();
  return downloadedResults(visit, await lookOf(visit), {
    name: 'results',
    resource: `results as ${formatOf(visit)}${kept === '' ? '' : `: ${kept}`}`.slice(0, 500),
    funding: null,
  });
}
