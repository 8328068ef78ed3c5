import { type Tx, statement } from '../../platform/db/database.ts';
import { type Delimiter, cellsOf, cellText, namesDelimiter } from '../../platform/formats/csv.ts';
import { isOpaqueRef } from '../../platform/validation/personal-data.ts';
import { findReached } from './store.ts';

/** Learner references that a person pastes or a file contains: one on each line, or a column of a sheet. */

export type PastedRefs = {
  /** The references without repetitions, in the order of the text. */
  refs: string[];
  /** The first row of each reference, counted from 1. */
  rowOf: Map<string, number>;
  /**
   * Rows without a valid reference. A row may contain a person's name, so `sentence` does not repeat the row's text.
   */
  faults: { row: number; sentence: string }[];
  repeated: number;
};

/** Names of the column with references, in lower case and without separators. */
const heads = /^(learner|student|pupil)?(ref|refs|reference|references|learnref|learnrefnumber|learnerid|id)$/;
const isHead = (cell: string) => heads.test(cell.toLowerCase().replace(/[\s_.-]/g, ''));

/** References contain no delimiter, so the first tab or semicolon in the text separates columns. */
function delimiterOf(text: string): Delimiter {
  return ([...'\t;'] as Delimiter[]).find((one) => text.includes(one)) ?? ',';
}

export function readPastedRefs(text: string): PastedRefs {
  const rows = text.replace(/^\uFEFF/, '').split(/\r\n|[\r\n]/);
  const delimiter = delimiterOf(text);
  const found: PastedRefs = { refs: [], rowOf: new Map(), faults: [], repeated: 0 };
  let column: number | null = null;
  for (const [i, line] of rows.entries()) {
    if (line.trim() === '' || (column === null && namesDelimiter(line))) continue;
    const cells = (cellsOf(line, delimiter) ?? [line]).map(cellText);
    if (column === null) {
      const head = cells.findIndex(isHead);
      column = Math.max(0, head);
      if (head >= 0) continue;
    }
    const ref = cells[column] ?? '';
    const row = i + 1;
    if (ref === '') found.faults.push({ row, sentence: 'There is no reference in this row.' });
    else if (!isOpaqueRef(ref)) found.faults.push({ row, sentence: whyNot(ref) });
    else if (found.rowOf.has(ref)) found.repeated++;
    else {
      found.rowOf.set(ref, row);
      found.refs.push(ref);
    }
  }
  return found;
}

function whyNot(text: string): string {
  if (text.includes('@')) return 'This is an email address. Enter the learner’s reference.';
  if (/\s/.test(text)) return 'A reference has no spaces. Enter the reference, not a name.';
  return 'Enter a reference of letters, digits and . _ : / -, which begins with a letter or digit. It is never a name or a National Insurance number.';
}

const membersAmong = statement('group.members_among')`
  select learner_id from membership
   where organisation_id = $1 and group_id = $2 and learner_id = any($3) and left_position is null`;

export type PastedPreview = {
  /** The IDs of learners that would join or leave. */
  concerned: string[];
  /** How many learners would not change. */
  settled: number;
  faults: { row: number; sentence: string }[];
};

export async function previewPasted(
  tx: Tx,
  organisationId: number,
  groupId: string,
  pasted: PastedRefs,
  how: 'join' | 'leave',
): Promise<PastedPreview> {
  const learners = await findReached(tx, organisationId, pasted.refs);
  const ids = [...new Set([...learners.values()].map((one) => one.learner_id))];
  const rows = await tx.query<{ learner_id: string }>(membersAmong, [organisationId, groupId, ids]);
  const members = new Set(rows.map((row) => row.learner_id));
  const concerned = ids.filter((id) => members.has(id) === (how === 'leave'));
  const unknown = pasted.refs.filter((ref) => !learners.has(ref));
  return {
    concerned,
    settled: ids.length - concerned.length,
    faults: [
      ...pasted.faults,
      ...unknown.map((ref) => ({ row: pasted.rowOf.get(ref)!, sentence: `No learner has the reference ${ref}.` })),
    ].toSorted((a, b) => a.row - b.row),
  };
}
