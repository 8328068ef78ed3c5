import type { RunRow } from './read-runs.ts';
import type { Cells, TableRow } from './table.ts';
import { repaired } from '../../../platform/validation/person-name.ts';
import { isUuid } from '../../../platform/crypto/random.ts';

/** The answers of a person to the questions about rows of a table. */

export const fieldOf = ({ row_no }: Pick<RunRow, 'row_no'>) => `row-${row_no}`;

const repairedCells = (cells: Cells): Cells =>
  Object.fromEntries(Object.entries(cells).map(([column, value]) => [column, repaired(value)]));

/** @returns the rows as answered, or a fault for each row without an answer */
export function readAnswers(
  sent: { raw(name: string): string },
  rows: readonly RunRow[],
): { answered: TableRow[] } | { faults: Record<string, string> } {
  const faults: Record<string, string> = {};
  const answered: TableRow[] = [];
  for (const row of rows) {
    const { row_no, ready } = row;
    const cells = row.cells!;
    const answer = sent.raw(fieldOf(row)).toLowerCase();
    const accepted = [cells.accepted, ...ready!.doubts!.map(({ about }) => about)].filter(Boolean).join(' ');
    if (answer === 'as_is') answered.push({ row_no, cells: { ...cells, accepted } });
    else if (answer === 'repair') answered.push({ row_no, cells: repairedCells(cells) });
    else if (isUuid(answer)) answered.push({ row_no, cells: { ...cells, learner_id: answer } });
    else if (answer !== 'out') faults[fieldOf(row)] = `Choose what to do with row ${row_no}.`;
  }
  return Object.keys(faults).length > 0 ? { faults } : { answered };
}
