import { subjects } from '../../../src/engine/scoring/levels.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { cellsOf } from '../../../src/platform/formats/csv.ts';

/** Reads the file of `ars sittings export`: one line for each question that a sitting showed. */

export const maxAnswers = 5_000_000;

export const groupColumns = ['device', 'extra_time', 'language'] as const;
export type GroupColumn = (typeof groupColumns)[number];

/** The answers to one subject's items: by sitting, and within a sitting in the order in which they were given. */
export type Answers = {
  /** The indices of each sitting's first answer, and at the end the number of answers. */
  starts: Int32Array;
  /** The index of each answer's item. */
  items: Int32Array;
  rights: Uint8Array;
  /** The text of a column for each answer. */
  labels: Record<GroupColumn | 'bank_version', Labels>;
};

/** The different texts of a column, and for each answer the index of its text. */
export type Labels = { texts: string[]; codes: Uint16Array };

/** Names the line and the column. Never repeats a value. */
export class AnswersFault extends Error {}

/** The items by which answers are recognised, with the hash of the question in the bank. */
export type KnownItems = ReadonlyMap<string, { subject: Subject; index: number; hash: string }>;

type Row = { sitting: string; item: number; position: number; right: boolean; labels: number[]; line: number };

const needed = ['sitting', 'subject', 'item', 'item_hash', 'position', 'score', 'max_score'] as const;
const labelColumns = [...groupColumns, 'bank_version'] as const;
type Column = (typeof needed)[number] | (typeof labelColumns)[number] | 'outcome';

/** What was read: the answers by subject, and what was left out. */
export type AnswersRead = {
  answers: Map<Subject, Answers>;
  /** Questions that were shown and not reached, which count as not administered. */
  notReached: number;
  /** Answers to another wording of an item than the bank's. */
  otherWording: number;
};

const maxLabels = 1000;

/** Takes a file line by line. `end` gives the answers. */
export class AnswersReader {
  readonly #known: KnownItems;
  readonly #rows = new Map<Subject, Row[]>();
  readonly #texts = Object.fromEntries(labelColumns.map((column) => [column, new Map<string, number>()]));
  #columns: Partial<Record<Column, number>> | null = null;
  #width = 0;
  #line = 0;
  #read = 0;
  #notReached = 0;
  #otherWording = 0;

  constructor(known: KnownItems) {
    this.#known = known;
  }

  /** @throws AnswersFault */
  add(text: string): void {
    this.#line++;
    const line = this.#line === 1 ? text.replace(/^\uFEFF/, '') : text;
    if (line.trim() === '') return;
    const cells = cellsOf(line.replace(/\r$/, ''), ',');
    if (cells === null) this.#fault(null, 'has a quote in the wrong place. Export the file again.');
    if (this.#columns === null) this.#head(cells);
    else this.#row(cells, this.#columns);
  }

  #fault(column: string | null, what: string): never {
    throw new AnswersFault(`Line ${this.#line}${column === null ? '' : `, column ${column},`} ${what}`);
  }

  #head(cells: readonly string[]): void {
    const wanted: readonly Column[] = [...needed, ...labelColumns, 'outcome'];
    const missing = needed.filter((column) => !cells.includes(column));
    if (missing.length > 0)
      this.#fault(null, `lacks the columns ${missing.join(', ')}. Use a file of ars sittings export.`);
    const twice = wanted.find((column) => cells.indexOf(column) !== cells.lastIndexOf(column));
    if (twice !== undefined) this.#fault(twice, 'is there twice. Keep one of them.');
    const found = wanted.filter((column) => cells.includes(column));
    this.#columns = Object.fromEntries(found.map((column) => [column, cells.indexOf(column)]));
    this.#width = cells.length;
  }

  #row(cells: readonly string[], columns: Partial<Record<Column, number>>): void {
    if (cells.length !== this.#width)
      this.#fault(null, `has ${cells.length} cells, and the first line ${this.#width}. Export the file again.`);
    const cell = (column: Column) => cells[columns[column] ?? -1]?.trim() ?? '';
    const sitting = cell('sitting');
    if (sitting === '' || sitting.length > 100) this.#fault('sitting', 'is not an ID of 1 to 100 characters.');
    const subject = subjects.find((one) => one === cell('subject'));
    if (subject === undefined) this.#fault('subject', `is not one of ${subjects.join(', ')}.`);
    const known = this.#known.get(cell('item'));
    if (known === undefined) this.#fault('item', 'is not an item of the bank. Name its bank with --dir.');
    if (known.subject !== subject) this.#fault('subject', "is not the item's subject.");
    const position = Number(cell('position'));
    if (!/^\d{1,4}$/.test(cell('position')) || position === 0)
      this.#fault('position', 'is not a whole number from 1 to 9999.');
    if (cell('outcome') === 'not_reached') {
      this.#notReached++;
      return;
    }
    const right = this.#right(cell('score'), cell('max_score'));
    if (cell('item_hash') === '') this.#fault('item_hash', 'is empty. Export the file again.');
    if (cell('item_hash') !== known.hash) {
      this.#otherWording++;
      return;
    }
    if (++this.#read > maxAnswers)
      throw new AnswersFault(
        `The file has more than ${maxAnswers.toLocaleString('en-GB')} answers. Split it by month.`,
      );
    const labels = labelColumns.map((column) => this.#label(column, cell(column)));
    const row = { sitting, item: known.index, position, right, labels, line: this.#line };
    const rows = this.#rows.get(subject);
    if (rows === undefined) this.#rows.set(subject, [row]);
    else rows.push(row);
  }

  /** Marking has no partial credit, so an answer is right only with the full score. */
  #right(score: string, max: string): boolean {
    const isNumber = /^\d+(\.\d+)?$/;
    if (!isNumber.test(max) || Number(max) === 0) this.#fault('max_score', 'is not a number above 0.');
    if (!isNumber.test(score) || Number(score) > Number(max))
      this.#fault('score', 'is not a number from 0 to max_score.');
    return Number(score) === Number(max);
  }

  #label(column: (typeof labelColumns)[number], text: string): number {
    const texts = this.#texts[column]!;
    const code = texts.get(text) ?? texts.size;
    if (code === maxLabels) this.#fault(column, `has more than ${maxLabels} different values in the file.`);
    texts.set(text, code);
    return code;
  }

  /** @throws AnswersFault */
  end(): AnswersRead {
    if (this.#columns === null) throw new AnswersFault('The file is empty. Use a file of ars sittings export.');
    const answers = new Map([...this.#rows].map(([subject, rows]) => [subject, this.#answersOf(rows)]));
    return { answers, notReached: this.#notReached, otherWording: this.#otherWording };
  }

  #answersOf(rows: Row[]): Answers {
    const sittings = Map.groupBy(rows, ({ sitting }) => sitting);
    const starts = new Int32Array(sittings.size + 1);
    const ordered: Row[] = [];
    let n = 0;
    for (const own of sittings.values()) {
      own.sort((x, y) => x.position - y.position);
      const items = new Set<number>();
      own.forEach((row, k) => {
        this.#line = row.line;
        if (row.position === own[k - 1]?.position) this.#fault('position', 'is in this sitting twice.');
        if (items.has(row.item)) this.#fault('item', 'is in this sitting twice.');
        items.add(row.item);
        ordered.push(row);
      });
      starts[++n] = ordered.length;
    }
    const labels = labelColumns.map((column, k): [string, Labels] => [
      column,
      { texts: [...this.#texts[column]!.keys()], codes: Uint16Array.from(ordered, (row) => row.labels[k]!) },
    ]);
    return {
      starts,
      items: Int32Array.from(ordered, ({ item }) => item),
      rights: Uint8Array.from(ordered, ({ right }) => Number(right)),
      labels: Object.fromEntries(labels) as Answers['labels'],
    };
  }
}
