import { limits } from '../config/limits.ts';
import { zip } from './zip.ts';

/**
 * Writes a workbook of one sheet (ECMA-376) row by row, so that memory use stays constant. Text cells have the text
 * format, so that spreadsheets do not read them as formulas.
 */

/** `moment`: milliseconds since 1970 in the reader's time zone. */
export type SheetColumn = { head: string; width: number; kind: 'text' | 'number' | 'share' | 'moment' };

export type SheetValue = string | number | null;

/** Indexes of formats in styles.xml. */
const formats = { head: 1, text: 2, share: 3, moment: 4, number: 0 } as const;

const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packaged = 'http://schemas.openxmlformats.org/package/2006';
const parts = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

const styles = `${declaration}<styleSheet xmlns="${main}"><numFmts count="1"><numFmt numFmtId="164" formatCode="dd/mm/yyyy\\ hh:mm"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="10" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

/** XML 1.0 does not allow these characters, so U+FFFD replaces them. */
const impossible = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;
const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;' };

export function sheetText(text: string): string {
  let shown = text;
  if (shown.length > limits.sheetCellChars) shown = `${shown.slice(0, limits.sheetCellChars - 1)}…`;
  // Spreadsheet programs read _x0041_ as an A, so the underscore itself is escaped.
  return shown
    .toWellFormed()
    .replace(impossible, '\ufffd')
    .replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
    .replace(/[&<>"\r]/g, (one) => entities[one]!);
}

function columnName(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : columnName(Math.floor(index / 26) - 1) + last;
}

const dayMs = 86_400_000;
/** 1970-01-01 in days since the epoch of spreadsheets. */
const epochDays = 25_569;

const textCell = (at: string, format: number, text: string) =>
  `<c r="${at}" s="${format}" t="inlineStr"><is><t xml:space="preserve">${sheetText(text)}</t></is></c>`;

function cell(at: string, kind: SheetColumn['kind'], value: SheetValue): string {
  if (value === null || value === '') return '';
  if (typeof value === 'string' || kind === 'text') return textCell(at, formats.text, String(value));
  if (!Number.isFinite(value)) return '';
  return `<c r="${at}" s="${formats[kind]}"><v>${kind === 'moment' ? value / dayMs + epochDays : value}</v></c>`;
}

async function* sheet(columns: readonly SheetColumn[], rows: AsyncIterable<readonly SheetValue[][]>) {
  const at = columns.map((_, i) => columnName(i));
  yield `${declaration}<worksheet xmlns="${main}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>${columns
    .map(({ width }, i) => `<col min="${i + 1}" max="${i + 1}" width="${width}" customWidth="1"/>`)
    .join('')}</cols><sheetData><row r="1">${columns
    .map(({ head }, i) => textCell(`${at[i]}1`, formats.head, head))
    .join('')}</row>`;
  let row = 1;
  for await (const some of rows) {
    if (row + some.length > limits.sheetRows) throw new RangeError('a sheet has no more rows');
    let xml = '';
    for (const values of some) {
      row++;
      xml += `<row r="${row}">`;
      for (let i = 0; i < columns.length; i++) xml += cell(`${at[i]}${row}`, columns[i]!.kind, values[i] ?? null);
      xml += '</row>';
    }
    yield xml;
  }
  yield '</sheetData></worksheet>';
}

/** @throws RangeError if there are more rows than a sheet can have */
export async function* workbook(
  name: string,
  columns: readonly SheetColumn[],
  rows: AsyncIterable<readonly SheetValue[][]>,
): AsyncGenerator<Buffer> {
  yield* zip([
    [
      '[Content_Types].xml',
      `${declaration}<Types xmlns="${packaged}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${parts}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${parts}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${parts}.styles+xml"/></Types>`,
    ],
    [
      '_rels/.rels',
      `${declaration}<Relationships xmlns="${packaged}/relationships"><Relationship Id="rId1" Type="${relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    ],
    [
      'xl/workbook.xml',
      `${declaration}<workbook xmlns="${main}" xmlns:r="${relations}"><sheets><sheet name="${sheetName(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    ],
    [
      'xl/_rels/workbook.xml.rels',
      `${declaration}<Relationships xmlns="${packaged}/relationships"><Relationship Id="rId1" Type="${relations}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${relations}/styles" Target="styles.xml"/></Relationships>`,
    ],
    ['xl/styles.xml', styles],
    ['xl/worksheets/sheet1.xml', sheet(columns, rows)],
  ]);
}

/** A sheet's name has at most 31 characters, and no characters that cell references use. */
const sheetName = (name: string) => sheetText(name.replace(/[[\]:*?/\\']/g, ' ').slice(0, 31));
