/**
 * This file parses spreadsheet formulas into trees. Like spreadsheet programs, the parser ignores case and closes
 * brackets that are still open. Separators are commas or semicolons.
 */
export type Reference = { column: number; row: number; fixedColumn: boolean; fixedRow: boolean };

export type Formula =
  | { kind: 'number'; value: number }
  | { kind: 'text'; value: string }
  | { kind: 'boolean'; value: boolean }
  | { kind: 'cell'; at: Reference }
  | { kind: 'range'; from: Reference; to: Reference }
  | { kind: 'call'; name: string; values: (Formula | null)[] }
  | { kind: 'unary'; sign: '-' | '+' | '%'; of: Formula }
  | { kind: 'binary'; sign: string; left: Formula; right: Formula };

const longest = 300;
const deepest = 40;

type Token = { kind: 'number' | 'text' | 'name' | 'cell' | 'sign' | 'space'; text: string };

const token =
  /(?<number>(?:\d+(?:\.\d*)?|\.\d+))|"(?<text>(?:[^"]|"")*)"|(?<cell>\$?[a-z]{1,3}\$?\d{1,5})(?![\w(])|(?<name>[a-z][a-z0-9_.]*)|(?<sign><>|<=|>=|[-+*/^&=<>():;,%])|(?<space>\s+)/giy;

/** @returns null if the text is no formula. A formula begins with "=", "+" or "-". */
export function readFormula(text: string): Formula | null {
  const plain = text
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u2060\ufeff]/gu, '')
    .replace(/[“”„‟″]/gu, '"')
    .replace(/[−–—]/gu, '-')
    .replace(/×/gu, '*')
    .replace(/÷/gu, '/')
    .replace(/≥/gu, '>=')
    .replace(/≤/gu, '<=')
    .replace(/≠/gu, '<>')
    .trim()
    .replace(/(?<=[)\w"])\.$/u, '');
  if (plain.length > longest || !/^[=+-]/u.test(plain)) return null;
  const tokens = tokensOf(plain.startsWith('=') ? plain.slice(1) : plain);
  if (tokens === null) return null;
  const open =
    tokens.filter(({ text: sign }) => sign === '(').length - tokens.filter(({ text: sign }) => sign === ')').length;
  for (let i = 0; i < open; i++) tokens.push({ kind: 'sign', text: ')' });
  const reader = new Reader(tokens);
  const formula = reader.formula(0);
  return formula !== null && reader.atEnd ? formula : null;
}

function tokensOf(text: string): Token[] | null {
  const tokens: Token[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.length) {
    const found = token.exec(text);
    if (found === null) return null;
    const [kind, value] = Object.entries(found.groups!).find(([, part]) => part !== undefined)!;
    if (kind !== 'space')
      tokens.push({ kind: kind as Token['kind'], text: kind === 'text' ? value!.replaceAll('""', '"') : value! });
  }
  return tokens;
}

/** Operators between two values, from the lowest precedence to the highest, as in spreadsheets. */
const binarySigns = [['=', '<>', '<=', '>=', '<', '>'], ['&'], ['+', '-'], ['*', '/'], ['^']];

class Reader {
  #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  get atEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  #take(...signs: string[]): string | null {
    const next = this.#tokens[this.#at];
    if (next?.kind !== 'sign' || !signs.includes(next.text)) return null;
    this.#at++;
    return next.text;
  }

  formula(depth: number, level = 0): Formula | null {
    const signs = binarySigns[level];
    if (signs === undefined) return this.#signed(depth);
    if (depth > deepest) return null;
    let left = this.formula(depth + 1, level + 1);
    while (left !== null) {
      const sign = this.#take(...signs);
      if (sign === null) break;
      const right = this.formula(depth + 1, level + 1);
      left = right === null ? null : { kind: 'binary', sign, left, right };
    }
    return left;
  }

  #signed(depth: number): Formula | null {
    if (depth > deepest) return null;
    const sign = this.#take('-', '+');
    if (sign !== null) {
      const of = this.#signed(depth + 1);
      return of === null ? null : { kind: 'unary', sign: sign as '-' | '+', of };
    }
    let value = this.#primary(depth + 1);
    while (value !== null && this.#take('%') !== null) value = { kind: 'unary', sign: '%', of: value };
    return value;
  }

  #primary(depth: number): Formula | null {
    const next = this.#tokens[this.#at];
    if (next === undefined) return null;
    if (next.kind === 'number') {
      this.#at++;
      return { kind: 'number', value: Number(next.text) };
    }
    if (next.kind === 'text') {
      this.#at++;
      return { kind: 'text', value: next.text };
    }
    if (next.kind === 'cell') return this.#cells();
    if (next.kind === 'name') return this.#called(depth);
    if (this.#take('(') === null) return null;
    const inside = this.formula(depth + 1);
    return inside !== null && this.#take(')') !== null ? inside : null;
  }

  #cells(): Formula | null {
    const from = referenceOf(this.#tokens[this.#at++]!.text);
    if (this.#take(':') === null) return { kind: 'cell', at: from };
    const next = this.#tokens[this.#at++];
    return next?.kind === 'cell' ? { kind: 'range', from, to: referenceOf(next.text) } : null;
  }

  #called(depth: number): Formula | null {
    const name = this.#tokens[this.#at++]!.text.toUpperCase();
    if (this.#take('(') === null) {
      return name === 'TRUE' || name === 'FALSE' ? { kind: 'boolean', value: name === 'TRUE' } : null;
    }
    const values: (Formula | null)[] = [];
    if (this.#take(')') !== null) return { kind: 'call', name, values };
    for (;;) {
      const sign = this.#tokens[this.#at];
      const empty = sign?.kind === 'sign' && [',', ';', ')'].includes(sign.text);
      const value = empty ? null : this.formula(depth + 1);
      if (value === null && !empty) return null;
      values.push(value);
      if (this.#take(',', ';') !== null) continue;
      return this.#take(')') === null ? null : { kind: 'call', name, values };
    }
  }
}

function referenceOf(text: string): Reference {
  const [, fixedColumn, letters, fixedRow, digits] = /^(\$?)([a-z]+)(\$?)(\d+)$/iu.exec(text)!;
  let column = 0;
  for (const letter of letters!.toUpperCase()) column = column * 26 + letter.charCodeAt(0) - 64;
  return { column, row: Number(digits), fixedColumn: fixedColumn === '$', fixedRow: fixedRow === '$' };
}

export function cellNamed(text: string): { column: number; row: number } | null {
  return /^[a-z]{1,3}\d{1,5}$/iu.test(text) ? referenceOf(text) : null;
}

/** Yields the formula, then every formula nested inside, from left to right. */
export function* partsOf(formula: Formula | null): Generator<Formula> {
  if (formula === null) return;
  yield formula;
  if (formula.kind === 'call') for (const value of formula.values) yield* partsOf(value);
  if (formula.kind === 'unary') yield* partsOf(formula.of);
  if (formula.kind === 'binary') for (const side of [formula.left, formula.right]) yield* partsOf(side);
}
