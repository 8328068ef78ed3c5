import type { SheetColumn, SheetValue } from '../../../src/platform/formats/xlsx.ts';
import { workbook } from '../../../src/platform/formats/xlsx.ts';

export const columns: SheetColumn[] = [
  { head: 'Name', width: 20, kind: 'text' },
  { head: 'When', width: 18, kind: 'moment' },
  { head: 'Share', width: 8, kind: 'share' },
  { head: 'Count', width: 8, kind: 'number' },
];

export async function bytesOf(rows: SheetValue[][], name = 'Results'): Promise<Buffer> {
  async function* some() {
    for (let at = 0; at < rows.length; at += 2) yield rows.slice(at, at + 2);
  }
  const parts: Buffer[] = [];
  for await (const part of workbook(name, columns, some())) parts.push(part);
  return Buffer.concat(parts);
}

/** Texts that a spreadsheet may run, or may not show as they are. */
export const hostile = [
  '=HYPERLINK("http://evil.example","x")',
  '+1+1',
  '-2+3',
  '@SUM(A1)',
  '\t=1+1',
  '\r=1+1',
  "=cmd|' /C calc'!A0",
  '<script>&amp;"\'',
  ']]>',
  '_x0041_ and _x000D_',
  'Ångström 🙂 שלום',
];
