import type { Output } from './command.ts';

const cellText = (cell: unknown): string =>
  cell === null || cell === undefined
    ? ''
    : cell instanceof Date
      ? cell.toISOString()
      : Array.isArray(cell)
        ? cell.join(', ')
        : String(cell);

/** Columns aligned for people; the first row is the head. */
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

/** A column: the field that its head names, or a head with the field or the function that gives its cells. */
type Column<Row> = (keyof Row & string) | [head: string, keyof Row | ((row: Row) => unknown)];

export function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const all = columns.map((column) => (typeof column === 'string' ? ([column, column] as const) : column));
  return table([
    all.map(([head]) => head),
    ...rows.map((row) => all.map(([, cell]) => (typeof cell === 'function' ? cell(row) : row[cell]))),
  ]);
}

/** A list as every command prints it. */
export const listOf = <Row>(data: readonly Row[], columns: readonly Column<Row>[]): Output => ({
  json: { data },
  text: tableOf(data, columns),
});

/** Some fields of a row, by their names. */
export function pick<Row, Key extends keyof Row>(row: Row, ...keys: Key[]): Pick<Row, Key> {
  return Object.fromEntries(keys.map((key) => [key, row[key]])) as Pick<Row, Key>;
}

/** Text of several lines; false stands for a line that is left out. */
export const linesOf = (...lines: (string | false)[]): string => lines.filter((one) => one !== false).join('\n');
