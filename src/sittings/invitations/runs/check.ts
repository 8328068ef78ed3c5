import { setImmediate } from 'node:timers/promises';
import type { LearnerName } from '../../../records/learners/learners.ts';
import type { App } from '../../../platform/app.ts';
import { type ErasureGuard, openErasureGuard } from '../../../records/learners/erasure-guard.ts';
import { sameNameKey } from '../../../records/learners/keys.ts';
import { findInvisible, foresee, type Within } from '../invite.ts';
import { type Doubt, readRow, type ReadyRow, type RowContext, type RowFault } from './row.ts';
import type { Cells, TableRow } from './table.ts';

/** The checked rows. A row is either ready or has faults. */
export type Checked = { row_no: number; cells: Cells; ready: ReadyRow | null; faults: RowFault[] }[];

/** The checked rows of a draft and their counts. `doubtful`: rows that a person has to confirm. */
export type Check = {
  before: ErasureGuard;
  rows: Checked;
  faulty: number;
  doubtful: number;
  known: number;
  again: number;
  credits: number;
};

export const countFaulty = (rows: Checked): Pick<Check, 'faulty' | 'doubtful'> => ({
  faulty: rows.filter((row) => row.faults.length > 0).length,
  doubtful: rows.filter((row) => row.faults.length === 0 && row.ready?.doubts !== undefined).length,
});

function findDoubles(rows: Checked): void {
  const first = new Map<string, number>();
  for (const row of rows) {
    const { ref, full_name: name, email, learner_id: id } = row.cells;
    // Rows with a learner ID are checked later, when the learners have been read.
    if (ref === undefined && id !== undefined) continue;
    const key = ref === undefined ? `name ${sameNameKey(name ?? '')} ${email?.toLowerCase() ?? ''}` : `ref ${ref}`;
    const before = first.get(key);
    if (before === undefined) first.set(key, row.row_no);
    else if (ref !== undefined)
      row.faults.push({ column: 'ref', expected: `in one row only: row ${before} has it, too` });
    else if (name !== undefined)
      row.faults.push({ column: 'ref', expected: `given, because row ${before} has the same name` });
  }
}

const doubt = (row: Checked[number], ...more: Doubt[]): void => {
  const accepted = (row.cells.accepted ?? '').split(' ');
  const found = [...(row.ready!.doubts ?? []), ...more.filter(({ about }) => !accepted.includes(about))];
  if (found.length > 0) row.ready!.doubts = found;
};

/**
 * Finds rows without a reference that have the name of another row or of a learner. Such a row may be a duplicate,
 * which would create a learner and cost a credit.
 * @param visible the known learners to compare with
 */
function doubtNames(rows: Checked, right: Checked, visible: ErasureGuard['candidates']): void {
  const known = new Set(visible.map((one) => sameNameKey(one.full_name)));
  const byName = Map.groupBy(rows, ({ cells }) => sameNameKey(cells.full_name ?? ''));
  for (const row of right) {
    const { ref, learner_id: id, full_name: name } = row.ready!;
    if (ref !== null || id !== undefined) continue;
    const key = sameNameKey(name);
    const other = byName.get(key)!.find((one) => one !== row);
    if (other !== undefined) doubt(row, { about: 'twice', column: 'full_name', row: other.row_no });
    if (known.has(key)) doubt(row, { about: 'known', column: 'full_name' });
  }
}

/** Removes doubts about a reference or a name if the learner already has this reference or name. */
function clearDoubts({ ready }: Checked[number], learner: LearnerName | null): void {
  const left = (ready!.doubts ?? []).filter(
    ({ column }) =>
      learner === null || (column !== 'ref' && (column !== 'full_name' || learner.full_name !== ready!.full_name)),
  );
  if (left.length > 0) ready!.doubts = left;
  else delete ready!.doubts;
}

/** Gives each new group the name in any of its rows. If no row has a name, the group's reference becomes its name. */
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

/** Checks rows against each other and against the database. Nothing is written. */
export async function checkRows(
  app: Pick<App, 'db' | 'clock'>,
  organisationId: number,
  table: readonly TableRow[],
  context: RowContext,
  within: Within,
): Promise<Check> {
  const before = await openErasureGuard(app.db, organisationId, {
    names: table.flatMap(({ cells }) => cells.full_name ?? []),
    emails: table.flatMap(({ cells }) => cells.email ?? []),
  });
  const rows: Checked = [];
  for (const { row_no, cells } of table.toSorted((a, b) => a.row_no - b.row_no)) {
    const read = readRow(cells, context);
    rows.push({ row_no, cells, ready: null, faults: [], ...read });
    // The loop pauses, because thousands of rows must not block other requests.
    if (rows.length % 500 === 0) await setImmediate();
  }
  findDoubles(rows);
  nameGroups(rows);
  const right = rows.filter((row) => row.faults.length === 0);
  const ready = right.map((row) => row.ready!);
  const { judged, credits } = await foresee(app.db, organisationId, ready, within, app.clock.nowMs());
  const ids = before.candidates.map((one) => one.learner_id);
  const unseen = await findInvisible(app.db, organisationId, ids, within.visibility);
  right.forEach((row, i) => {
    row.faults.push(...judged[i]!.faults);
    clearDoubts(row, judged[i]!.learner);
  });
  doubtNames(
    rows,
    right,
    before.candidates.filter((one) => !unseen.has(one.learner_id)),
  );
  return {
    before,
    rows,
    ...countFaulty(rows),
    known: judged.filter((one) => one.learner !== null).length,
    again: judged.filter((one) => one.again !== null).length,
    credits,
  };
}
