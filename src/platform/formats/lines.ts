import type { Readable } from 'node:stream';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { isAscii, isUtf8 } from 'node:buffer';

/** The bytes of a line without its line feed; null if the line is too long. A long line is never held in memory. */
export type ByteLine = Buffer | null;

const lineFeed = 10;

/** Limits the length of a yielded array, because an uploaded file is one chunk and may contain only line feeds. */
const together = 1000;

/** Splits at line feeds only. Yields arrays of lines, because awaiting each line would double the time. */
export async function* byteLines(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<ByteLine[]> {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer) => {
    length += part.length;
    if (length > maxBytes) parts = [];
    else parts.push(part);
  };
  const line = (): ByteLine => {
    const whole = length > maxBytes ? null : parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    parts = [];
    length = 0;
    return whole;
  };
  for await (const chunk of input) {
    let start = 0;
    let lines: ByteLine[] = [];
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      add(chunk.subarray(start, end));
      lines.push(line());
      start = end + 1;
      if (lines.length === together) {
        yield lines;
        lines = [];
        await turnOfTheLoop();
      }
    }
    add(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  yield [line()];
}

/** Reads about `bytes` bytes ahead. `whole` yields the complete input, including these bytes. */
export async function peek(input: Readable, bytes: number): Promise<{ head: Buffer; whole: AsyncIterable<Buffer> }> {
  const chunks = input[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first: Buffer[] = [];
  let length = 0;
  while (length < bytes) {
    const { done, value } = await chunks.next();
    if (done === true) break;
    first.push(value);
    length += value.length;
  }
  async function* whole() {
    try {
      yield* first;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
    } finally {
      await chunks.return?.();
    }
  }
  return { head: Buffer.concat(first), whole: whole() };
}

export type Encoding = 'utf-8' | 'windows-1252';

/** The message is one sentence for the person who provided the file. */
export class UnreadableFile extends Error {}

const mark = Buffer.from('\uFEFF');

/** Decoders write this character for bytes that they cannot read, so a name with it is damaged. */
export const lost = '\uFFFD';

/**
 * Recognises the encoding by a file's first bytes; null if all bytes are ASCII. One valid UTF-8 line that is not ASCII
 * decides, because text in another encoding is hardly ever valid UTF-8.
 * @throws UnreadableFile for UTF-16
 */
export function recogniseEncoding(head: Buffer): { encoding: Encoding | null; markBytes: number } {
  if (head.subarray(0, mark.length).equals(mark)) return { encoding: 'utf-8', markBytes: mark.length };
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff) || head.includes(0))
    throw new UnreadableFile('the file is not text in UTF-8, but UTF-16 or no text at all: save it as “CSV UTF-8”');
  if (isAscii(head)) return { encoding: null, markBytes: 0 };
  let encoding: Encoding | null = null;
  for (let at = beyondAscii(head, 0); at < head.length;) {
    const end = head.indexOf(10, at);
    // `head` may end inside a character, so the last 4 bytes of an incomplete line are ignored.
    const line = head.subarray(head.lastIndexOf(10, at) + 1, end < 0 ? head.length - 4 : end);
    at = end < 0 ? head.length : beyondAscii(head, end);
    if (isAscii(line)) continue;
    if (isUtf8(line)) return { encoding: 'utf-8', markBytes: 0 };
    if (end >= 0) encoding = 'windows-1252';
  }
  return { encoding, markBytes: 0 };
}

function beyondAscii(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at]! < 128) at++;
  return at;
}

const windows1252 = new TextDecoder('windows-1252');

/** Decodes lines in the known encoding. If no encoding is known, the first line that is not ASCII decides. */
export function lineDecoder(known: Encoding | null) {
  let encoding = known;
  return {
    encoding: (): Encoding => encoding ?? 'utf-8',
    /** `damaged`: the line has another encoding than the file, or has lost characters. */
    decode(line: Buffer): { text: string; damaged: boolean } {
      if (isAscii(line)) return { text: line.toString('latin1'), damaged: false };
      const utf8 = isUtf8(line);
      encoding ??= utf8 ? 'utf-8' : 'windows-1252';
      if (utf8 || encoding === 'utf-8') {
        const text = line.toString();
        return { text, damaged: encoding !== 'utf-8' || text.includes(lost) };
      }
      const text = windows1252.decode(line);
      // Five bytes have no character in Windows-1252, so they decode to control characters.
      return { text, damaged: /[\u0080-\u009f]/.test(text) };
    },
  };
}

const bytesOf1252 = new Map(
  Array.from({ length: 128 }, (_, i) => [windows1252.decode(Buffer.from([128 + i])), 128 + i]),
);

/** Encodes text. A character that Windows-1252 lacks becomes a question mark. */
export function encode(text: string, encoding: Encoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  return Buffer.from(
    Array.from(text, (one) => (one.codePointAt(0)! < 128 ? one.charCodeAt(0) : (bytesOf1252.get(one) ?? 63))),
  );
}
