import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';

/** Archives (PKWARE's APPNOTE) written part by part: sizes and checksums follow each content, so nothing is held. */

/** 1980-01-01, the first day that an archive can name: the file says nothing of when it was made. */
const firstDay = (1 << 5) | 1;
/** Sizes follow the content; names are UTF-8. */
const flags = 0x0808;
const deflated = 8;
/** The version that a reader needs: 2.0. */
const version = 20;

type Entry = { name: Buffer; at: number; crc: number; packed: number; size: number };

function record(parts: [bytes: 2 | 4, value: number][], ...more: Buffer[]): Buffer {
  const head = Buffer.alloc(parts.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of parts) at = head.writeUIntLE(value, at, bytes);
  return Buffer.concat([head, ...more]);
}

const described = ({ crc, packed, size }: Entry): [2 | 4, number][] => [
  [4, crc],
  [4, packed],
  [4, size],
];

/** How long and where: the same in both headers of an entry. */
const common = (entry: Entry): [2 | 4, number][] => [
  [2, version],
  [2, flags],
  [2, deflated],
  [2, 0],
  [2, firstDay],
  ...described(entry),
  [2, entry.name.length],
  [2, 0],
];

/** Compresses text as it comes, in the thread pool. What fails in the text fails here. */
async function* compressed(text: string | AsyncIterable<string>, entry: Entry): AsyncGenerator<Buffer> {
  async function* bytes() {
    for await (const part of typeof text === 'string' ? [text] : text) {
      const buffer = Buffer.from(part);
      entry.crc = crc32(buffer, entry.crc);
      entry.size += buffer.length;
      yield buffer;
    }
  }
  const deflate = createDeflateRaw({ level: 4, chunkSize: 64 * 1024 });
  // Whoever stops reading ends the source as well, and a source that fails ends the reading.
  pipeline(Readable.from(bytes(), { objectMode: true, highWaterMark: 1 }), deflate, () => {});
  for await (const part of deflate) {
    entry.packed += (part as Buffer).length;
    yield part as Buffer;
  }
}

/** An archive of texts. None of them may have 4 GiB or more. */
export async function* zip(contents: [name: string, text: string | AsyncIterable<string>][]): AsyncGenerator<Buffer> {
  const entries: Entry[] = [];
  let at = 0;
  for (const [name, text] of contents) {
    const entry: Entry = { name: Buffer.from(name), at, crc: 0, packed: 0, size: 0 };
    entries.push(entry);
    const head = record([[4, 0x04034b50], ...common(entry)], entry.name);
    yield head;
    at += head.length;
    for await (const part of compressed(text, entry)) {
      at += part.length;
      yield part;
    }
    if (Math.max(entry.size, at) > 0xffffffff) throw new RangeError('an archive has no room for more than 4 GiB');
    const tail = record([[4, 0x08074b50], ...described(entry)]);
    yield tail;
    at += tail.length;
  }
  const directory = entries.map((entry) =>
    record(
      [[4, 0x02014b50], [2, version], ...common(entry), [2, 0], [2, 0], [2, 0], [4, 0], [4, entry.at]],
      entry.name,
    ),
  );
  const length = directory.reduce((sum, one) => sum + one.length, 0);
  yield Buffer.concat([
    ...directory,
    record([
      [4, 0x06054b50],
      [2, 0],
      [2, 0],
      [2, entries.length],
      [2, entries.length],
      [4, length],
      [4, at],
      [2, 0],
    ]),
  ]);
}
