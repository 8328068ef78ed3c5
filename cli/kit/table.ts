import type { Output } from './command.ts';

const cellText = (cell: unknown): string =>
  cell === null || cell === undefined
    ? ''
    : cell instanceof Date
      ? cell.toISOString()
      : Array.isArray(cell)
        ? cell.join(', ')
        : String(cell);

/** Rows with aligned columns; the first row is the head. */
export function table(rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map(cellText));
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(widths[column]! - [...cell].length))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** A column is a field whose name is the heading, or a heading with a field or a function that returns the cell. */
type Column<Row> = (keyof Row & string) | [head: string, keyof Row | ((row: Row) => unknown)];

export function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const all = columns.map((column) => (typeof column === 'string' ? ([column, column] as const) : column));
  return table([
    all.map(([head]) => head),
    ...rows.map((row) => all.map(([, cell]) => (typeof cell === 'function' ? cell(row) : row[cell]))),
  ]);
}

export const listOf = <Row>(data: readonly Row[], columns: readonly Column<Row>[]): Output => ({
  json: { data },
  text: tableOf(data, columns),
});

export const fieldsOf = (fields: object): string =>
  table(Object.entries(fields).map(([name, value]) => [name, value ?? 'not given']));

export function pick<Row, Key extends keyof Row>(row: Row, ...keys: Key[]): Pick<Row, Key> {
  return Object.fromEntries(keys.map((key) => [key, row[key]])) as Pick<Row, Key>;
}

export const linesOf = (...lines: (string | false)[]): string => lines.filter((one) => one !== false).join('\n');
