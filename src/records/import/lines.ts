import type { Readable } from 'node:stream';
import { cellsOf, csvLine, csvRecords, namesDelimiter, unguard } from '../../platform/formats/csv.ts';
import type { Delimiter, TextLine } from '../../platform/formats/csv.ts';
import type { ByteLine } from '../../platform/formats/lines.ts';
import {
  byteLines,
  peek,
  encode,
  lineDecoder,
  lost,
  recogniseEncoding,
  UnreadableFile,
} from '../../platform/formats/lines.ts';
import { isJsonObject, JsonFault, parseJson } from '../../platform/formats/json.ts';
import { limits } from '../../platform/config/limits.ts';
import type { Fault } from '../results/result-fields.ts';
import { sentenceOf } from '../results/result-fields.ts';

/** What stood on a line (cells of a CSV file, or a text), to be written again where it is refused. */
export type Given = { line: number; given: readonly string[] | string };

/** One record of a file, with the line that it begins on and how long it is. With `faults` it couldn't be read. */
export type Line = Given & { bytes: number; value: unknown; faults?: Fault[] };

/** A file of results: its records, and how a refused one is written so that it can be mended and imported again. */
export type ResultFile = {
  lines: AsyncGenerator<Line>;
  /** What a file of refused records begins with. To be asked once a line was read. */
  head(): Buffer;
  refused(given: Given, faults: Fault[]): Buffer;
};

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

/**
 * Why a record was refused: in a file of refused records beside what stood there, and passed over when that is
 * imported.
 */
const reasonColumn = 'rejected_because';

/** Enough of a file to see how it is encoded, before anything of it is read. */
const headBytes = 64 * 1024;

const unreadable: Record<'encoding' | 'length' | 'quotes' | 'cells' | 'json' | 'repeated name', Fault> = {
  encoding: {
    field: 'the line',
    expected: 'in one encoding with the rest of the file, UTF-8 (or in CSV Windows-1252), with no character damaged',
    example: 'what a spreadsheet saves as “CSV UTF-8”',
  },
  length: {
    field: 'the line',
    expected: `at most ${limits.importLineBytes.toLocaleString('en-GB')} bytes long`,
    example: 'one result with its domains and groups',
  },
  quotes: {
    field: 'the line',
    expected: 'written with quotes around whole cells only, and two for one inside them',
    example: '"Ana ""Annie"" Silva"',
  },
  cells: {
    field: 'the line',
    expected: 'of no more cells than the first line names, with quotes around a cell that holds the delimiter',
    example: '"Silva, Ana"',
  },
  json: {
    field: 'the line',
    expected: 'one JSON object',
    example: '{"learner": {"full_name": "Ana Silva"}, "assessed_at": "2026-01-31T09:00:00Z", …}',
  },
  'repeated name': {
    field: 'the line',
    expected: 'a JSON object in which no object has a name twice',
    example: '{"subject": "maths", …}',
  },
};

/** Lines of text with their numbers, as many together as came together; what begins the file is left out. */
async function* textLines(
  input: AsyncIterable<Buffer>,
  markBytes: number,
  decode: (line: Buffer) => { text: string; damaged: boolean },
): AsyncGenerator<TextLine[]> {
  let line = 0;
  const textLine = (bytes: ByteLine): TextLine => {
    line++;
    if (bytes === null) return { line, text: '', why: 'length' };
    const read = decode(line === 1 ? bytes.subarray(markBytes) : bytes);
    const text = read.text.endsWith('\r') ? read.text.slice(0, -1) : read.text;
    return read.damaged ? { line, text, why: 'encoding' } : { line, text };
  };
  for await (const together of byteLines(input, limits.importLineBytes)) yield together.map(textLine);
}

async function* oneByOne<T>(many: AsyncIterable<T[]>): AsyncGenerator<T> {
  for await (const together of many) yield* together;
}

function readJson(text: string): { value: unknown; faults?: Fault[] } {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { value: null, faults: [unreadable[error.kind === 'syntax' ? 'json' : 'repeated name']] };
  }
}

/** A record of an NDJSON file: one JSON object a line, blank lines passed over. */
function ndjsonRecord({ line, text, why }: TextLine): Line | null {
  if (why === undefined && text.trim() === '') return null;
  const bytes = text.length;
  if (why !== undefined) return { line, bytes, value: null, faults: [unreadable[why]], given: text };
  const read = readJson(text);
  const { value } = read;
  // A line of a file of refused records holds what stood there, mended or not.
  if (isJsonObject(value) && typeof value.reason === 'string' && typeof value.line === 'number') {
    if (typeof value.text !== 'string')
      return { line, bytes, value: value.record, given: JSON.stringify(value.record ?? null) };
    const again = value.text.includes(lost) ? { value: null, faults: [unreadable.encoding] } : readJson(value.text);
    return { line, bytes, ...again, given: value.text };
  }
  return { line, bytes, ...read, given: text };
}

async function* ndjson(lines: AsyncIterable<TextLine[]>): AsyncGenerator<Line> {
  for await (const together of lines)
    for (const line of together) {
      const record = ndjsonRecord(line);
      if (record !== null) yield record;
    }
}

function ndjsonRefused({ line, given }: Given, faults: Fault[]): Buffer {
  const text = given as string;
  const { value } = readJson(text);
  const stood = isJsonObject(value) ? { record: value } : { text };
  const told = JSON.stringify({ line, reason: faults.map(sentenceOf).join('; '), faults, ...stood });
  return Buffer.from(`${told.replaceAll(lost, '\\ufffd')}\n`);
}

const flags = new Map([
  ['true', true],
  ['false', false],
]);

/** A record of cells. What a cell can't be read as stays text, so that the record's own check refuses it. */
function fromCells(cells: ReadonlyMap<string, string>): unknown {
  const cell = (name: (typeof csvColumns)[number]) => {
    const text = cells.get(name);
    return text === undefined || text === '' ? null : text;
  };
  const flag = (name: 'below_level_1' | 'is_borderline' | 'needs_review') => {
    const text = cell(name);
    return text === null ? null : (flags.get(text.toLowerCase()) ?? text);
  };
  const json = (name: 'domains' | 'level_probabilities' | 'groups') => {
    const text = cell(name);
    if (text === null) return null;
    try {
      return parseJson(text);
    } catch {
      return text;
    }
  };
  const code = cell('rqf_level_code');
  const levelCode = code !== null && /^\d+$/.test(code) ? Number(code) : code;
  // A column that isn't there leaves what is stored as it is; an empty cell says that there is nothing.
  const given = {
    assessment_id: cell('assessment_id') ?? undefined,
    working_level: cells.has('working_level') ? cell('working_level') : undefined,
    recommended_next_level: cells.has('recommended_next_level') ? cell('recommended_next_level') : undefined,
    is_borderline: cells.has('is_borderline') ? (flag('is_borderline') ?? false) : undefined,
    needs_review: cells.has('needs_review') ? (flag('needs_review') ?? false) : undefined,
    domains: cells.has('domains') ? (json('domains') ?? []) : undefined,
    level_probabilities: cells.has('level_probabilities') ? json('level_probabilities') : undefined,
    groups: json('groups') ?? undefined,
    // No level is a level, too: where the columns are forgotten, the record is refused for want of them.
    rqf_level: cells.has('rqf_level') ? cell('rqf_level') : undefined,
    rqf_level_code: cells.has('rqf_level_code') ? levelCode : undefined,
    below_level_1: cells.has('below_level_1') ? flag('below_level_1') : undefined,
  };
  return {
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    learner: { ref: cell('learner_ref'), full_name: cell('learner_full_name') ?? '' },
    assessed_at: cell('assessed_at') ?? '',
    subject: cell('subject') ?? '',
    framework: cell('framework') ?? '',
  };
}

/** Finds the delimiter and the columns in the first line. @throws UnreadableFile */
function readHeader(text: string): { delimiter: Delimiter; columns: string[] } {
  const known = new Set<string>([...csvColumns, reasonColumn]);
  for (const delimiter of [',', ';', '\t'] as const) {
    const columns = (cellsOf(text, delimiter) ?? []).map((name) => name.trim());
    if (columns.every((name) => known.has(name)) && new Set(columns).size === columns.length && columns.length > 0)
      return { delimiter, columns };
  }
  throw new UnreadableFile(
    `the first line must name columns out of ${csvColumns.join(', ')}, each at most once, with commas, semicolons or tabs between`,
  );
}

const asciiOf = new Map(Object.entries({ '“': '"', '”': '"', '‘': "'", '’': "'", '…': '...', '–': '-' }));

/** A reason that is the same bytes in every encoding: the one of the file may show only later. */
const inAscii = (text: string) => text.replace(/[^\x00-\x7f]/gu, (one) => asciiOf.get(one) ?? '?');

/** In a CSV file a fault is told of the column. */
function ofColumn(fault: Fault): Fault {
  return { ...fault, field: fault.field.replace(/^learner\./, 'learner_') };
}

function csvFile(lines: AsyncGenerator<TextLine>, encoded: (text: string) => Buffer, mark: string): ResultFile {
  let delimiter: Delimiter = ',';
  let columns: string[] = [];
  let named: string[] = [];

  async function* records(): AsyncGenerator<Line> {
    let first = await lines.next();
    const saysNothing = (line: string) => line.trim() === '' || namesDelimiter(line);
    while (first.done !== true && saysNothing(first.value.text) && first.value.why === undefined)
      first = await lines.next();
    if (first.done === true) return;
    const header = readHeader(first.value.text);
    ({ delimiter } = header);
    named = header.columns;
    columns = named.filter((name) => name !== reasonColumn);
    const reasonAt = named.indexOf(reasonColumn);
    for await (const record of csvRecords(lines, delimiter, limits.importLineBytes)) {
      const { line, text } = record;
      const bytes = text.length;
      const withoutReason = (cells: string[]) => cells.map(unguard).filter((_, i) => i !== reasonAt);
      if (record.cells === null) {
        const looksLike = text.split(delimiter);
        // Cells that only look like it have the line itself behind them, so that nobody imports them without a look.
        const given =
          record.why === 'quotes'
            ? [...columns.map((_, i) => looksLike[i] ?? ''), ...looksLike.slice(columns.length), text]
            : withoutReason(cellsOf(text, delimiter) ?? looksLike);
        yield { line, bytes, value: null, faults: [unreadable[record.why]], given };
        continue;
      }
      const given = withoutReason(record.cells);
      if (given.length > columns.length) yield { line, bytes, value: null, faults: [unreadable.cells], given };
      else {
        // Programs leave empty cells at the end of a line out.
        const cells = new Map(columns.map((name, i) => [name, given[i] ?? '']));
        yield { line, bytes, value: fromCells(cells), given };
      }
    }
  }

  return {
    lines: records(),
    head: () => encoded(`${mark}${csvLine([...columns, reasonColumn], delimiter)}`),
    refused({ given }, faults) {
      const cells = given as readonly string[];
      const padded = columns.map((_, i) => cells[i] ?? '');
      const reasons = inAscii(faults.map(ofColumn).map(sentenceOf).join('; '));
      // Cells beyond the columns stay beyond them, so that the line is refused again until it is mended.
      return encoded(csvLine([...padded, reasons, ...cells.slice(columns.length)], delimiter));
    },
  };
}

/** Opens a file in either format. @throws UnreadableFile here, or from its lines */
export async function openResults(input: Readable, format: 'ndjson' | 'csv'): Promise<ResultFile> {
  const { head, whole } = await peek(input, headBytes);
  const { encoding, markBytes } = recogniseEncoding(head);
  const decoder = lineDecoder(format === 'ndjson' ? 'utf-8' : encoding);
  const lines = textLines(whole, markBytes, decoder.decode);
  if (format === 'csv')
    return csvFile(oneByOne(lines), (text) => encode(text, decoder.encoding()), markBytes > 0 ? '\uFEFF' : '');
  return { lines: ndjson(lines), head: () => Buffer.alloc(0), refused: ndjsonRefused };
}
