import { parentPort, workerData } from 'node:worker_threads';
import { UnreadableFile } from '../lines.ts';
import { Archive, damaged } from './archive.ts';
import type { DateForm } from './cell-text.ts';
import { readOds } from './ods.ts';
import { SheetOutput } from './output.ts';
import { readXlsx } from './xlsx.ts';

/** The input and the answer of the thread that reads a workbook. `fault`: why the workbook cannot be read. */
export type Asked = { bytes: Uint8Array; sheet: string; form: DateForm };
export type Answered = { csv: Uint8Array; sheet: string } | { fault: string };

async function read({ bytes, sheet, form }: Asked): Promise<Answered> {
  try {
    const archive = await Archive.open(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const output = new SheetOutput(sheet);
    if (archive.has('[Content_Types].xml')) await readXlsx(archive, output, form);
    else if (archive.has('content.xml')) await readOds(archive, output, form);
    else throw damaged();
    const { csv, sheet: name } = output.result();
    return { csv: new TextEncoder().encode(csv), sheet: name };
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { fault: error.message };
  }
}

const answered = await read(workerData as Asked);
parentPort!.postMessage(answered, 'csv' in answered ? [answered.csv.buffer as ArrayBuffer] : []);
