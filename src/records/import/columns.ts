import {
  cellsOf,
  csvLine,
  csvRecords,
  type Delimiter,
  namesDelimiter,
  type TextLine,
  unguard,
} from '../../platform/formats/csv.ts';
import { byteLines, lineDecoder, lost, recogniseEncoding } from '../../platform/formats/lines.ts';
import { cellBreak } from '../../platform/formats/workbook/output.ts';
import { workbookAsCsv } from '../../platform/formats/workbook/read.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { limits } from '../../platform/config/limits.ts';
import {
  type ColumnChoices,
  columnsByChoice,
  headingKey,
  isLearnerId,
  isName,
  leftOut,
  personColumn,
  UnknownColumns,
} from '../learners/headings.ts';
import { csvColumns, readHeader } from './lines.ts';
import { parseUkInstant } from './uk-dates.ts';

/** Turns a table with headings of another system into CSV with the columns of an import. */

type Column = (typeof csvColumns)[number] | 'first_name' | 'last_name';

export const importColumns = new Set<string>([...csvColumns, 'first_name', 'last_name']);

const ownColumns = new Map<string, Column>(csvColumns.map((column) => [headingKey(column), column]));

export function importColumnOf(heading: string): Column | undefined {
  const found = personColumn(heading);
  if (isLearnerId(heading) || found === 'ref') return 'learner_ref';
  return ownColumns.get(headingKey(heading)) ?? (found === 'full_name' ? 'learner_full_name' : found);
}

/** Yields the lines as text. A line that cannot be read stays unreadable, so that the check reports it. */
async function* textOf(bytes: Buffer): AsyncGenerator<TextLine> {
  const { encoding, markBytes } = recogniseEncoding(bytes);
  const decoder = lineDecoder(encoding);
  async function* whole() {
    yield bytes.subarray(markBytes);
  }
  let line = 0;
  for await (const together of byteLines(whole(), limits.importLineBytes))
    for (const one of together) {
      const { text, damaged } =
        one === null ? { text: ' '.repeat(limits.importLineBytes + 1), damaged: false } : decoder.decode(one);
      yield { line: ++line, text: `${text.endsWith('\r') ? text.slice(0, -1) : text}${damaged ? lost : ''}` };
    }
}

function delimiterOf(text: string): Delimiter {
  const count = (one: Delimiter) => (cellsOf(text, one) ?? []).length;
  return ([',', ';', '\t'] as const).toSorted((a, b) => count(b) - count(a))[0]!;
}

function isCanonical(header: string): boolean {
  try {
    return readHeader(header).columns.length > 0;
  } catch {
    return false;
  }
}

type Columns = (Column | typeof leftOut)[];

function columnsOf(headings: readonly string[], choices: ColumnChoices): Columns {
  const found = columnsByChoice(headings, choices, importColumnOf, importColumns);
  const refuse = (why: string): never => {
    throw new UnknownColumns(why, headings, found);
  };
  const known = found.filter((one) => one !== undefined && one !== leftOut);
  if (choices.asks === true && !choices.chosen) refuse('choose what the columns contain');
  const strange = headings.find((heading, i) => found[i] === undefined && heading.trim() !== '');
  if (strange !== undefined) refuse(`the column “${strange.trim().slice(0, 40)}” is not known`);
  if (new Set(known).size < known.length) refuse('a column is named twice in the first line');
  if (!known.some((one) => one === 'learner_full_name' || isName(one))) refuse('no column contains the learner’s name');
  return found.map((one) => one ?? leftOut);
}

/** A date of a workbook has no zone. It is read by the clocks of Europe/London, unless they show it twice or never. */
function withZone(cell: string): string {
  const [, year, month, day, time] = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)$/.exec(cell) ?? [];
  const us = time === undefined ? null : parseUkInstant(`${day}/${month}/${year} ${time}`);
  return typeof us === 'number' ? new Date(us / 1000).toISOString() : cell;
}

/** Moves the cells of a row to the columns of the import. Surplus cells stay, so that the check reports them. */
function rowWriter(columns: Columns) {
  const named = columns.filter((one) => one !== leftOut && one !== 'first_name' && one !== 'last_name');
  const header = columns.some((one) => one === 'first_name' || one === 'last_name')
    ? [...new Set<Column>([...named, 'learner_full_name'])]
    : named;
  const at = (column: Column) => columns.indexOf(column);
  const names = [at('first_name'), at('last_name')];
  return {
    header,
    cells(row: readonly string[]): string[] {
      const whole = names.flatMap((i) => row[i]?.trim() || []).join(' ');
      const written = header.map((column) => {
        const cell = row[at(column)] ?? '';
        if (column === 'assessed_at') return withZone(cell);
        return column === 'learner_full_name' && cell === '' ? whole : cell;
      });
      return [...written, ...row.slice(columns.length)];
    },
  };
}

/**
 * Returns the file as an import reads it. A line keeps its number. A file with the columns of an import, or of JSON
 * objects, is returned unchanged.
 * @throws UnreadableFile
 * @throws UnknownColumns if a person must choose the columns
 */
export async function importableFile(file: Buffer, options: ColumnChoices & { sheet?: string } = {}): Promise<Buffer> {
  const bytes = await workbookAsCsv(file, { ...options, form: 'local' });
  if (/^(\xef\xbb\xbf)?\s*\{/.test(bytes.toString('latin1', 0, 200))) return bytes;
  const lines = textOf(bytes);
  let first = await lines.next();
  while (first.done !== true && (first.value.text.trim() === '' || namesDelimiter(first.value.text)))
    first = await lines.next();
  if (first.done === true) return bytes;
  const { line: headLine, text: head } = first.value;
  if (bytes === file && options.asks !== true && isCanonical(head)) return bytes;
  const delimiter = bytes === file ? delimiterOf(head) : ',';
  const headings = (cellsOf(head, delimiter) ?? [head]).map(unguard);
  // A result needs a name, a date, a subject and a framework. The check says which columns an import reads.
  if (headings.length < 4) return bytes;
  const records = csvRecords(lines, delimiter, limits.importLineBytes);
  try {
    return await rewritten(records, headLine, headings, { delimiter, options });
  } catch (error) {
    if (error instanceof UnknownColumns) error.table = bytes;
    throw error;
  }
}

async function rewritten(
  records: ReturnType<typeof csvRecords>,
  headLine: number,
  headings: readonly string[],
  { delimiter, options }: { delimiter: Delimiter; options: ColumnChoices },
): Promise<Buffer> {
  const first = await records.next();
  const sample = first.done === true ? [] : (first.value.cells ?? []);
  const idAt = headings.findIndex(isLearnerId);
  const isOurId = idAt >= 0 && isUuid(sample[idAt] ?? '') && !options.chosen && !options.remembered?.has('learnerid');
  const columns = withSample(sample, () => {
    const found = columnsOf(headings, options);
    if (isOurId)
      throw new UnknownColumns('choose whether the column “Learner ID” contains your references', headings, found);
    return found;
  });
  const { header, cells } = rowWriter(columns);
  const written = ['\n'.repeat(headLine - 1), csvLine(header, delimiter)];
  let line = headLine + 1;
  for (let next = first; next.done !== true; next = await records.next()) {
    const record = next.value;
    const text =
      record.cells === null
        ? `${record.text}\n`
        : csvLine(cells(record.cells.map((cell) => unguard(cell).replaceAll('\n', cellBreak))), delimiter);
    written.push('\n'.repeat(record.line - line), text);
    line = record.line + 1;
  }
  return Buffer.from(written.join(''));
}

function withSample<T>(sample: readonly string[], act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof UnknownColumns)
      for (const [i, column] of error.columns.entries()) column.sample = (sample[i] ?? '').slice(0, 60);
    throw error;
  }
}
