import type { Delimiter } from '../../platform/formats/csv.ts';
import { cellsOf, cellText, namesDelimiter } from '../../platform/formats/csv.ts';
import { isOpaqueRef } from '../../platform/validation/personal-data.ts';

/** References out of what somebody pasted or a file holds: one a line, or a column of a sheet. */

export type PastedRefs = {
  /** Each once, in the order in which they come. */
  refs: string[];
  /** The row that each stands in first, counted from one as the sheet does. */
  rowOf: Map<string, number>;
  /** Rows whose reference can't be one. What stands there is not repeated: it may be a person's name. */
  faults: { row: number; sentence: string }[];
  /** Rows that repeat a reference. */
  repeated: number;
};

/** Heads under which sheets keep it, in small letters and without what stands between letters. */
const heads = /^(learner|student|pupil)?(ref|refs|reference|references|learnref|learnrefnumber|learnerid|id)$/;
const isHead = (cell: string) => heads.test(cell.toLowerCase().replace(/[\s_.-]/g, ''));

/** What separates columns: no reference holds one of them. */
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
  if (text.includes('@')) return 'This is an e-mail address: enter the learner’s reference.';
  if (/\s/.test(text)) return 'A reference has no spaces: is this a name?';
  return 'A reference has letters, digits, and . _ : / - and begins with a letter or a digit. It is never a name or a National Insurance number.';
}
