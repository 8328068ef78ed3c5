import { once } from 'node:events';
import type { App } from '../src/app.ts';
import type { FundingColumns } from '../src/assessments/export.ts';
import { exportedResults, resultColumns, sheetFile } from '../src/assessments/export.ts';
import type { Look, ResultFilter } from '../src/assessments/browse-sql.ts';
import { resultSorts } from '../src/assessments/browse-sql.ts';
import { fundingFilter, fundingLists } from '../src/console/results-lists.ts';
import { readFilter, filterNames } from '../src/console/results-filter.ts';
import { startOfDay } from '../src/organisations/zone.ts';
import type { Tx } from '../src/db/database.ts';
import type { Sheet, SheetFormat } from '../src/files/sheet.ts';
import { sheetFormats } from '../src/files/sheet.ts';
import type { Organisation } from '../src/organisations/organisations.ts';
import type { Call, Command, Output } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { writeWhole } from './in-place.ts';
import { act, option, organisationOf, requiredOption, withApp } from './open.ts';
import { terminal } from './terminal.ts';

/** The list of results, by the function that makes the console's files. */

/** Where a sheet goes, and in which form: by --format, or as the name of --out ends. */
export function readTarget(call: Call): { out: string | undefined; format: SheetFormat } {
  const out = option(call, 'out');
  const given = option(call, 'format') ?? /\.(csv|xlsx)$/i.exec(out ?? '')?.[1]?.toLowerCase() ?? 'json';
  const format = sheetFormats.find((one) => one === given);
  if (format === undefined) throw new Misuse(`--format must be one of ${sheetFormats.join(', ')}`);
  if (format === 'xlsx' && out === undefined) throw new Misuse('--out FILE is required for a workbook');
  return { out, format };
}

function readSort(call: Call): Pick<Look, 'sort' | 'descending'> {
  const given = option(call, 'sort') ?? '-assessed';
  const sort = resultSorts.find((one) => one === given.replace(/^-/, ''));
  if (sort === undefined)
    throw new Misuse(`--sort must be one of ${resultSorts.join(', ')}, with - in front for the other way round`);
  return { sort, descending: given.startsWith('-') };
}

/** The options of these names, as an address of the console would have them. */
export function queryOf(call: Call, names: readonly string[]): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of names) {
    const value = option(call, name);
    if (value !== undefined) query.set(name, value);
  }
  return query;
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
  call: Call,
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
    const { output, errors } = terminal();
    for await (const part of file) {
      if (!output.write(part) && output.writable) await once(output, 'drain');
      if (!output.writable) throw new Failure('the output cannot be written');
    }
    // Standard output is the list, and nothing else.
    if (call.json) errors.write(`${JSON.stringify({ results: written })}\n`);
    return { json: undefined, text: '' };
  }
  await writeWhole(out, file);
  return { json: { results: written, file: out }, text: `${written.toLocaleString('en-GB')} results are in ${out}.` };
}

/** What a list for funding is narrowed by; its levels and its newest results are its own. */
const besideList = ['team', 'group', 'from', 'to'];

type Chosen = (typeof fundingLists)[number] | null;

function readList(call: Call, query: URLSearchParams): Chosen {
  const given = option(call, 'list');
  if (given === undefined) {
    if (option(call, 'start') !== undefined) throw new Misuse('--start goes with --list');
    return null;
  }
  const list = fundingLists.find((one) => one.name === given);
  if (list === undefined) throw new Misuse(`--list must be one of ${fundingLists.map((one) => one.name).join(', ')}`);
  const wrong = [...query.keys()].find((name) => !besideList.includes(name));
  if (wrong !== undefined) throw new Misuse(`--${wrong} does not go with --list`);
  return list;
}

function readStart(call: Call, zone: string): number | null {
  const given = option(call, 'start');
  if (given === undefined) return null;
  const at = startOfDay(given, zone);
  if (at === null) throw new Misuse('--start must be a day, such as 2026-09-01');
  return at.getTime() * 1000;
}

async function runList(call: Call): Promise<Output> {
  const id = requiredOption(call, 'organisation');
  const target = readTarget(call);
  const sorted = readSort(call);
  const query = queryOf(call, filterNames);
  const list = readList(call, query);
  return withApp(async (app) => {
    const organisation = await organisationOf(app, id);
    const zone = organisation.time_zone;
    const filter = filterOf(query, zone);
    const funding: FundingColumns | null = list === null ? null : { below: list.below, startUs: readStart(call, zone) };
    const look: Look = {
      organisationId: organisation.organisation_id,
      filter: list === null ? filter : fundingFilter(filter, list),
      ...sorted,
      after: null,
      limit: 1,
    };
    const what = list === null ? 'results' : list.title;
    return writeSheet(app, call, organisation, {
      ...target,
      action: 'results list',
      resource: `${what} as ${target.format}${query.size === 0 ? '' : `: ${query.toString()}`}`,
      sheetOf: (tx) => ({
        name: 'Results',
        columns: resultColumns(zone, funding),
        rows: exportedResults(tx, look),
      }),
    });
  });
}

export const listResults: Command = {
  name: 'results list',
  usage: `--organisation ID [--team ID] [--group ID] [--subject S] [--level L] [--below yes|no] [--from DAY] [--to DAY] [--flag any|borderline|review] [--source sitting|imported] [--changed DAY] [--latest yes] [--list ${fundingLists.map((one) => one.name).join('|')} [--start DAY]] [--sort KEY] [--format csv|xlsx|json] [--out FILE]`,
  summary: 'List results as the console does, as a file or line by line; --list takes a list for funding',
  positionals: [0, 0],
  options: {
    organisation: { type: 'string' },
    ...Object.fromEntries(filterNames.map((name) => [name, { type: 'string' as const }])),
    list: { type: 'string' },
    start: { type: 'string' },
    sort: { type: 'string' },
    format: { type: 'string' },
    out: { type: 'string' },
  },
  run: runList,
};
