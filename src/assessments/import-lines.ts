import { parse } from 'csv-parse';
import type { Readable } from 'node:stream';

/** One record of a file, with the line that it ends on. `fault` tells why it couldn't be read. */
export type Line = { line: number; value: unknown; fault?: string };

/** The columns of a CSV file; domains, level_probabilities and groups hold JSON, an empty cell is null. */
export const csvColumns = [
  'assessment_id',
  'learner_ref',
  'learner_full_name',
  'assessed_at',
  'subject',
  'framework',
  'rqf_level',
  'rqf_level_code',
  'below_level_1',
  'working_level',
  'recommended_next_level',
  'is_borderline',
  'needs_review',
  'domains',
  'level_probabilities',
  'groups',
] as const;

/** The file can't be read as what it says it is. */
export class UnreadableFile extends Error {}

/** What stands for bytes that aren't UTF-8, as in files saved with an older encoding: names would be stored damaged. */
const damaged = '\uFFFD';
const notUtf8 = 'is not UTF-8';

/** Texts between line feeds. Other characters that end lines elsewhere may stand inside JSON. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]).toString();
      parts = [];
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
  }
  yield Buffer.concat(parts).toString();
}

/** Records of an NDJSON file: one JSON object a line, blank lines passed over. */
async function* ndjson(input: Readable): AsyncGenerator<Line> {
  let line = 0;
  for await (const text of linesOf(input)) {
    line++;
    if (text.trim() === '') continue;
    if (text.includes(damaged)) {
      yield { line, value: null, fault: notUtf8 };
      continue;
    }
    try {
      yield { line, value: JSON.parse(line === 1 ? text.replace(/^\uFEFF/, '') : text) };
    } catch {
      yield { line, value: null, fault: 'is not one JSON object' };
    }
  }
}

const flags: Record<string, boolean> = { true: true, false: false };

function fromCells(cells: Record<string, string>): unknown {
  const cell = (name: string) => (cells[name] === undefined || cells[name] === '' ? null : cells[name]);
  const flag = (name: string) => {
    const text = cell(name);
    return text === null ? null : (flags[text.toLowerCase()] ?? text);
  };
  const json = (name: string) => {
    const text = cell(name);
    return text === null ? undefined : (JSON.parse(text) as unknown);
  };
  const code = cell('rqf_level_code');
  return {
    ...(cell('assessment_id') === null ? {} : { assessment_id: cell('assessment_id') }),
    learner: { ref: cell('learner_ref'), full_name: cell('learner_full_name') ?? '' },
    assessed_at: cell('assessed_at') ?? '',
    subject: cell('subject') ?? '',
    framework: cell('framework') ?? '',
    rqf_level: cell('rqf_level'),
    rqf_level_code: code !== null && /^\d+$/.test(code) ? Number(code) : code,
    below_level_1: flag('below_level_1'),
    working_level: cell('working_level'),
    recommended_next_level: cell('recommended_next_level'),
    ...(flag('is_borderline') === null ? {} : { is_borderline: flag('is_borderline') }),
    ...(flag('needs_review') === null ? {} : { needs_review: flag('needs_review') }),
    ...(json('domains') === undefined ? {} : { domains: json('domains') }),
    ...(json('level_probabilities') === undefined ? {} : { level_probabilities: json('level_probabilities') }),
    ...(json('groups') === undefined ? {} : { groups: json('groups') }),
  };
}

async function* csv(input: Readable): AsyncGenerator<Line> {
  const faults: Line[] = [];
  const parser = input.pipe(
    parse({
      bom: true,
      info: true,
      skip_empty_lines: true,
      relax_column_count_less: true,
      skip_records_with_error: true,
      // The parser's own message repeats what stands there.
      on_skip: (error) => {
        const line = Number(error?.lines);
        const fault =
          error?.code === 'CSV_RECORD_INCONSISTENT_COLUMNS'
            ? 'has more cells than the first line'
            : 'has a quote that is out of place';
        if (faults.at(-1)?.line !== line) faults.push({ line, value: null, fault });
        return undefined;
      },
      columns: (header: string[]) => {
        if (
          new Set(header).size < header.length ||
          !header.every((name) => (csvColumns as readonly string[]).includes(name))
        ) {
          throw new UnreadableFile(
            `the first line must name columns out of ${csvColumns.join(', ')}, each at most once`,
          );
        }
        return header;
      },
    }),
  );
  input.once('error', (error) => parser.destroy(error));
  for await (const { record, info } of parser as AsyncIterable<{
    record: Record<string, string>;
    info: { lines: number };
  }>) {
    yield* faults.splice(0);
    if (Object.values(record).some((cell) => cell.includes(damaged))) {
      yield { line: info.lines, value: null, fault: notUtf8 };
      continue;
    }
    try {
      yield { line: info.lines, value: fromCells(record) };
    } catch {
      yield { line: info.lines, value: null, fault: 'domains, level_probabilities and groups must hold JSON' };
    }
  }
  yield* faults.splice(0);
}

/** Records of a file in either format. @throws UnreadableFile */
export function readLines(input: Readable, format: 'ndjson' | 'csv'): AsyncGenerator<Line> {
  return format === 'csv' ? csv(input) : ndjson(input);
}
