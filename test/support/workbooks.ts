import { strToU8, zipSync } from 'fflate';
import { workbook } from '../../src/platform/formats/xlsx.ts';

/** Workbooks for tests, made part by part, so that hostile parts can be written too. */

const relations = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

export type Parts = Record<string, string>;

export const zipped = (parts: Parts): Buffer =>
  Buffer.from(zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)]))));

export const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** The rows of a sheet as XML, with inline texts. */
export const rowsXml = (rows: readonly (readonly string[])[]): string =>
  rows
    .map(
      (cells) => `<row>${cells.map((cell) => `<c t="inlineStr"><is><t>${escaped(cell)}</t></is></c>`).join('')}</row>`,
    )
    .join('');

/** @param sheets the XML of each sheet's rows, by name */
export function xlsxParts(sheets: Record<string, string>): Parts {
  const names = Object.keys(sheets);
  return {
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${relations}"><sheets>${names.map((name, i) => `<sheet name="${escaped(name)}" sheetId="${i + 1}" r:id="r${i}"/>`).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${names.map((_, i) => `<Relationship Id="r${i}" Type="${relations}/worksheet" Target="worksheets/sheet${i}.xml"/>`).join('')}</Relationships>`,
    ...Object.fromEntries(
      names.map((name, i) => [
        `xl/worksheets/sheet${i}.xml`,
        `<worksheet xmlns="${main}"><sheetData>${sheets[name]!}</sheetData></worksheet>`,
      ]),
    ),
  };
}

export const xlsx = (rows: readonly (readonly string[])[]): Buffer => zipped(xlsxParts({ Learners: rowsXml(rows) }));

/** A workbook as the service writes it, for many rows. */
export async function largeXlsx(head: readonly string[], rows: number, row: (n: number) => string[]): Promise<Buffer> {
  async function* some() {
    for (let n = 0; n < rows; n += 500) yield Array.from({ length: Math.min(500, rows - n) }, (_, i) => row(n + i));
  }
  const columns = head.map((one) => ({ head: one, width: 10, kind: 'text' as const }));
  const parts: Buffer[] = [];
  for await (const part of workbook('Learners', columns, some())) parts.push(part);
  return Buffer.concat(parts);
}

export const odsParts = (rows: string): Parts => ({
  mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
  'content.xml': `<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet><table:table table:name="Learners">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`,
});
