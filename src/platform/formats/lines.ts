import type { Readable } from 'node:stream';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';

/** The bytes of a line without its line feed; null if it is too long. A long line is never held in memory. */
export type ByteLine = Buffer | null;

const lineFeed = 10;

/** An uploaded file is one chunk and may contain only line feeds. */
const together = 1000;

/**
 * Splits at line feeds only, because other line ends may be part of a line. Yields up to 1000 lines of a chunk
 * together, because a wait for each line would double the time.
 */
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

/** Reads about `bytes` bytes ahead. `whole` is the complete input. */
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
