import { pick, seededRandom } from '../../../../platform/crypto/random.ts';
import { whole } from '../../templates/question.ts';
import { type Cell, NoValue, type Sheet, valueOf } from './formula-value.ts';
import { cellNamed, type Formula, partsOf, readFormula } from './formula.ts';

type FormulaWanted = {
  /** The sheet that the question shows. The first row is row 1. */
  rows: readonly (readonly string[])[];
  cell: string | undefined;
  /** The direction in which the formula will be copied. The copies must also show the right values. */
  copied: 'down' | 'none';
  /** Whether the formula must call a function. A sum of single cells is then wrong. */
  usesFunction: boolean;
};

const trials = 24;
const copies = [0, 1, 2];

/**
 * Whether a typed formula gives the same values as an accepted formula, in every copy and on sheets with varied
 * numbers.
 */
export function formulaMatches(text: string, accepted: readonly string[], wanted: FormulaWanted): boolean {
  const written = readFormula(text);
  if (written === null) return false;
  if (wanted.usesFunction && !partsOf(written).some(({ kind }) => kind === 'call')) return false;
  return accepted.some((one) => {
    const key = readFormula(one);
    return key !== null && sameEverywhere(written, key, wanted);
  });
}

function sameEverywhere(written: Formula, key: Formula, wanted: FormulaWanted): boolean {
  const literals = [written, key].flatMap((formula) =>
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
        if (!sameCell(valueOf(written, sheet, moved), expected)) return false;
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
 * Returns the sheet as shown for trial 0. Other trials vary the numbers, and the words of columns that repeat words.
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
      // Half of the trials fill blank cells, because another formula may fill those cells later.
      if (shown === null) return trial % 2 === 0 ? null : whole(random, 1, 90);
      if (typeof shown === 'number') {
        // A number in the first row may be a heading, such as 2025, so the number changes only if the formula uses its
        // cell.
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
