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
import { cellBreak } from '../../platform/formats/workbook/output.ts';
import { isJsonObject, JsonFault, parseJson } from '../../platform/formats/json.ts';
import { limits } from '../../platform/config/limits.ts';
import { type Fault, sentenceOf } from '../results/result-fields.ts';

/** The source of a record: the cells of a CSV line, or the text of a line. A file of rejected records repeats it. */
export type SourceLine = { line: number; source: readonly string[] | string };

/** One record of a file, with its first line number and its length. `faults` exists if the record could not be read. */
export type Line = SourceLine & { bytes: number; value: unknown; faults?: Fault[] };

/**
 * A file of results. `head` and `refused` write a file of rejected records, for a person to correct and import again.
 */
export type ResultFile = {
  lines: AsyncGenerator<Line>;
  /** Valid after the first line has been read. */
  head(): Buffer;
  refused(source: SourceLine, faults: Fault[]): Buffer;
};

/** The columns of a CSV file. `domains`, `level_probabilities` and `groups` contain JSON. An empty cell is null. */
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

/** The last column of a file of rejected records. An import ignores this column. */
const reasonColumn = 'rejected_because';

/** How many bytes are read from the beginning of a file to recognise its encoding. */
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
    expected: 'written with quotes around complete cells only, and two quotes for one inside a cell',
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

/** Yields numbered lines of text in the chunks of the input. The byte-order mark is removed. */
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
  for await (const chunk of byteLines(input, limits.importLineBytes)) yield chunk.map(textLine);
}

async function* oneByOne<T>(chunks: AsyncIterable<T[]>): AsyncGenerator<T> {
  for await (const chunk of chunks) yield* chunk;
}

function readJson(text: string): { value: unknown; faults?: Fault[] } {
  try {
    return { value: parseJson(text) };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { value: null, faults: [unreadable[error.kind === 'syntax' ? 'json' : 'repeated name']] };
  }
}

/** A record of an NDJSON file: one JSON object on each line. Null for a blank line. */
function ndjsonRecord({ line, text, why }: TextLine): Line | null {
  if (why === undefined && text.trim() === '') return null;
  const bytes = text.length;
  if (why !== undefined) return { line, bytes, value: null, faults: [unreadable[why]], source: text };
  const read = readJson(text);
  const { value } = read;
  // The line is from a file of rejected records. It contains the source record, corrected or not.
  if (isJsonObject(value) && typeof value.reason === 'string' && typeof value.line === 'number') {
    if (typeof value.text !== 'string')
      return { line, bytes, value: value.record, source: JSON.stringify(value.record ?? null) };
    const again = value.text.includes(lost) ? { value: null, faults: [unreadable.encoding] } : readJson(value.text);
    return { line, bytes, ...again, source: value.text };
  }
  return { line, bytes, ...read, source: text };
}

async function* ndjson(lines: AsyncIterable<TextLine[]>): AsyncGenerator<Line> {
  for await (const chunk of lines) yield* chunk.map(ndjsonRecord).filter((record) => record !== null);
}

function ndjsonRefused({ line, source }: SourceLine, faults: Fault[]): Buffer {
  const text = source as string;
  const { value } = readJson(text);
  const content = isJsonObject(value) ? { record: value } : { text };
  const json = JSON.stringify({ line, reason: faults.map(sentenceOf).join('; '), faults, ...content });
  return Buffer.from(`${json.replaceAll(lost, '\\ufffd')}\n`);
}

const flags = new Map([
  ['true', true],
  ['false', false],
]);

type ColumnName = (typeof csvColumns)[number];

/** Makes a record from cells. An unreadable cell stays a text, so that the check of the record rejects it. */
function fromCells(cells: ReadonlyMap<string, string>): unknown {
  const cell = (name: ColumnName) => cells.get(name) || null;
  const flag = (name: ColumnName) => {
    const text = cell(name);
    return text === null ? null : (flags.get(text.toLowerCase()) ?? text);
  };
  const json = (name: ColumnName) => {
    const text = cell(name);
    if (text === null) return null;
    try {
      return parseJson(text.replaceAll(cellBreak, ' '));
    } catch {
      return text;
    }
  };
  const whole = (name: ColumnName) => {
    const text = cell(name);
    return text !== null && /^\d+$/.test(text) ? Number(text) : text;
  };
  const groups = json('groups');
  const assessmentId = cell('assessment_id');
  const optional: [ColumnName, (name: ColumnName) => unknown][] = [
    ['working_level', cell],
    ['recommended_next_level', cell],
    ['is_borderline', (name) => flag(name) ?? false],
    ['needs_review', (name) => flag(name) ?? false],
    ['domains', (name) => json(name) ?? []],
    ['level_probabilities', json],
    // An empty level means "below Level 1" or "not placed". A missing column leaves the field out, which is a fault.
    ['rqf_level', cell],
    ['rqf_level_code', whole],
    ['below_level_1', flag],
  ];
  return {
    ...(assessmentId !== null && { assessment_id: assessmentId }),
    ...(groups !== null && { groups }),
    // If a column is missing, the stored value stays. An empty cell removes the stored value.
    ...Object.fromEntries(optional.flatMap(([name, read]) => (cells.has(name) ? [[name, read(name)]] : []))),
    learner: { ref: cell('learner_ref'), full_name: cell('learner_full_name') ?? '' },
    assessed_at: cell('assessed_at') ?? '',
    subject: cell('subject') ?? '',
    framework: cell('framework') ?? '',
  };
}

/** Finds the delimiter and the columns in the first line. @throws UnreadableFile */
export function readHeader(text: string): { delimiter: Delimiter; columns: string[] } {
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

/** Reasons contain only ASCII, because the encoding of the file may not be known yet. */
const inAscii = (text: string) => text.replace(/[^\x00-\x7f]/gu, (one) => asciiOf.get(one) ?? '?');

const ofColumn = (fault: Fault): Fault => ({ ...fault, field: fault.field.replace(/^learner\./, 'learner_') });

function csvFile(lines: AsyncGenerator<TextLine>, encoded: (text: string) => Buffer, mark: string): ResultFile {
  let delimiter: Delimiter = ',';
  let columns: string[] = [];
  let named: string[] = [];

  async function* records(): AsyncGenerator<Line> {
    let first = await lines.next();
    const isBlank = (line: string) => line.trim() === '' || namesDelimiter(line);
    while (first.done !== true && isBlank(first.value.text) && first.value.why === undefined)
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
        // These cells are a guess. The original line is added as a surplus cell, so that the record is rejected until a
        // person corrects it.
        const source =
          record.why === 'quotes'
            ? [...columns.map((_, i) => looksLike[i] ?? ''), ...looksLike.slice(columns.length), text]
            : withoutReason(cellsOf(text, delimiter) ?? looksLike);
        yield { line, bytes, value: null, faults: [unreadable[record.why]], source };
        continue;
      }
      const source = withoutReason(record.cells);
      if (source.length > columns.length) yield { line, bytes, value: null, faults: [unreadable.cells], source };
      else {
        // Some programs omit empty cells at the end of a line, so missing cells count as empty.
        const cells = new Map(columns.map((name, i) => [name, source[i] ?? '']));
        yield { line, bytes, value: fromCells(cells), source };
      }
    }
  }

  return {
    lines: records(),
    head: () => encoded(`${mark}${csvLine([...columns, reasonColumn], delimiter)}`),
    refused({ source }, faults) {
      const cells = source as readonly string[];
      const padded = columns.map((_, i) => cells[i] ?? '');
      const reasons = inAscii(faults.map(ofColumn).map(sentenceOf).join('; '));
      // Surplus cells stay after the last column, so that an import rejects the line until a person corrects it.
      return encoded(csvLine([...padded, reasons, ...cells.slice(columns.length)], delimiter));
    },
  };
}

/** Opens a file in either format. @throws UnreadableFile now, or while its lines are read */
export async function openResults(input: Readable, format: 'ndjson' | 'csv'): Promise<ResultFile> {
  const { head, whole } = await peek(input, headBytes);
  const { encoding, markBytes } = recogniseEncoding(head);
  const decoder = lineDecoder(format === 'ndjson' ? 'utf-8' : encoding);
  const lines = textLines(whole, markBytes, decoder.decode);
  if (format === 'csv')
    return csvFile(oneByOne(lines), (text) => encode(text, decoder.encoding()), markBytes > 0 ? '\uFEFF' : '');
  return { lines: ndjson(lines), head: () => Buffer.alloc(0), refused: ndjsonRefused };
}
