import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { exportedResults, resultColumns, sheetFile } from '../src/assessments/export.ts';
import type { Look } from '../src/assessments/browse-sql.ts';
import { resultSorts } from '../src/assessments/browse-sql.ts';
import { readFilter, filterNames } from '../src/console/results-filter.ts';
import { sheetFormats } from '../src/files/sheet.ts';
import type { SheetFormat } from '../src/files/sheet.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { act, option, organisationOf, requiredOption, withApp } from './open.ts';

/** The list of results, by the function that makes the console's files. */

function readFormat(call: Call, out: string | undefined): SheetFormat {
  const given = option(call, 'format') ?? /\.(csv|xlsx)$/i.exec(out ?? '')?.[1]?.toLowerCase() ?? 'json';
  const format = sheetFormats.find((one) => one === given);
  if (format === undefined) throw new Misuse(`--format must be one of ${sheetFormats.join(', ')}`);
  if (format === 'xlsx' && out === undefined) throw new Misuse('--out FILE is required for a workbook');
  return format;
}

function readSort(call: Call): Pick<Look, 'sort' | 'descending'> {
  const given = option(call, 'sort') ?? '-assessed';
  const sort = resultSorts.find((one) => one === given.replace(/^-/, ''));
  if (sort === undefined)
    throw new Misuse(`--sort must be one of ${resultSorts.join(', ')}, with - in front for the other way round`);
  return { sort, descending: given.startsWith('-') };
}

async function runList(call: Call) {
  const id = requiredOption(call, 'organisation');
  const out = option(call, 'out');
  const format = readFormat(call, out);
  const sorted = readSort(call);
  const query = new URLSearchParams();
  for (const name of filterNames) {
    const value = option(call, name);
    if (value !== undefined) query.set(name, value);
  }
  return withApp(async (app) => {
    const organisation = await organisationOf(app, id);
    const read = readFilter(query, organisation.time_zone, null);
    const wrong = [...query.keys()].find((name) => !read.understood.has(name));
    if (wrong !== undefined) throw new Misuse(`--${wrong} is none of what the list can be filtered by`);
    const look: Look = {
      organisationId: organisation.organisation_id,
      filter: read.filter,
      ...sorted,
      after: null,
      limit: 1,
    };
    const columns = resultColumns(organisation.time_zone);
    let rows = 0;
    await act(app, organisation.organisation_id, 'results list', async () => ({
      result: null,
      resource: `results as ${format}${query.size === 0 ? '' : `: ${query.toString()}`}`.slice(0, 500),
    }));
    const file = sheetFile(app, format, (tx) => ({
      name: 'Results',
      columns,
      rows: (async function* () {
        for await (const some of exportedResults(tx, look)) {
          rows += some.length;
          yield some;
        }
      })(),
    }));
    if (out === undefined) {
      for await (const part of file) {
        if (!process.stdout.write(part) && process.stdout.writable) await once(process.stdout, 'drain');
        if (!process.stdout.writable) throw new Failure('the output cannot be written');
      }
      return { json: { results: rows }, text: '' };
    }
    await pipeline(file, createWriteStream(out, { mode: 0o600 })).catch((error: NodeJS.ErrnoException) => {
      throw error.syscall === undefined ? error : new Failure(`cannot write ${out}`);
    });
    return { json: { results: rows, file: out }, text: `${rows.toLocaleString('en-GB')} results are in ${out}.` };
  });
}

export const listResults: Command = {
  name: 'results list',
  usage:
    '--organisation ID [--team ID] [--group ID] [--subject S] [--level L] [--below yes|no] [--from DAY] [--to DAY] [--flag any|borderline|review] [--source sitting|imported] [--changed DAY] [--latest yes] [--sort KEY] [--format csv|xlsx|json] [--out FILE]',
  summary: 'List results as the console does, as a file or line by line',
  positionals: [0, 0],
  options: {
    organisation: { type: 'string' },
    ...Object.fromEntries(filterNames.map((name) => [name, { type: 'string' as const }])),
    sort: { type: 'string' },
    format: { type: 'string' },
    out: { type: 'string' },
  },
  run: runList,
};
