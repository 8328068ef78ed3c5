import { csvLine } from './csv.ts';
import { type SheetColumn, type SheetValue, workbook } from './xlsx.ts';

/** Writes rows as a CSV, XLSX or JSON file, part by part, so that memory use does not grow with the file. */

export const sheetFormats = ['csv', 'xlsx', 'json'] as const;
export type SheetFormat = (typeof sheetFormats)[number];

export const sheetTypes: Record<SheetFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  json: 'application/x-ndjson',
};

/**
 * `key`: the name in JSON, where times are in UTC. `clock`: returns the offset of the reader's time zone in
 * milliseconds.
 */
export type Column<Row> = SheetColumn & { key: string; value(row: Row): SheetValue; clock?: (ms: number) => number };

export type Sheet<Row> = { name: string; columns: readonly Column<Row>[]; rows: AsyncIterable<readonly Row[]> };

/** A date and time that spreadsheets of any language recognise. */
const momentText = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

function shownOf<Row>({ kind, clock, value }: Column<Row>, row: Row): SheetValue {
  const one = value(row);
  return kind === 'moment' && typeof one === 'number' && clock !== undefined ? one + clock(one) : one;
}

function cellText(kind: SheetColumn['kind'], value: SheetValue): string {
  if (value === null) return '';
  return kind === 'moment' && typeof value === 'number' ? momentText(value) : String(value);
}

/** The byte order mark lets spreadsheets recognise UTF-8. */
async function* csv<Row>({ columns, rows }: Sheet<Row>): AsyncGenerator<Buffer> {
  yield Buffer.from(
    `\uFEFF${csvLine(
      columns.map(({ head }) => head),
      ',',
    )}`,
  );
  for await (const some of rows)
    yield Buffer.from(
      some
        .map((row) =>
          csvLine(
            columns.map((column) => cellText(column.kind, shownOf(column, row))),
            ',',
          ),
        )
        .join(''),
    );
}

async function* ndjson<Row>({ columns, rows }: Sheet<Row>): AsyncGenerator<Buffer> {
  for await (const some of rows)
    yield Buffer.from(
      some
        .map((row) => {
          const entries = columns.map(({ key, kind, value }) => {
            const one = value(row);
            return [key, kind === 'moment' && typeof one === 'number' ? new Date(one).toISOString() : one];
          });
          return `${JSON.stringify(Object.fromEntries(entries))}\n`;
        })
        .join(''),
    );
}

async function* valuesOf<Row>({ columns, rows }: Sheet<Row>): AsyncGenerator<SheetValue[][]> {
  for await (const some of rows) yield some.map((row) => columns.map((column) => shownOf(column, row)));
}

export function sheetBytes<Row>(sheet: Sheet<Row>, format: SheetFormat): AsyncGenerator<Buffer> {
  if (format === 'csv') return csv(sheet);
  if (format === 'json') return ndjson(sheet);
  return workbook(sheet.name, sheet.columns, valuesOf(sheet));
}
