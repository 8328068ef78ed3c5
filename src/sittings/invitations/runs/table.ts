import type { TextLine } from '../../../platform/formats/csv.ts';
import { cellText, csvRecords, namesDelimiter } from '../../../platform/formats/csv.ts';
import { byteLines, lineDecoder, recogniseEncoding, UnreadableFile } from '../../../platform/formats/lines.ts';
import { limits } from '../../../platform/config/limits.ts';

/** A table of learners as people have it: cells pasted from a spreadsheet, or a CSV file. */

/** The columns, in the order that a table without headings has. */
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

/** `learner_id` stands only where headings name it. */
export type InviteColumn = (typeof inviteColumns)[number] | 'learner_id';

/**
 * What stands in a row, by column; empty cells are left out. `beyond`: in cells to which no column belongs; `accepted`: what
 * was asked about the row and is right (`Doubt`).
 */
export type Cells = Partial<Record<InviteColumn | 'beyond' | 'accepted', string>>;

export type GivenRow = { row_no: number; cells: Cells };

/** Headings as spreadsheets of providers have them, without case, blanks and marks. */
const headings: Record<string, InviteColumn | 'first_name' | 'last_name' | 'row'> = {
  row: 'row',
  ref: 'ref',
  reference: 'ref',
  learnerref: 'ref',
  learnerreference: 'ref',
  studentref: 'ref',
  studentreference: 'ref',
  learnerid: 'learner_id',
  learnernumber: 'ref',
  studentnumber: 'ref',
  studentid: 'ref',
  pupilid: 'ref',
  candidatenumber: 'ref',
  id: 'ref',
  uln: 'ref',
  upn: 'ref',
  fullname: 'full_name',
  name: 'full_name',
  learnerfullname: 'full_name',
  ...(Object.fromEntries(
    ['learner', 'student', 'pupil', 'candidate', 'apprentice', 'trainee', 'participant'].flatMap((one) =>
      [one, `${one}name`, `${one}sname`, `nameof${one}`].map((word) => [word, 'full_name']),
    ),
  ) as Record<string, 'full_name'>),
  firstname: 'first_name',
  forename: 'first_name',
  givenname: 'first_name',
  lastname: 'last_name',
  surname: 'last_name',
  familyname: 'last_name',
  email: 'email',
  emailaddress: 'email',
  groups: 'groups',
  group: 'groups',
  subjects: 'subjects',
  subject: 'subjects',
  extratime: 'extra_time',
  extratimepct: 'extra_time',
  supervision: 'supervision',
  supervisor: 'supervisor',
  expires: 'expires',
  expiry: 'expires',
  expirydate: 'expires',
  expireson: 'expires',
  purpose: 'purpose',
  retakereason: 'retake_reason',
  startcode: 'start_code',
};

type Heading = (typeof headings)[string];

const isName = (one: Heading | undefined) => one === 'full_name' || one === 'first_name' || one === 'last_name';

const headingOf = (cell: string): Heading | undefined => {
  const key = cell.toLowerCase().replace(/[^a-z]/g, '');
  const found = Object.hasOwn(headings, key) ? headings[key] : undefined;
  // “Name 1” is a learner in a made-up table, and “#NAME?” an error of a spreadsheet.
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

/** What stands between cells: in a table that was pasted, tabs; in a file, what its first line has most of. */
function delimiterOf(bytes: Buffer): ',' | ';' | '\t' {
  const text = bytes.toString('latin1');
  const seen = /\S/g;
  let first = '';
  while (first === '' && seen.test(text)) {
    const start = text.lastIndexOf('\n', seen.lastIndex - 1) + 1;
    const end = text.indexOf('\n', seen.lastIndex);
    const line = text.slice(start, Math.min(end < 0 ? text.length : end, start + limits.inviteLineBytes));
    if (!namesDelimiter(line)) first = line;
    seen.lastIndex = end < 0 ? text.length : end;
  }
  const count = (mark: string) => first.split(mark).length;
  if (count('\t') > 1) return '\t';
  return count(';') > count(',') ? ';' : ',';
}

/**
 * Whether a line below the first one names columns. Where a title stands above them, what is between the cells may have been
 * taken for something else.
 */
function namesColumns(values: readonly string[], text: string): boolean {
  const found = (values.length > 1 ? values : text.split(/[,;\t]/)).map(headingOf);
  return found.some(isName) || found.filter((one) => one !== undefined).length > 1;
}

/** Which column each cell of a row belongs to. @throws UnreadableFile */
function columnsOf(first: readonly string[]): { columns: Heading[]; isHeading: boolean } {
  const found = first.map(headingOf);
  const known = found.filter((one) => one !== undefined);
  const names = known.filter(isName);
  // A row of data hardly ever holds the word “name”; one that does, and nothing else, is told of below.
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
  values.forEach((given, i) => {
    const value = cellText(given);
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
 * Reads a table: with a line of headings or in the order of the columns, tabs, semicolons or commas between, UTF-8 or
 * Windows-1252. Rows are numbered from 1, without headings and blank lines; a column `row` says a row's own number.
 * @throws UnreadableFile with what to do, for what can't be read as a whole
 */
export async function readInviteTable(file: Buffer): Promise<GivenRow[]> {
  // Excel for the Mac still saves lines that end as they did on its first machines.
  const bytes = file.includes('\n') ? file : Buffer.from(file.map((byte) => (byte === 13 ? 10 : byte)));
  const delimiter = delimiterOf(bytes);
  const rows: GivenRow[] = [];
  const taken = new Set<number>();
  let last = 0;
  let columns: readonly Heading[] | null = null;
  let headed = false;
  for await (const record of csvRecords(linesOf(bytes), delimiter, limits.inviteLineBytes)) {
    if (record.cells === null && record.why === 'encoding')
      throw new UnreadableFile(`line ${record.line} holds characters that were damaged: save the file as “CSV UTF-8”`);
    // Between tabs a quote is a character like any other, unless it was meant to hold a cell together.
    if (record.cells === null && delimiter !== '\t')
      throw new UnreadableFile(
        `line ${record.line} has a quote out of place: quotes stand around whole cells, two for one inside them`,
      );
    const values = record.cells ?? record.text.split('\t');
    if (values.every((cell) => cellText(cell) === '')) continue;
    if (columns === null) {
      if (namesDelimiter(record.text)) continue;
      const read = columnsOf(values);
      ({ columns } = read);
      headed = read.isHeading;
      if (headed) continue;
    } else if (namesColumns(values, record.text))
      throw new UnreadableFile(
        headed
          ? `line ${record.line} is the header once more: take it out`
          : `line ${record.line} looks like the header, which must be the first line: take out the lines above it`,
      );
    const { cells, row } = cellsOf(values, columns);
    // A number that is there already is nobody's: the row gets the next one.
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
