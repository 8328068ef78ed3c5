import { posix } from 'node:path';
import { type Archive, damaged, type Handler, unstoredFormula } from './archive.ts';
import { type DateForm, formatOf, isoText, numberText } from './cell-text.ts';
import type { SheetOutput } from './output.ts';

/** Reads an XLSX workbook (ECMA-376). External links, macros and drawings are never opened. */

const ignore = { open: () => {}, text: () => {}, close: () => {} };

type Sheet = { name: string; part: string };
type Book = { sheets: Sheet[]; is1904: boolean; texts: string[]; formats: string[]; form: DateForm };

/** The parts to which a part refers, by ID and by the last word of their type. */
async function relationsOf(archive: Archive, part: string) {
  const byId = new Map<string, string>();
  const byType = new Map<string, string>();
  const folder = posix.dirname(part);
  await archive.read(posix.join(folder, '_rels', `${posix.basename(part)}.rels`), {
    ...ignore,
    open(name, attribute) {
      if (name !== 'Relationship' || attribute('TargetMode') === 'External') return;
      const target = posix.resolve('/', folder, attribute('Target') ?? '').slice(1);
      byId.set(attribute('Id') ?? '', target);
      byType.set((attribute('Type') ?? '').split('/').at(-1)!, target);
    },
  });
  return { byId, byType };
}

async function openBook(archive: Archive, form: DateForm): Promise<Book> {
  const bookPart = (await relationsOf(archive, '')).byType.get('officeDocument') ?? 'xl/workbook.xml';
  const { byId, byType } = await relationsOf(archive, bookPart);
  const book: Book = { sheets: [], is1904: false, texts: [], formats: [], form };
  await archive.read(bookPart, {
    ...ignore,
    open(name, attribute) {
      if (name === 'workbookPr') book.is1904 = /^(?:1|true)$/.test(attribute('date1904') ?? '');
      const isHidden = /hidden/i.test(attribute('state') ?? '');
      const part = name === 'sheet' && !isHidden ? byId.get(attribute('id') ?? '') : undefined;
      if (part !== undefined) book.sheets.push({ name: attribute('name') ?? '', part });
    },
  });
  book.formats = await readFormats(archive, byType.get('styles') ?? '');
  book.texts = await readTexts(archive, byType.get('sharedStrings') ?? '');
  return book;
}

async function readFormats(archive: Archive, part: string): Promise<string[]> {
  const custom = new Map<number, string>();
  const ids: number[] = [];
  let isInside = false;
  await archive.read(part, {
    ...ignore,
    open(name, attribute) {
      if (name === 'numFmt') custom.set(Number(attribute('numFmtId')), (attribute('formatCode') ?? '').slice(0, 255));
      if (name === 'cellXfs') isInside = true;
      if (name === 'xf' && isInside) ids.push(Number(attribute('numFmtId') ?? 0));
    },
    close(name) {
      if (name === 'cellXfs') isInside = false;
    },
  });
  return ids.map((id) => formatOf(id, custom));
}

/** Collects the text of `t` elements. Phonetic guides (`rPh`) are not part of the text. */
function textCollector() {
  let text = '';
  let isText = false;
  let isPhonetic = false;
  return {
    open(name: string) {
      if (name === 'rPh') isPhonetic = true;
      if (name === 't') isText = !isPhonetic;
    },
    text(more: string) {
      if (isText) text += more;
    },
    close(name: string) {
      if (name === 'rPh') isPhonetic = false;
      if (name === 't') isText = false;
    },
    take(): string {
      const taken = text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
      text = '';
      return taken;
    },
  };
}

async function readTexts(archive: Archive, part: string): Promise<string[]> {
  const texts: string[] = [];
  const collector = textCollector();
  await archive.read(part, {
    open: collector.open,
    text: collector.text,
    close(name) {
      collector.close(name);
      if (name === 'si') texts.push(collector.take());
    },
  });
  return texts;
}

type Cell = { type: string; format: string; hasFormula: boolean; value: string | null };

function valueOf({ type, format, hasFormula, value }: Cell, inline: string, book: Book): string {
  if (type === 'inlineStr') return inline;
  if (value === null) {
    if (hasFormula) throw unstoredFormula();
    return '';
  }
  if (type === 's') {
    const text = book.texts[Number(value)];
    if (text === undefined) throw damaged();
    return text;
  }
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  if (type === 'd') return isoText(value, book.form) ?? value;
  const number = Number(value);
  if (type !== 'n' || value === '' || Number.isNaN(number)) return value;
  return numberText(number, format, book.is1904, book.form);
}

function columnOf(ref: string): number {
  const [, letters] = /^([A-Z]{1,3})\d+$/.exec(ref) ?? [];
  if (letters === undefined) throw damaged();
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function sheetHandler(book: Book, output: SheetOutput): Handler {
  const inline = textCollector();
  let row = 0;
  let column = -1;
  let cell: Cell | null = null;
  let isValue = false;
  return {
    open(name, attribute) {
      inline.open(name);
      if (name === 'row') {
        row = Number(attribute('r') ?? row + 1);
        column = -1;
        output.row(row);
      } else if (name === 'c') {
        const ref = attribute('r');
        column = ref === undefined ? column + 1 : columnOf(ref);
        const format = book.formats[Number(attribute('s') ?? 0)] ?? 'General';
        cell = { type: attribute('t') ?? 'n', format, hasFormula: false, value: null };
      } else if (cell !== null && name === 'f') cell.hasFormula = true;
      else if (cell !== null && name === 'v') {
        cell.value = '';
        isValue = true;
      }
    },
    text(text) {
      inline.text(text);
      if (isValue) cell!.value += text;
    },
    close(name) {
      inline.close(name);
      if (name === 'v') isValue = false;
      if (name !== 'c' || cell === null) return;
      const read = cell;
      cell = null;
      output.cell(column, () => valueOf(read, inline.take(), book));
    },
  };
}

/** @throws UnreadableFile */
export async function readXlsx(archive: Archive, output: SheetOutput, form: DateForm): Promise<void> {
  const book = await openBook(archive, form);
  for (const { name, part } of book.sheets)
    if (output.sheet(name)) {
      if (!archive.has(part)) throw damaged();
      await archive.read(part, sheetHandler(book, output));
    }
  output.end();
}
