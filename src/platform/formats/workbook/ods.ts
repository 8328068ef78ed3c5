import { type Archive, type Handler, unstoredFormula } from './archive.ts';
import { type DateForm, isoText, percentText, plainNumber } from './cell-text.ts';
import type { SheetOutput } from './output.ts';

/** Reads an OpenDocument spreadsheet (ISO/IEC 26300). Comments, deleted content and drawings are left out. */

const leftOut = new Set(['tracked-changes', 'annotation', 'forms', 'dde-links', 'frame', 'shapes', 'ruby-text']);

type Cell = {
  kind: string;
  value: string;
  moment: string;
  isTrue: string;
  hasFormula: boolean;
  text: string;
  repeat: number;
};

/** Numbers are read as shown if the shown text only pads them, such as 00042. Otherwise the stored value is read. */
function numberShown(value: number, shown: string): string {
  const isPadded = Number.isSafeInteger(value) && value >= 0 && !/[.,]|E[+-]?\d/i.test(shown);
  const digits = shown.replace(/\D/g, '');
  return isPadded && digits !== '' && Number(digits) === value ? shown : plainNumber(value);
}

function valueOf({ kind, value, moment, isTrue, hasFormula, text }: Cell, form: DateForm): string {
  if (hasFormula && kind === '' && text === '') throw unstoredFormula();
  if (kind === 'date') {
    return isoText(moment, form) ?? text;
  }
  if (kind === 'boolean') return isTrue === 'true' ? 'TRUE' : 'FALSE';
  if (kind === 'percentage') return percentText(Number(value));
  const isNumber = (kind === 'float' || kind === 'currency') && value !== '' && Number.isFinite(Number(value));
  return isNumber ? numberShown(Number(value), text) : text;
}

type Attribute = Parameters<Handler['open']>[1];

const timesOf = (text: string | undefined): number => Math.max(1, Math.trunc(Number(text ?? 1)) || 1);

/** Collects the text of a cell: its paragraphs, with spaces, tabs and line breaks. */
function paragraphs() {
  let text = '';
  let isInside = false;
  return {
    open(name: string, attribute: Attribute) {
      if (name === 'p') {
        if (text !== '') text += '\n';
        isInside = true;
      } else if (!isInside) return;
      else if (name === 's') text += ' '.repeat(Math.min(100, timesOf(attribute('c'))));
      else if (name === 'tab') text += '\t';
      else if (name === 'line-break') text += '\n';
    },
    text(more: string) {
      if (isInside) text += more;
    },
    close(name: string) {
      if (name === 'p') isInside = false;
    },
    take(): string {
      const taken = text;
      text = '';
      return taken;
    },
  };
}

function openCell(attribute: Attribute): Cell {
  return {
    kind: attribute('value-type', 'office') ?? '',
    value: attribute('value', 'office') ?? '',
    moment: attribute('date-value', 'office') ?? '',
    isTrue: attribute('boolean-value', 'office') ?? '',
    hasFormula: attribute('formula') !== undefined,
    text: '',
    repeat: timesOf(attribute('number-columns-repeated')),
  };
}

/** Collects the cells of a row. Rows and cells can be repeated. */
function rowCollector(output: SheetOutput, form: DateForm) {
  let row = 0;
  let times = 1;
  let column = 0;
  let cells: { column: number; read: Cell }[] = [];
  return {
    sheet() {
      row = 0;
    },
    open(repeat: number) {
      times = repeat;
      column = 0;
    },
    cell(read: Cell) {
      // Empty cells are often repeated to the last column of the sheet.
      if (read.text !== '' || read.kind !== '' || read.hasFormula)
        for (let i = 0; i < Math.min(read.repeat, 1000); i++) cells.push({ column: column + i, read });
      column += read.repeat;
    },
    close() {
      for (let i = 0; i < times && cells.length > 0; i++) {
        output.row(row + 1 + i);
        for (const one of cells) output.cell(one.column, () => valueOf(one.read, form));
      }
      row += times;
      cells = [];
    },
  };
}

const isCell = (name: string) => name === 'table-cell' || name === 'covered-table-cell';

function contentHandler(output: SheetOutput, form: DateForm): Handler {
  const hidden = new Set<string>();
  const rows = rowCollector(output, form);
  const collector = paragraphs();
  let style = '';
  let ignored = 0;
  let isWanted = false;
  let cell: Cell | null = null;
  return {
    open(name, attribute) {
      if (leftOut.has(name)) ignored++;
      if (ignored > 0) return;
      if (name === 'style') style = attribute('name') ?? '';
      else if (name === 'table-properties' && attribute('display') === 'false') hidden.add(style);
      else if (name === 'table') {
        isWanted = !hidden.has(attribute('style-name') ?? '') && output.sheet(attribute('name') ?? '');
        rows.sheet();
      } else if (isWanted && name === 'table-row') rows.open(timesOf(attribute('number-rows-repeated')));
      else if (isWanted && isCell(name)) cell = openCell(attribute);
      else if (cell !== null) collector.open(name, attribute);
    },
    text(text) {
      if (ignored === 0 && cell !== null) collector.text(text);
    },
    close(name) {
      if (leftOut.has(name)) ignored--;
      if (ignored > 0 || !isWanted) return;
      collector.close(name);
      if (isCell(name) && cell !== null) {
        rows.cell({ ...cell, text: collector.take() });
        cell = null;
      } else if (name === 'table-row') rows.close();
      else if (name === 'table') isWanted = false;
    },
  };
}

/** @throws UnreadableFile */
export async function readOds(archive: Archive, output: SheetOutput, form: DateForm): Promise<void> {
  await archive.read('content.xml', contentHandler(output, form));
  output.end();
}
