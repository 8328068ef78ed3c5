import { pick, seededRandom } from '../../../../platform/crypto/random.ts';
import { whole } from '../../templates/question.ts';
import type { Cell, Sheet } from './formula-value.ts';
import { NoValue, valueOf } from './formula-value.ts';
import type { Formula } from './formula.ts';
import { cellNamed, functionsIn, numbersIn, readFormula } from './formula.ts';

/** What a formula's key says beside the formula itself. */
export type FormulaWanted = {
  /** The sheet as it is shown; its first row is row 1. */
  rows: readonly (readonly string[])[];
  /** Where the formula stands. */
  cell: string | undefined;
  /** Which way it will be copied, so that its references have to move or stay. */
  copied: 'down' | 'none';
  /** The question asks for a function, not for a sum of single cells. */
  usesFunction: boolean;
};

const trials = 24;
const copies = [0, 1, 2];

/**
 * Whether a typed formula is as good as an accepted one: on sheets with other amounts, and wherever it is copied to,
 * both show the same.
 */
export function formulaMatches(text: string, accepted: readonly string[], wanted: FormulaWanted): boolean {
  const given = readFormula(text);
  if (given === null) return false;
  if (wanted.usesFunction && functionsIn(given).length === 0) return false;
  return accepted.some((one) => {
    const key = readFormula(one);
    return key !== null && sameEverywhere(given, key, wanted);
  });
}

function sameEverywhere(given: Formula, key: Formula, wanted: FormulaWanted): boolean {
  const literals = [...numbersIn(given), ...numbersIn(key)];
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
 * The first trial is the sheet as shown; the others have other numbers, and other words where a column repeats its
 * words.
 */
function trialSheet(wanted: FormulaWanted, literals: number[], key: Formula, trial: number, copied: number): Sheet {
  const random = seededRandom(`formula ${trial}`);
  const fixed = cellNamed(wanted.cell ?? '');
  const own = fixed === null ? null : { column: fixed.column, row: fixed.row + copied };
  const inKey = cellsIn(key);
  const cells = wanted.rows.map((row, r) =>
    row.map((text, c) => {
      const shown = cellOfText(text);
      if (trial === 0) return shown;
      // What is blank now may be filled in later, by another formula.
      if (shown === null) return trial % 2 === 0 ? null : whole(random, 1, 90);
      if (typeof shown === 'number') {
        // A heading such as 2025 stays; a rate in the first row that the formula uses doesn't.
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

/** Column and row of every cell that a formula names by itself. */
function cellsIn(formula: Formula): Set<string> {
  switch (formula.kind) {
    case 'cell':
      return new Set([`${formula.at.column},${formula.at.row}`]);
    case 'unary':
      return cellsIn(formula.of);
    case 'binary':
      return new Set([...cellsIn(formula.left), ...cellsIn(formula.right)]);
    case 'call':
      return new Set(formula.values.flatMap((value) => (value === null ? [] : [...cellsIn(value)])));
    default:
      return new Set();
  }
}
