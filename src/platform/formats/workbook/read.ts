import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { limits } from '../../config/limits.ts';
import { UnreadableFile } from '../lines.ts';
import type { DateForm } from './cell-text.ts';
import type { Answered, Asked } from './thread.ts';

const beginsWith = (bytes: Buffer, ...signature: number[]) => signature.every((byte, i) => bytes[i] === byte);

/** Whether the bytes are a ZIP archive or an old workbook. */
const isWorkbook = (bytes: Buffer): boolean => beginsWith(bytes, 0x50, 0x4b, 3, 4) || isOld(bytes);
const isOld = (bytes: Buffer): boolean => beginsWith(bytes, 0xd0, 0xcf, 0x11, 0xe0);

/** `sheet`: the name of the sheet to read, needed if several sheets have rows. */
export type WorkbookOptions = { sheet?: string; form?: DateForm };

const reading = new Set<Promise<unknown>>();

/**
 * Returns an XLSX or ODS workbook as CSV in UTF-8, and any other file unchanged. Each row of the sheet is the line of
 * the same number. Formulas are never computed: their stored values are read.
 * @throws UnreadableFile with the sheet, the row and the column
 */
export async function workbookAsCsv(
  bytes: Buffer,
  { sheet = '', form = 'shown' }: WorkbookOptions = {},
): Promise<Buffer> {
  if (!isWorkbook(bytes)) return bytes;
  if (isOld(bytes))
    throw new UnreadableFile(
      'the workbook is an old one (.xls) or has a password: save it as XLSX, without a password',
    );
  while (reading.size >= limits.workbooksAtOnce) await Promise.race(reading);
  const read = inThread({ bytes: new Uint8Array(bytes), sheet, form });
  const ended: Promise<unknown> = read.then(
    () => reading.delete(ended),
    () => reading.delete(ended),
  );
  reading.add(ended);
  const answered = await read;
  if ('fault' in answered) throw new UnreadableFile(answered.fault);
  return Buffer.from(answered.csv.buffer, answered.csv.byteOffset, answered.csv.byteLength);
}

/** A thread reads the workbook, because unpacking and parsing would block the event loop. */
async function inThread(asked: Asked): Promise<Answered> {
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: asked,
    transferList: [asked.bytes.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: limits.workbookMemoryMb },
  });
  const signal = AbortSignal.timeout(limits.workbookMs);
  try {
    const [answered] = (await once(worker, 'message', { signal })) as [Answered];
    return answered;
  } catch (error) {
    const isTooMuch = signal.aborted || (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    if (!isTooMuch) throw error;
    return { fault: 'the workbook takes too long to read: save fewer rows, or save the sheet as “CSV UTF-8”' };
  } finally {
    await worker.terminate();
  }
}
