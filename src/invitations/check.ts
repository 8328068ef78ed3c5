import { setImmediate } from 'node:timers/promises';
import type { App } from '../app.ts';
import type { Within } from './invite.ts';
import type { Before } from '../learners/meant.ts';
import { lookBefore } from '../learners/meant.ts';
import { foresee } from './invite.ts';
import type { ReadyRow, RowContext, RowFault } from './row.ts';
import { readRow } from './row.ts';
import type { Cells, GivenRow } from './table.ts';

/** Rows with what they say, or what is wrong with each. */
export type Checked = { row_no: number; cells: Cells; ready: ReadyRow | null; faults: RowFault[] }[];

/** What a draft comes to, in numbers. */
export type Check = { before: Before; rows: Checked; faulty: number; known: number; again: number; credits: number };

/** Finds what stands in the table twice: a learner has one row. */
function findDoubles(rows: Checked): void {
  const first = new Map<string, number>();
  for (const row of rows) {
    const { ref, full_name: name, email } = row.cells;
    const key = ref === undefined ? `name ${name?.toLowerCase()} ${email?.toLowerCase() ?? ''}` : `ref ${ref}`;
    const before = first.get(key);
    if (before === undefined) first.set(key, row.row_no);
    else if (ref !== undefined)
      row.faults.push({ column: 'ref', expected: `in one row only: row ${before} has it, too` });
    else if (name !== undefined)
      row.faults.push({ column: 'ref', expected: `given, because row ${before} has the same name` });
  }
}

/** A group that is made has one name, which stands in any of its rows; its reference is its name where none does. */
function nameGroups(rows: Checked): void {
  const names = new Map<string, { name: string; row: number }>();
  const keyOf = ({ type, ref }: { type: string; ref: string }) => `${type} ${ref}`;
  for (const row of rows)
    for (const group of row.ready?.groups ?? []) {
      if (group.name === '') continue;
      const named = names.get(keyOf(group));
      if (named === undefined) names.set(keyOf(group), { name: group.name, row: row.row_no });
      else if (named.name !== group.name)
        row.faults.push({ column: 'groups', expected: `groups with one name each: row ${named.row} has another one` });
    }
  for (const row of rows)
    for (const group of row.ready?.groups ?? [])
      if (group.name === '') group.name = names.get(keyOf(group))?.name ?? group.ref;
}

/** Checks rows against each other and against what there is now, and writes nothing. */
export async function checkRows(
  app: Pick<App, 'db' | 'clock'>,
  organisationId: number,
  given: readonly GivenRow[],
  context: RowContext,
  within: Within,
): Promise<Check> {
  const before = await lookBefore(app.db, organisationId, {
    names: given.flatMap(({ cells }) => cells.full_name ?? []),
    emails: given.flatMap(({ cells }) => cells.email ?? []),
  });
  const rows: Checked = [];
  for (const { row_no, cells } of given.toSorted((a, b) => a.row_no - b.row_no)) {
    const read = readRow(cells, context);
    rows.push({ row_no, cells, ready: null, faults: [], ...read });
    // Thousands of rows must keep nobody else waiting.
    if (rows.length % 500 === 0) await setImmediate();
  }
  findDoubles(rows);
  nameGroups(rows);
  const right = rows.filter((row) => row.faults.length === 0);
  const ready = right.map((row) => row.ready!);
  const { judged, credits } = await foresee(app.db, organisationId, ready, within, app.clock.nowMs());
  right.forEach((row, i) => row.faults.push(...judged[i]!.faults));
  return {
    before,
    rows,
    faulty: rows.filter((row) => row.faults.length > 0).length,
    known: judged.filter((one) => one.learner !== null).length,
    again: judged.filter((one) => one.again !== null).length,
    credits,
  };
}
