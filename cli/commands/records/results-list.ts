import type { App } from '../../../src/platform/app.ts';
import { exportedResults, resultColumns, sheetFile } from '../../../src/records/results/lists/export.ts';
import {
  type ResultFilter,
  type ResultQuery,
  resultSorts,
} from '../../../src/records/results/lists/browse-statements.ts';
import { startOfDay } from '../../../src/organisations/zone.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import { type Sheet, type SheetFormat, sheetFormats } from '../../../src/platform/formats/sheet.ts';
import type { Organisation } from '../../../src/organisations/organisations.ts';
import { type Call, type Command, type Option, type Output, Misuse } from '../../kit/command.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { note, organisationCommand } from '../../kit/open.ts';
import { sortKey, text, word } from '../../kit/options.ts';
import { terminal, writeOut } from '../../kit/terminal.ts';
import { filterNames, isFilter, readFilter } from '../../../src/records/results/lists/filter-query.ts';
import { fundingFilter, fundingLists } from '../../../src/records/results/lists/funding.ts';

export const target = { format: word(sheetFormats), out: text('FILE') };

type Targeted = Call<{ format: SheetFormat | undefined; out: string | undefined }>;

/** Reads the target of a list. Without --format, the ending of the file name in --out decides the format. */
export function readTarget({ options: { out, format } }: Targeted): { out: string | undefined; format: SheetFormat } {
  const ending = /\.(csv|xlsx)$/i.exec(out ?? '')?.[1]?.toLowerCase() ?? 'json';
  const target = { out, format: format ?? (ending as SheetFormat) };
  if (target.format === 'xlsx' && out === undefined) throw new Misuse('--out FILE is required for a workbook');
  return target;
}

export function queryOf(call: Call<Record<string, unknown>>, names: readonly string[]): URLSearchParams {
  return new URLSearchParams(
    names.flatMap((name) => (typeof call.options[name] === 'string' ? [[name, call.options[name]]] : [])),
  );
}

/** @throws Misuse for a parameter that is no filter */
export function filterOf(query: URLSearchParams, zone: string): ResultFilter {
  const wrong = [...query.keys()].find((name) => !isFilter(name, query));
  if (wrong !== undefined) throw new Misuse(`--${wrong} is none of what the list can be filtered by`);
  return readFilter(query, zone, null);
}

/**
 * Writes a sheet to the file of --out or to standard output. The audit row is written first and describes the content
 * without personal data.
 */
export async function writeSheet<Row>(
  app: App,
  call: Call<unknown>,
  organisation: Organisation,
  options: {
    action: string;
    resource: string;
    out: string | undefined;
    format: SheetFormat;
    sheetOf(tx: Tx): Sheet<Row>;
  },
): Promise<Output> {
  const { action, resource, out, format, sheetOf } = options;
  let written = 0;
  await note(app, organisation.organisation_id, action, resource.slice(0, 500));
  const file = sheetFile(app, format, (tx) => {
    const { rows, ...sheet } = sheetOf(tx);
    return {
      ...sheet,
      rows: (async function* () {
        for await (const some of rows) {
          written += some.length;
          yield some;
        }
      })(),
    };
  });
  if (out === undefined) {
    for await (const part of file) await writeOut(part);
    // Standard output contains only the list, so the number of results goes to standard error.
    if (call.json) terminal().errors.write(`${JSON.stringify({ results: written })}\n`);
    return { json: undefined, text: '' };
  }
  await writeWhole(out, file);
  return { json: { results: written, file: out }, text: `${written.toLocaleString('en-GB')} results are in ${out}.` };
}

/** Only these filters can be combined with --list: a list sets its own levels and takes the newest results. */
const listFilters = ['team', 'group', 'from', 'to'];

const listNames = fundingLists.map((one) => one.name);

const filterValues: Record<(typeof filterNames)[number], string> = {
  team: 'ID',
  type: 'T',
  group: 'ID',
  subject: 'S',
  level: 'L',
  below: 'yes|no',
  from: 'DAY',
  to: 'DAY',
  flag: 'any|borderline|review',
  source: 'sitting|imported',
  changed: 'DAY',
  latest: 'yes',
};
const filters = Object.fromEntries(filterNames.map((name) => [name, text(filterValues[name])])) as Record<
  (typeof filterNames)[number],
  Option<string | undefined>
>;

function startOf(day: string | undefined, zone: string): number | null {
  if (day === undefined) return null;
  const start = startOfDay(day, zone);
  if (start === null) throw new Misuse('--start must be a day, such as 2026-09-01');
  return start.getTime() * 1000;
}

export const listResults: Command = organisationCommand({
  name: 'results list',
  summary: 'List results, or write them into a file',
  notes: 'The filters are those of the console. --list writes a list for funding.',
  examples: [
    '--organisation $ORG --subject maths --latest yes',
    '--organisation $ORG --list english-maths-below-level-2 --format xlsx --out list.xlsx',
  ],
  about: {
    team: 'Only learners of this team',
    type: 'Only groups of this type',
    group: 'Only learners of this group',
    subject: 'Only this subject',
    level: 'Only this level',
    below: 'Only results below level 1, or only others',
    from: 'Assessed on or after this day',
    to: 'Assessed on or before this day',
    flag: 'Only results with this flag (borderline: close to a boundary)',
    source: 'Only sittings, or only imported results',
    changed: 'Changed on or after this day',
    latest: 'Only the latest result of each learner and subject',
    list: 'A list for funding',
    start: 'The start of the period of the list',
    sort: 'The order: a column, with - in front for descending',
    format: 'The format of the output',
    out: 'The file to write (default: standard output)',
  },
  options: { ...filters, list: word(listNames), start: text('DAY'), sort: sortKey(resultSorts), ...target },
  prepare(call) {
    const query = queryOf(call, filterNames);
    const { list: name, start } = call.options;
    const list = fundingLists.find((one) => one.name === name) ?? null;
    if (list === null && start !== undefined) throw new Misuse('--start goes with --list');
    const wrong = [...query.keys()].find((one) => !listFilters.includes(one));
    if (list !== null && wrong !== undefined) throw new Misuse(`--${wrong} does not go with --list`);
    return { ...readTarget(call), query, list };
  },
  async run(call) {
    const { app, organisation, organisationId, options, prepared } = call;
    const { list, query, ...where } = prepared;
    const { by, descending } = options.sort ?? { by: 'assessed', descending: true };
    const zone = organisation.time_zone;
    const filter = filterOf(query, zone);
    const funding = list === null ? null : { below: list.below, startUs: startOf(options.start, zone) };
    const narrowed = list === null ? filter : fundingFilter(filter, list);
    const look: ResultQuery = { organisationId, filter: narrowed, sort: by, descending, after: null, limit: 1 };
    const what = list === null ? 'results' : list.title;
    return writeSheet(app, call, organisation, {
      ...where,
      action: 'results list',
      resource: `${what} as ${where.format}${query.size === 0 ? '' : `: ${query.toString()}`}`,
      sheetOf: (tx) => ({ name: 'Results', columns: resultColumns(zone, funding), rows: exportedResults(tx, look) }),
    });
  },
});
