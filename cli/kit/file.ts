import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { byteLines } from '../../src/platform/formats/lines.ts';
import { JsonFault, parseJson } from '../../src/platform/formats/json.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { Failure } from './command.ts';
import { terminal } from './terminal.ts';

/** Reads files that the command line names; `-` is standard input. */

function unreadable(file: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  if (code === 'ENOENT') return new Failure(`There is no file ${file}.`);
  return new Failure(`${file}${code === 'EISDIR' ? ' is a directory and' : ''} can't be read (${code}).`);
}

/** @throws Failure if the file is too large or can't be read */
export async function readWholeFile(file: string, maxBytes = limits.wholeFileBytes): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of file === '-' ? terminal().input : createReadStream(file)) {
      parts.push(part as Buffer);
      length += (part as Buffer).length;
      if (length > maxBytes) break;
    }
  } catch (error) {
    throw unreadable(file, error);
  }
  if (length > maxBytes) throw new Failure(`${file} is too large: at most ${maxBytes / 2 ** 20} MiB are read.`);
  return Buffer.concat(parts);
}

/** @throws Failure if the file is not in UTF-8, because its accents and pound signs would be replaced */
export async function readTextFile(file: string): Promise<string> {
  const bytes = await readWholeFile(file);
  if (!isUtf8(bytes)) throw new Failure(`${file} is not text in UTF-8: save it as “CSV UTF-8”, or convert it.`);
  return bytes.toString().replace(/^\uFEFF/, '');
}

/** @throws Failure if the file can't be read or is not JSON */
export async function readJsonFile(file: string): Promise<unknown> {
  try {
    return parseJson(await readTextFile(file));
  } catch (error) {
    if (error instanceof JsonFault) throw new Failure(`${file} ${error.message}.`);
    throw error;
  }
}

/** @throws Failure if the file can't be read */
export async function* fileLines(file: string, maxBytes: number): AsyncGenerator<string> {
  const source = file === '-' ? terminal().input : createReadStream(file);
  try {
    for await (const together of byteLines(source as AsyncIterable<Buffer>, maxBytes))
      for (const line of together) {
        if (line === null) throw new Failure(`${file} has a line of more than ${maxBytes} bytes`);
        yield line.toString('utf8');
      }
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(file, error);
  }
}
