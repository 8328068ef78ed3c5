import { pick, seededRandom } from '../../../../platform/crypto/random.ts';
import { whole } from '../../templates/question.ts';
import { type Cell, NoValue, type Sheet, valueOf } from './formula-value.ts';
import { cellNamed, type Formula, partsOf, readFormula } from './formula.ts';

/** What a key says about a formula apart from its text. */
type FormulaWanted = {
  /** The sheet as it is shown; its first row is row 1. */
  rows: readonly (readonly string[])[];
  /** Where the formula stands. */
  cell: string | undefined;
  /** The direction in which it will be copied, so that its references have to move or stay. */
  copied: 'down' | 'none';
  /** The question asks for a function, not for a sum of single cells. */
  usesFunction: boolean;
};

const trials = 24;
const copies = [0, 1, 2];

/** Whether a typed formula and an accepted one show the same values, on sheets with other amounts and in every copy. */
export function formulaMatches(text: string, accepted: readonly string[], wanted: FormulaWanted): boolean {
  const given = readFormula(text);
  if (given === null) return false;
  if (wanted.usesFunction && !partsOf(given).some(({ kind }) => kind === 'call')) return false;
  return accepted.some((one) => {
    const key = readFormula(one);
    return key !== null && sameEverywhere(given, key, wanted);
  });
}

function sameEverywhere(given: Formula, key: Formula, wanted: FormulaWanted): boolean {
  const literals = [given, key].flatMap((formula) =>
    [...partsOf(formula)].flatMap((part) => (part.kind === 'number' ? [part.value] : [])),
  );
  const down = wanted.copied === 'down' ? copies : [0];
  let compared = 0;
  for (let trial = 0; trial < trials; trial++) {
    for (const rows of down) {
      const sheet = trialSheet(wanted, literals, key, trial, rows);
      const moved = { columns: 0, rows };
      let expected: Cell;
      try {
        expected = valueOf(key, sheet, moved);
      } catch (error) {
        if (error instanceof NoValue) continue;
        throw error;
      }
      compared++;
      try {
        if (!sameCell(valueOf(given, sheet, moved), expected)) return false;
      } catch (error) {
        if (error instanceof NoValue) return false;
        throw error;
      }
    }
  }
  return compared > 0;
}

function sameCell(a: Cell, b: Cell): boolean {
  if (typeof a === 'number' && typeof b === 'number')
    return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
  if (typeof a === 'string' && typeof b === 'string') return a.toLowerCase() === b.toLowerCase();
  return a === b;
}

/**
 * The first trial is the sheet as shown. The others have other numbers, and other words in columns that repeat words.
 */
function trialSheet(wanted: FormulaWanted, literals: number[], key: Formula, trial: number, copied: number): Sheet {
  const random = seededRandom(`formula ${trial}`);
  const fixed = cellNamed(wanted.cell ?? '');
  const own = fixed === null ? null : { column: fixed.column, row: fixed.row + copied };
  const inKey = new Set(partsOf(key).map((part) => (part.kind === 'cell' ? `${part.at.column},${part.at.row}` : '')));
  const cells = wanted.rows.map((row, r) =>
    row.map((text, c) => {
      const shown = cellOfText(text);
      if (trial === 0) return shown;
      // A blank cell may be filled later, by another formula.
      if (shown === null) return trial % 2 === 0 ? null : whole(random, 1, 90);
      if (typeof shown === 'number') {
        // A heading such as 2025 stays. A rate in the first row changes if the formula uses it.
        if (r === 0 && !inKey.has(`${c + 1},1`)) return shown;
        return otherNumber(shown, literals, random);
      }
      const column = wanted.rows.slice(1).map((other) => other[c] ?? '');
      const repeats = r > 0 && column.filter((other) => other === text).length > 1;
      return repeats ? pick(random, [...new Set(column.filter((other) => other !== ''))]) : shown;
    }),
  );
  return (column, row) => {
    if (own !== null && own.column === column && own.row === row) throw new NoValue('it refers to itself');
    return cells[row - 1]?.[column - 1] ?? null;
  };
}

function otherNumber(shown: number, literals: number[], random: ReturnType<typeof seededRandom>): number {
  if (!Number.isInteger(shown)) return whole(random, 1, 90) / 100;
  const near = literals.filter(Number.isInteger).flatMap((n) => [n - 1, n, n + 1]);
  if (near.length > 0 && whole(random, 0, 2) === 0) return pick(random, near);
  return whole(random, 1, Math.max(20, 2 * Math.abs(shown)));
}

function cellOfText(text: string): Cell {
  const plain = text.trim();
  if (plain === '') return null;
  const number = /^[£$]?(-?\d[\d,]*(?:\.\d+)?)(%?)$/u.exec(plain);
  return number === null ? plain : Number(number[1]!.replaceAll(',', '')) / (number[2] === '%' ? 100 : 1);
}
