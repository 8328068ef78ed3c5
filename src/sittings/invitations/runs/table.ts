import { cellText, type CsvRecord, csvRecords, namesDelimiter, type TextLine } from '../../../platform/formats/csv.ts';
import { byteLines, lineDecoder, recogniseEncoding, UnreadableFile } from '../../../platform/formats/lines.ts';
import { cellBreak } from '../../../platform/formats/workbook/output.ts';
import { workbookAsCsv } from '../../../platform/formats/workbook/read.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { limits } from '../../../platform/config/limits.ts';
import {
  type ColumnChoices,
  columnsByChoice,
  isLearnerId,
  isName,
  isNationalNumber,
  leftOut,
  personColumn,
  type PersonColumn,
  UnknownColumns,
} from '../../../records/learners/headings.ts';
import headingWords from './headings.json' with { type: 'json' };

/** The columns of a table of learners. A table without headings must have this order. */
export const inviteColumns = [
  'ref',
  'full_name',
  'email',
  'groups',
  'subjects',
  'extra_time',
  'supervision',
  'supervisor',
  'expires',
  'purpose',
  'retake_reason',
  'start_code',
] as const;

/** `learner_id` is read only if a heading contains it. */
export type InviteColumn = (typeof inviteColumns)[number] | 'learner_id';

/**
 * The cells of a row by column, without empty cells. `beyond`: a cell that belongs to no column. `accepted`: the doubts
 * that a person has confirmed.
 */
export type Cells = Partial<Record<InviteColumn | 'beyond' | 'accepted', string>>;

export type TableRow = { row_no: number; cells: Cells };

/** Known headings, in lower case and with letters only. */
const headings = new Map(
  Object.entries(headingWords).flatMap(([column, words]) => words.map((word) => [word, column as Heading])),
);

/** `any_id`: the ID of the service or the reference of another system, which differ in their form. */
type Heading = InviteColumn | PersonColumn | 'row' | 'any_id';

/** What a person can choose for a column. */
export const columnChoices = new Set<string>([...inviteColumns, 'learner_id', 'first_name', 'last_name']);

export function headingOf(cell: string): Heading | undefined {
  if (cell.trim().toLowerCase() === 'learner_id') return 'learner_id';
  if (isLearnerId(cell)) return 'any_id';
  return personColumn(cell) ?? headings.get(cell.toLowerCase().replace(/[^a-z]/g, ''));
}

async function* linesOf(bytes: Buffer): AsyncGenerator<TextLine> {
  const { encoding, markBytes } = recogniseEncoding(bytes.subarray(0, limits.inviteLookedAtBytes));
  const decoder = lineDecoder(encoding);
  let line = 0;
  async function* whole() {
    yield bytes.subarray(markBytes);
  }
  for await (const together of byteLines(whole(), limits.inviteLineBytes))
    for (const one of together) {
      line++;
      if (one === null) throw new UnreadableFile(`line ${line} is too long to be a row`);
      if (line > limits.inviteLines)
        throw new UnreadableFile(`there are more than ${limits.inviteLines.toLocaleString('en-GB')} lines in it`);
      const { text, damaged } = decoder.decode(one);
      const read = text.endsWith('\r') ? text.slice(0, -1) : text;
      yield damaged ? { line, text: read, why: 'encoding' } : { line, text: read };
    }
}

/** The delimiter of a table: a tab if the first line contains a tab; else the more frequent of comma and semicolon. */
function delimiterOf(bytes: Buffer): ',' | ';' | '\t' {
  const text = bytes.toString('latin1');
  const filled = /\S/g;
  let first = '';
  while (first === '' && filled.test(text)) {
    const start = text.lastIndexOf('\n', filled.lastIndex - 1) + 1;
    const end = text.indexOf('\n', filled.lastIndex);
    const line = text.slice(start, Math.min(end < 0 ? text.length : end, start + limits.inviteLineBytes));
    if (!namesDelimiter(line)) first = line;
    filled.lastIndex = end < 0 ? text.length : end;
  }
  const count = (mark: string) => first.split(mark).length;
  if (count('\t') > 1) return '\t';
  return count(';') > count(',') ? ';' : ',';
}

/**
 * Whether a line below the first line contains headings. The first line may be a title without the real delimiter, so
 * the line is split at all three delimiters.
 */
function namesColumns(values: readonly string[], text: string): boolean {
  const found = (values.length > 1 ? values : text.split(/[,;\t]/)).map(headingOf);
  return found.some(isName) || found.filter((one) => one !== undefined).length > 1;
}

type Columns = readonly (Heading | typeof leftOut)[];

/** Finds the columns by the first line. @throws UnreadableFile */
function columnsOf(first: readonly string[], choices: ColumnChoices): { columns: Columns; isHeading: boolean } {
  const found = columnsByChoice(first, choices, headingOf, columnChoices);
  const refuse = (why: string): never => {
    throw new UnknownColumns(why, first, found);
  };
  const known = found.filter((one) => one !== undefined && one !== leftOut);
  if (choices.asks === true && !choices.chosen) refuse('choose what the columns contain');
  if (!known.some(isName)) {
    if (known.length >= 2 || choices.chosen || first.some(isNationalNumber))
      refuse('the first line names columns, but not full_name, which every row needs');
    return { columns: [...inviteColumns], isHeading: false };
  }
  const strange = first.filter((cell, i) => found[i] === undefined && cell.trim() !== '');
  if (strange.length > 0)
    refuse(
      `the column “${strange[0]!.trim().slice(0, 40)}” is not known: rename it, or leave it out. Known are ${inviteColumns.join(', ')}`,
    );
  if (new Set(known).size < known.length) refuse('a column is named twice in the first line');
  return { columns: found.map((one) => one ?? 'row'), isHeading: true };
}

function cellsOf(values: readonly string[], columns: Columns): { cells: Cells; row: number | null } {
  const cells: Cells = {};
  const names: { first_name?: string; last_name?: string } = {};
  let row: number | null = null;
  values.forEach((cell, i) => {
    const value = cellText(cell.replaceAll(cellBreak, '\n'));
    const column = columns[i];
    if (value === '' || column === leftOut) return;
    if (column === undefined) cells.beyond = value;
    else if (column === 'row') row = /^[1-9]\d{0,5}$/.test(value) ? Number(value) : null;
    else if (column === 'first_name' || column === 'last_name') names[column] = value;
    else if (column === 'any_id') cells[isUuid(value) ? 'learner_id' : 'ref'] = value;
    else cells[column] = value;
  });
  const whole = [names.first_name, names.last_name].filter((one) => one !== undefined).join(' ');
  if (whole !== '') cells.full_name ??= whole;
  return { cells, row };
}

/** Adds the first row and the file, so that a person can choose the columns. */
async function withSample(error: unknown, records: AsyncIterator<CsvRecord>, table: Buffer): Promise<unknown> {
  if (!(error instanceof UnknownColumns)) return error;
  const next = await records.next();
  const cells = next.done === true ? [] : (next.value.cells ?? []);
  for (const [i, column] of error.columns.entries()) column.sample = cellText(cells[i] ?? '');
  error.table = table;
  return error;
}

/**
 * Reads an XLSX or ODS workbook, or a table in UTF-8 or Windows-1252, separated by tabs, semicolons or commas. The table
 * has headings, or its columns have the order of `inviteColumns`.
 * Rows are numbered from 1, without headings and blank lines. If the table has a column `row`, the column contains the
 * numbers.
 * @throws UnreadableFile with advice for the person
 * @throws UnknownColumns if a person must choose the columns
 */
export async function readInviteTable(
  file: Buffer,
  options: ColumnChoices & { sheet?: string } = {},
): Promise<TableRow[]> {
  const table = await workbookAsCsv(file, options);
  const at = table === file ? 'line' : 'row';
  // Excel for Mac may end lines with a carriage return only.
  const bytes = table.includes('\n') ? table : Buffer.from(table.map((byte) => (byte === 13 ? 10 : byte)));
  const delimiter = table === file ? delimiterOf(bytes) : ',';
  const rows: TableRow[] = [];
  const taken = new Set<number>();
  let last = 0;
  let columns: Columns | null = null;
  let hasHeading = false;
  const records = csvRecords(linesOf(bytes), delimiter, limits.inviteLineBytes);
  for (let next = await records.next(); next.done !== true; next = await records.next()) {
    const record = next.value;
    if (record.cells === null && record.why === 'encoding')
      throw new UnreadableFile(`line ${record.line} holds characters that were damaged: save the file as “CSV UTF-8”`);
    // If tabs separate the cells, a misplaced quote is an ordinary character.
    if (record.cells === null && delimiter !== '\t')
      throw new UnreadableFile(
        `line ${record.line} has a misplaced quote. Put quotes around complete cells only, and two quotes for one inside a cell`,
      );
    const values = record.cells ?? record.text.split('\t');
    if (values.every((cell) => cellText(cell) === '')) continue;
    if (columns === null) {
      if (namesDelimiter(record.text)) continue;
      try {
        ({ columns, isHeading: hasHeading } = columnsOf(values, options));
      } catch (error) {
        throw await withSample(error, records, bytes);
      }
      if (hasHeading) continue;
    } else if (namesColumns(values, record.text))
      throw new UnreadableFile(
        hasHeading
          ? `${at} ${record.line} is the header once more: take it out`
          : `${at} ${record.line} looks like the header, which must be the first ${at}: take out the ${at}s above it`,
      );
    const { cells, row } = cellsOf(values, columns);
    // A row without a number, or with a number that another row has, gets the next number.
    const row_no: number = row === null || taken.has(row) ? last + 1 : row;
    taken.add(row_no);
    last = Math.max(last, row_no);
    rows.push({ row_no, cells });
    if (rows.length > limits.inviteRows)
      throw new UnreadableFile(
        `there are more than ${limits.inviteRows.toLocaleString('en-GB')} rows: invite them in several runs`,
      );
  }
  if (rows.length === 0) throw new UnreadableFile('there is no row in it');
  return rows;
}
