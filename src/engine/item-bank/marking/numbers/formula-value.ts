import type { Formula, Reference } from './formula.ts';

/** The value of a cell. Null means that the cell is empty. */
export type Cell = number | string | boolean | null;
type Block = Cell[][];
type Value = Cell | Block;

/** Thrown if a formula has no value. A spreadsheet would show an error instead. */
export class NoValue extends Error {}

export type Sheet = (column: number, row: number) => Cell;

const maxCells = 2000;

/**
 * Evaluates a formula on a sheet.
 * @param moved how many columns and rows the formula was copied by; relative references move by the same distance
 * @throws NoValue
 */
export function valueOf(formula: Formula, sheet: Sheet, moved: { columns: number; rows: number }): Cell {
  const value = new Evaluation(sheet, moved).value(formula);
  return Array.isArray(value) ? single(value) : value;
}

function single(block: Block): Cell {
  if (block.length !== 1 || block[0]!.length !== 1) throw new NoValue('a block where one value is wanted');
  return block[0]![0]!;
}

const cellOf = (value: Value): Cell => (Array.isArray(value) ? single(value) : value);
const flat = (value: Value): Cell[] => (Array.isArray(value) ? value.flat() : [value]);

function numberOf(cell: Cell): number {
  if (cell === null) return 0;
  if (typeof cell === 'number') return cell;
  if (typeof cell === 'boolean') return cell ? 1 : 0;
  const read = /^\s*[-+]?(\d+(?:\.\d*)?|\.\d+)\s*$/u.test(cell) ? Number(cell) : Number.NaN;
  if (Number.isNaN(read)) throw new NoValue('a text where a number is wanted');
  return read;
}

function truthOf(cell: Cell): boolean {
  if (typeof cell === 'string') {
    if (/^(true|false)$/iu.test(cell)) return cell.toLowerCase() === 'true';
    throw new NoValue('a text where a condition is wanted');
  }
  return typeof cell === 'boolean' ? cell : numberOf(cell) !== 0;
}

const textOf = (cell: Cell): string =>
  cell === null ? '' : typeof cell === 'boolean' ? String(cell).toUpperCase() : String(cell);

function compare(left: Cell, right: Cell): number {
  const rank = (cell: Cell) => (typeof cell === 'boolean' ? 2 : typeof cell === 'string' ? 1 : 0);
  const [a, b] = [left ?? (typeof right === 'string' ? '' : 0), right ?? (typeof left === 'string' ? '' : 0)];
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string')
    return a.toLowerCase() < (b as string).toLowerCase() ? -1 : a.toLowerCase() > (b as string).toLowerCase() ? 1 : 0;
  return Math.abs(Number(a) - Number(b)) < 1e-9 ? 0 : Number(a) - Number(b);
}

const comparisons: Record<string, (order: number) => boolean> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '>': (order) => order > 0,
  '<=': (order) => order <= 0,
  '>=': (order) => order >= 0,
};

function calculate(sign: string, left: Cell, right: Cell): Cell {
  if (Object.hasOwn(comparisons, sign)) return comparisons[sign]!(compare(left, right));
  if (sign === '&') return textOf(left) + textOf(right);
  const [a, b] = [numberOf(left), numberOf(right)];
  if (sign === '/' && b === 0) throw new NoValue('a division by nothing');
  const value = sign === '+' ? a + b : sign === '-' ? a - b : sign === '*' ? a * b : sign === '/' ? a / b : a ** b;
  if (!Number.isFinite(value)) throw new NoValue('no number');
  return value;
}

/** Reads a condition, such as 40, ">=40", "North" or "=Paid", which functions like SUMIF apply to each cell. */
function condition(cell: Cell): (of: Cell) => boolean {
  const text = textOf(cell);
  const [, sign = '=', rest = text] = /^(<>|<=|>=|=|<|>)?([^]*)$/u.exec(text)!;
  const wanted: Cell = rest.trim() !== '' && !Number.isNaN(Number(rest)) ? Number(rest) : rest;
  return (of) => (typeof of === typeof wanted || sign === '<>') && comparisons[sign]!(compare(of, wanted));
}

class Evaluation {
  #sheet: Sheet;
  #moved: { columns: number; rows: number };

  constructor(sheet: Sheet, moved: { columns: number; rows: number }) {
    this.#sheet = sheet;
    this.#moved = moved;
  }

  #place(at: Reference): { column: number; row: number } {
    const column = at.column + (at.fixedColumn ? 0 : this.#moved.columns);
    const row = at.row + (at.fixedRow ? 0 : this.#moved.rows);
    if (column < 1 || row < 1) throw new NoValue('outside the sheet');
    return { column, row };
  }

  value(formula: Formula | null): Value {
    if (formula === null) return null;
    switch (formula.kind) {
      case 'number':
      case 'text':
      case 'boolean':
        return formula.value;
      case 'cell': {
        const { column, row } = this.#place(formula.at);
        return this.#sheet(column, row);
      }
      case 'range':
        return this.#block(formula.from, formula.to);
      case 'unary':
        return eachOf([this.value(formula.of)], ([cell]) => {
          const n = numberOf(cell!);
          return formula.sign === '-' ? -n : formula.sign === '%' ? n / 100 : n;
        });
      case 'binary':
        return eachOf([this.value(formula.left), this.value(formula.right)], ([left, right]) =>
          calculate(formula.sign, left!, right!),
        );
      case 'call':
        return this.#call(formula.name, formula.values);
    }
  }

  #block(from: Reference, to: Reference): Block {
    const [a, b] = [this.#place(from), this.#place(to)];
    const columns = [Math.min(a.column, b.column), Math.max(a.column, b.column)] as const;
    const rows = [Math.min(a.row, b.row), Math.max(a.row, b.row)] as const;
    if ((columns[1] - columns[0] + 1) * (rows[1] - rows[0] + 1) > maxCells) throw new NoValue('too many cells');
    return Array.from({ length: rows[1] - rows[0] + 1 }, (_, r) =>
      Array.from({ length: columns[1] - columns[0] + 1 }, (_, c) => this.#sheet(columns[0] + c, rows[0] + r)),
    );
  }

  #call(name: string, args: (Formula | null)[]): Value {
    // These functions evaluate only the arguments that they need, so an error in another argument has no effect.
    if (name === 'IF') {
      if (args.length < 2 || args.length > 3) throw new NoValue('IF');
      return truthOf(cellOf(this.value(args[0]!)))
        ? this.value(args[1]!)
        : args.length === 3
          ? this.value(args[2]!)
          : false;
    }
    if (name === 'IFS') {
      for (let i = 0; i + 1 < args.length; i += 2)
        if (truthOf(cellOf(this.value(args[i]!)))) return this.value(args[i + 1]!);
      throw new NoValue('IFS');
    }
    if (name === 'IFERROR') {
      try {
        return this.value(args[0]!);
      } catch (error) {
        if (error instanceof NoValue) return this.value(args[1] ?? null);
        throw error;
      }
    }
    const values = args.map((value) => this.value(value));
    const fn = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (fn === undefined) throw new NoValue(`the function ${name} is not known`);
    return fn(values, args);
  }
}

/** Calculates cell by cell if at least one of the values is a block of cells. */
function eachOf(values: Value[], calculation: (cells: Cell[]) => Cell): Value {
  const blocks = values.filter(Array.isArray) as Block[];
  if (blocks.length === 0) return calculation(values as Cell[]);
  const [first] = blocks;
  if (blocks.some((block) => block.length !== first!.length || block[0]!.length !== first![0]!.length))
    throw new NoValue('blocks of different sizes');
  return first!.map((row, r) =>
    row.map((_, c) => calculation(values.map((value) => (Array.isArray(value) ? value[r]![c]! : value)))),
  );
}

/**
 * Returns the numbers among a function's arguments. Text in a cell is ignored, but text in the formula must be a
 * number.
 */
function numbers(values: Value[], args?: (Formula | null)[]): number[] {
  return values.flatMap((value, i) => {
    if (Array.isArray(value) || args?.[i]?.kind === 'cell')
      return flat(value).filter((cell) => typeof cell === 'number');
    return value === null ? [] : [numberOf(value)];
  });
}

const sum = (all: number[]): number => all.reduce((total, one) => total + one, 0);

function some(all: number[]): number[] {
  if (all.length === 0) throw new NoValue('no numbers');
  return all;
}

function nth(values: Value[], order: (a: number, b: number) => number): number {
  const sorted = numbers([values[0]!]).sort(order);
  const found = sorted[numberOf(cellOf(values[1]!)) - 1];
  if (found === undefined) throw new NoValue('not so many numbers');
  return found;
}

/**
 * Whether each position meets all conditions. `pairs` alternates between a block of cells and the condition for that
 * block.
 */
function matching(pairs: Value[]): boolean[] {
  if (pairs.length === 0 || pairs.length % 2 !== 0) throw new NoValue('a condition is missing');
  const lists: boolean[][] = [];
  for (let i = 0; i < pairs.length; i += 2) lists.push(flat(pairs[i]!).map(condition(cellOf(pairs[i + 1]!))));
  if (lists.some((one) => one.length !== lists[0]!.length)) throw new NoValue('blocks of different sizes');
  return lists[0]!.map((_, i) => lists.every((one) => one[i]));
}

function picked(from: Value, pairs: Value[]): number[] {
  const cells = flat(from);
  const match = matching(pairs);
  if (cells.length !== match.length) throw new NoValue('blocks of different sizes');
  return cells.filter((cell, i) => match[i] && typeof cell === 'number') as number[];
}

const average = (all: number[]): number => sum(some(all)) / all.length;

function rounded(values: Value[], how: (n: number) => number): number {
  const scale = 10 ** numberOf(values[1] === undefined ? 0 : cellOf(values[1]));
  const n = numberOf(cellOf(values[0]!)) * scale;
  return (Math.sign(n) * how(Math.abs(n) + (how === Math.ceil ? -1e-9 : 1e-9))) / scale;
}

function median(all: number[]): number {
  const sorted = some(all).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const two = (sign: string) => (values: Value[]) => {
  if (values.length !== 2) throw new NoValue('two values are wanted');
  return calculate(sign, cellOf(values[0]!), cellOf(values[1]!));
};

const functions: Record<string, (values: Value[], args: (Formula | null)[]) => Value> = {
  SUM: (values, args) => sum(numbers(values, args)),
  AVERAGE: (values, args) => average(numbers(values, args)),
  MEDIAN: (values, args) => median(numbers(values, args)),
  MAX: (values, args) => Math.max(...some(numbers(values, args))),
  MIN: (values, args) => Math.min(...some(numbers(values, args))),
  COUNT: (values, args) => numbers(values, args).length,
  COUNTA: (values) => values.flatMap(flat).filter((cell) => cell !== null && cell !== '').length,
  COUNTBLANK: (values) => values.flatMap(flat).filter((cell) => cell === null || cell === '').length,
  PRODUCT: (values, args) => numbers(values, args).reduce((product, one) => product * one, 1),
  LARGE: (values) => nth(values, (a, b) => b - a),
  SMALL: (values) => nth(values, (a, b) => a - b),
  ABS: (values) => Math.abs(numberOf(cellOf(values[0]!))),
  INT: (values) => Math.floor(numberOf(cellOf(values[0]!))),
  SQRT: (values) => two('^')([values[0]!, 0.5]),
  POWER: two('^'),
  DIVIDE: two('/'),
  MULTIPLY: two('*'),
  ADD: two('+'),
  MINUS: two('-'),
  MOD: (values) => {
    const [a, b] = values.map((value) => numberOf(cellOf(value))) as [number, number];
    if (b === 0) throw new NoValue('a division by nothing');
    return a - b * Math.floor(a / b);
  },
  ROUND: (values) => rounded(values, Math.round),
  ROUNDUP: (values) => rounded(values, Math.ceil),
  ROUNDDOWN: (values) => rounded(values, Math.floor),
  AND: (values) => values.flatMap(flat).every(truthOf),
  OR: (values) => values.flatMap(flat).some(truthOf),
  NOT: (values) => !truthOf(cellOf(values[0]!)),
  SUMIF: (values) => sum(picked(values[2] ?? values[0]!, [values[0]!, values[1]!])),
  SUMIFS: (values) => sum(picked(values[0]!, values.slice(1))),
  AVERAGEIF: (values) => average(picked(values[2] ?? values[0]!, [values[0]!, values[1]!])),
  AVERAGEIFS: (values) => average(picked(values[0]!, values.slice(1))),
  COUNTIF: (values) => matching(values).filter(Boolean).length,
  COUNTIFS: (values) => matching(values).filter(Boolean).length,
  SUMPRODUCT: (values) => {
    const lists = values.map((value) => flat(value).map((cell) => (typeof cell === 'number' ? cell : 0)));
    if (lists.some((one) => one.length !== lists[0]!.length)) throw new NoValue('blocks of different sizes');
    return sum(lists[0]!.map((_, i) => lists.reduce((product, one) => product * one[i]!, 1)));
  },
  FILTER: (values) => {
    const keep = flat(values[1]!).map(truthOf);
    const rows = values[0] as Block;
    if (!Array.isArray(rows) || rows.length !== keep.length) throw new NoValue('blocks of different sizes');
    const kept = rows.filter((_, i) => keep[i]);
    if (kept.length === 0) throw new NoValue('nothing is left');
    return kept;
  },
  SUBTOTAL: (values) => {
    const all = numbers(values.slice(1));
    const code = numberOf(cellOf(values[0]!)) % 100;
    if (code === 1) return average(all);
    if (code === 2) return all.length;
    if (code === 4) return Math.max(...some(all));
    if (code === 5) return Math.min(...some(all));
    if (code === 9) return sum(all);
    throw new NoValue('SUBTOTAL');
  },
  CONCAT: (values) => values.flatMap(flat).map(textOf).join(''),
  CONCATENATE: (values) => values.map(cellOf).map(textOf).join(''),
  LEN: (values) => textOf(cellOf(values[0]!)).length,
  UPPER: (values) => textOf(cellOf(values[0]!)).toUpperCase(),
  LOWER: (values) => textOf(cellOf(values[0]!)).toLowerCase(),
  TRIM: (values) => textOf(cellOf(values[0]!)).trim().replace(/ +/gu, ' '),
  N: (values) => numberOf(cellOf(values[0]!)),
  VALUE: (values) => numberOf(cellOf(values[0]!)),
  TRUE: () => true,
  FALSE: () => false,
};
