import type { App } from '../../../src/platform/app.ts';
import { exportedResults, resultColumns, sheetFile } from '../../../src/records/results/lists/export.ts';
import type { Look, ResultFilter } from '../../../src/records/results/lists/browse-statements.ts';
import { resultSorts } from '../../../src/records/results/lists/browse-statements.ts';
import { fundingFilter, fundingLists } from '../../../src/web/console/results/funding-lists.ts';
import { readFilter, filterNames } from '../../../src/web/console/results/filter.ts';
import { startOfDay } from '../../../src/organisations/zone.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import type { Sheet, SheetFormat } from '../../../src/platform/formats/sheet.ts';
import { sheetFormats } from '../../../src/platform/formats/sheet.ts';
import type { Organisation } from '../../../src/organisations/organisations.ts';
import type { Call, Command, Output } from '../../kit/command.ts';
import { Misuse } from '../../kit/command.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { act, organisationCommand } from '../../kit/open.ts';
import { sortKey, text, word } from '../../kit/options.ts';
import { terminal, writeOut } from '../../kit/terminal.ts';

/** The list of results, by the function that makes the console's files. */

/** Where a sheet goes, and in which form. */
export const target = { format: word(sheetFormats), out: text('FILE') };

type Targeted = Call<{ format: SheetFormat | undefined; out: string | undefined }>;

/** The form is that of --format, or as the name of --out ends. */
export function readTarget({ options: { out, format } }: Targeted): { out: string | undefined; format: SheetFormat } {
  const ending = /\.(csv|xlsx)$/i.exec(out ?? '')?.[1]?.toLowerCase() ?? 'json';
  const its = format ?? (ending as SheetFormat);
  if (its === 'xlsx' && out === undefined) throw new Misuse('--out FILE is required for a workbook');
  return { out, format: its };
}

/** The options of these names, as an address of the console would have them. */
export function queryOf(call: Call<Record<string, unknown>>, names: readonly string[]): URLSearchParams {
  return new URLSearchParams(
    names.flatMap((name) => (typeof call.options[name] === 'string' ? [[name, call.options[name]]] : [])),
  );
}

/** What the query filters by. @throws Misuse where something in it means nothing */
export function filterOf(query: URLSearchParams, zone: string): ResultFilter {
  const read = readFilter(query, zone, null);
  const wrong = [...query.keys()].find((name) => !read.understood.has(name));
  if (wrong !== undefined) throw new Misuse(`--${wrong} is none of what the list can be filtered by`);
  return read.filter;
}

/**
 * Writes a sheet to the file of --out or to standard output. Its row in the audit log comes before anything of it is written,
 * and says what it holds, without a person.
 */
export async function writeSheet<Row>(
  app: App,
  call: Call<unknown>,
  organisation: Organisation,
  given: {
    action: string;
    resource: string;
    out: string | undefined;
    format: SheetFormat;
    sheetOf(tx: Tx): Sheet<Row>;
  },
): Promise<Output> {
  const { out, format } = given;
  let written = 0;
  await act(app, organisation.organisation_id, given.action, async () => ({
    result: null,
    resource: given.resource.slice(0, 500),
  }));
  const file = sheetFile(app, format, (tx) => {
    const { rows, ...sheet } = given.sheetOf(tx);
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
    // Standard output is the list, and nothing else.
    if (call.json) terminal().errors.write(`${JSON.stringify({ results: written })}\n`);
    return { json: undefined, text: '' };
  }
  await writeWhole(out, file);
  return { json: { results: written, file: out }, text: `${written.toLocaleString('en-GB')} results are in ${out}.` };
}

/** What a list for funding is narrowed by; its levels and its newest results are its own. */
const besideList = ['team', 'group', 'from', 'to'];

const listNames = fundingLists.map((one) => one.name);

/** What the list can be filtered by, as the console's page. */
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
const filters = Object.fromEntries(filterNames.map((name) => [name, text(filterValues[name])]));

function startOf(day: string | undefined, zone: string): number | null {
  if (day === undefined) return null;
  const at = startOfDay(day, zone);
  if (at === null) throw new Misuse('--start must be a day, such as 2026-09-01');
  return at.getTime() * 1000;
}

export const listResults: Command = organisationCommand({
  name: 'results list',
  summary: 'List results as the console does, as a file or line by line; --list takes a list for funding',
  options: { ...filters, list: word(listNames), start: text('DAY'), sort: sortKey(resultSorts), ...target },
  prepare(call) {
    const query = queryOf(call, filterNames);
    const { list: name, start } = call.options;
    const list = fundingLists.find((one) => one.name === name) ?? null;
    if (list === null && start !== undefined) throw new Misuse('--start goes with --list');
    const wrong = [...query.keys()].find((one) => !besideList.includes(one));
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
    const look: Look = {
      organisationId,
      filter: list === null ? filter : fundingFilter(filter, list),
      sort: by,
      descending,
      after: null,
      limit: 1,
    };
    const what = list === null ? 'results' : list.title;
    return writeSheet(app, call, organisation, {
      ...where,
      action: 'results list',
      resource: `${what} as ${where.format}${query.size === 0 ? '' : `: ${query.toString()}`}`,
      sheetOf: (tx) => ({ name: 'Results', columns: resultColumns(zone, funding), rows: exportedResults(tx, look) }),
    });
  },
});
