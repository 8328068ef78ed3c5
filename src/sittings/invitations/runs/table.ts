import { cellText, csvRecords, namesDelimiter, type TextLine } from '../../../platform/formats/csv.ts';
import { byteLines, lineDecoder, recogniseEncoding, UnreadableFile } from '../../../platform/formats/lines.ts';
import { limits } from '../../../platform/config/limits.ts';
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

/** Known headings in spreadsheets of training providers, in lower case and with letters only. */
const headings = new Map(
  Object.entries(headingWords).flatMap(([column, words]) => words.map((word) => [word, column as Heading])),
);

type Heading = InviteColumn | 'first_name' | 'last_name' | 'row';

const isName = (one: Heading | undefined) => one === 'full_name' || one === 'first_name' || one === 'last_name';

const headingOf = (cell: string): Heading | undefined => {
  const found = headings.get(cell.toLowerCase().replace(/[^a-z]/g, ''));
  // “Name 1” is probably a learner in an invented table, and “#NAME?” is an error value of a spreadsheet. Neither is a
  // heading.
  return isName(found) && /[\d#]/.test(cell) ? undefined : found;
};

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

/** Finds the columns by the first line. @throws UnreadableFile */
function columnsOf(first: readonly string[]): { columns: Heading[]; isHeading: boolean } {
  const found = first.map(headingOf);
  const known = found.filter((one) => one !== undefined);
  const names = known.filter(isName);
  if (names.length === 0) {
    if (known.length >= 2)
      throw new UnreadableFile('the first line names columns, but not full_name, which every row needs');
    return { columns: [...inviteColumns], isHeading: false };
  }
  const strange = first.filter((cell, i) => found[i] === undefined && cell.trim() !== '');
  if (strange.length > 0)
    throw new UnreadableFile(
      `the column “${strange[0]!.trim().slice(0, 40)}” is not known: rename it, or leave it out. Known are ${inviteColumns.join(', ')}`,
    );
  if (new Set(known).size < known.length) throw new UnreadableFile('a column is named twice in the first line');
  return { columns: found.map((one) => one ?? 'row'), isHeading: true };
}

function cellsOf(values: readonly string[], columns: readonly Heading[]): { cells: Cells; row: number | null } {
  const cells: Cells = {};
  const names: { first_name?: string; last_name?: string } = {};
  let row: number | null = null;
  values.forEach((cell, i) => {
    const value = cellText(cell);
    if (value === '') return;
    const column = columns[i];
    if (column === undefined) cells.beyond = value;
    else if (column === 'row') row = /^[1-9]\d{0,5}$/.test(value) ? Number(value) : null;
    else if (column === 'first_name' || column === 'last_name') names[column] = value;
    else cells[column] = value;
  });
  const whole = [names.first_name, names.last_name].filter((one) => one !== undefined).join(' ');
  if (whole !== '') cells.full_name ??= whole;
  return { cells, row };
}

/**
 * Reads a table in UTF-8 or Windows-1252, separated by tabs, semicolons or commas. The table has headings, or its
 * columns have the order of `inviteColumns`.
 * Rows are numbered from 1, without headings and blank lines. If the table has a column `row`, the column contains the
 * numbers.
 * @throws UnreadableFile with advice for the person
 */
export async function readInviteTable(file: Buffer): Promise<TableRow[]> {
  // Excel for Mac may end lines with a carriage return only.
  const bytes = file.includes('\n') ? file : Buffer.from(file.map((byte) => (byte === 13 ? 10 : byte)));
  const delimiter = delimiterOf(bytes);
  const rows: TableRow[] = [];
  const taken = new Set<number>();
  let last = 0;
  let columns: readonly Heading[] | null = null;
  let hasHeading = false;
  for await (const record of csvRecords(linesOf(bytes), delimiter, limits.inviteLineBytes)) {
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
      const read = columnsOf(values);
      ({ columns } = read);
      hasHeading = read.isHeading;
      if (hasHeading) continue;
    } else if (namesColumns(values, record.text))
      throw new UnreadableFile(
        hasHeading
          ? `line ${record.line} is the header once more: take it out`
          : `line ${record.line} looks like the header, which must be the first line: take out the lines above it`,
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
