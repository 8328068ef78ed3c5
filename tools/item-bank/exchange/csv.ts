import { isDeepStrictEqual } from 'node:util';
import { parse } from 'csv-parse/sync';
import type { Item, Passage } from '../../../src/engine/item-bank/schema.ts';
import { csvLine, unguard } from '../../../src/platform/formats/csv.ts';
import type { JsonFault } from '../../../src/platform/formats/json.ts';
import { parseJson } from '../../../src/platform/formats/json.ts';
import { ExchangeFault } from './json.ts';
import type { Exchanged } from './json.ts';

/**
 * One row for each item and passage. A list has one line in its cell for each member: options as `id :: text`,
 * distractors as `response :: reason`. A list of IDs is `a; b`. The column `other` contains the remaining values as
 * JSON.
 */
const columns = [
  'id',
  'subject',
  'level',
  'domain',
  'type',
  'skill',
  'stem',
  'options',
  'key',
  'rationale',
  'distractor_rationales',
  'a',
  'b',
  'c',
  'calibration',
  'enemies',
  'calculator',
  'read_aloud',
  'passage',
  'template',
  'renders',
  'title',
  'genre',
  'paragraphs',
  'other',
] as const;

type Codec = { write(value: unknown): string | null; read(cell: string): unknown };

const text: Codec = { write: (value) => (typeof value === 'string' ? value : null), read: (cell) => cell };
const number: Codec = { write: (value) => (typeof value === 'number' ? String(value) : null), read: Number };
const truth: Codec = {
  write: (value) => (typeof value === 'boolean' ? String(value) : null),
  read: (cell) => (cell === 'true' ? true : cell === 'false' ? false : cell),
};
const lines: Codec = {
  write: (value) => (Array.isArray(value) && value.length > 0 ? value.join('\n') : null),
  read: (cell) => cell.split('\n'),
};
const ids: Codec = {
  write: (value) =>
    Array.isArray(value) ? (value.length === 0 ? '-' : value.join('; ')) : typeof value === 'string' ? value : null,
  read: (cell) => (cell === '-' ? [] : cell.split('; ')),
};
const key: Codec = {
  write: (value) =>
    typeof value === 'string' ? value : Array.isArray(value) && value.length > 1 ? value.join('; ') : null,
  read: (cell) => (cell.includes('; ') ? cell.split('; ') : cell),
};
const pairs = (from: string, to: string): Codec => ({
  write: (value) =>
    Array.isArray(value)
      ? value.map((entry: Record<string, string>) => `${entry[from]} :: ${entry[to]}`).join('\n')
      : null,
  read: (cell) =>
    cell.split('\n').map((line) => {
      const at = line.indexOf(' :: ');
      return { [from]: line.slice(0, at), [to]: line.slice(at + 4) };
    }),
});
const record: Codec = {
  write: (value) =>
    value !== null && typeof value === 'object'
      ? Object.entries(value)
          .map(([name, reason]) => `${name} :: ${reason}`)
          .join('\n') || null
      : null,
  read: (cell) =>
    Object.fromEntries(
      cell.split('\n').map((line) => {
        const at = line.indexOf(' :: ');
        return [line.slice(0, at), line.slice(at + 4)];
      }),
    ),
};

const codecs: Record<string, Codec> = {
  stem: lines,
  paragraphs: lines,
  options: pairs('id', 'text'),
  key,
  enemies: ids,
  distractor_rationales: record,
  a: number,
  b: number,
  c: number,
  calculator: truth,
  read_aloud: truth,
};

function rowOf(entry: object, type: string): string[] {
  const other: Record<string, unknown> = {};
  const cells = new Map<string, string>([['type', type]]);
  for (const [name, value] of Object.entries(entry)) {
    if (name === 'type') continue;
    const codec = codecs[name] ?? text;
    const written = (columns as readonly string[]).includes(name) ? codec.write(value) : null;
    if (written !== null && written !== '' && !/\r/u.test(written) && isDeepStrictEqual(codec.read(written), value))
      cells.set(name, written);
    else other[name] = value;
  }
  if (Object.keys(other).length > 0) cells.set('other', JSON.stringify(other));
  return columns.map((name) => cells.get(name) ?? '');
}

/** UTF-8 with a byte order mark, because Excel reads other files in a local encoding. Lines end in CRLF (RFC 4180). */
export function toCsv(bank: Exchanged): string {
  const rows = [
    [...columns],
    ...bank.passages.map((passage) => rowOf(passage, 'passage')),
    ...bank.items.map((item) => rowOf(item, item.type)),
  ];
  return `\ufeff${rows.map((row) => csvLine(row, ',')).join('')}`;
}

function entryOf(row: Record<string, string>, line: number): Record<string, unknown> {
  const entry: Record<string, unknown> = {};
  for (const name of columns) {
    const cell = unguard((row[name] ?? '').replaceAll('\r\n', '\n'));
    if (cell === '' || name === 'other') continue;
    entry[name] = (codecs[name] ?? text).read(cell);
  }
  if (row.other) {
    try {
      Object.assign(entry, parseJson(row.other));
    } catch (cause) {
      throw new ExchangeFault(`Row ${line}: the cell “other” ${(cause as JsonFault).detail}`);
    }
  }
  return entry;
}

export function fromCsv(csv: string): Exchanged {
  let rows: Record<string, string>[];
  try {
    rows = parse(csv, { bom: true, columns: true, skip_empty_lines: true, relax_column_count: false });
  } catch (cause) {
    throw new ExchangeFault(`The file is not CSV: ${(cause as Error).message}`);
  }
  if (rows.length > 0 && !('id' in rows[0]! && 'type' in rows[0]!))
    throw new ExchangeFault('The first row must name the columns, with id and type among them.');
  const out: Exchanged = { items: [], passages: [] };
  rows.forEach((row, at) => {
    const { type, ...entry } = entryOf(row, at + 2) as { type?: string };
    if (type === 'passage') out.passages.push(entry as Passage);
    else out.items.push({ ...entry, type } as Item);
  });
  return out;
}
