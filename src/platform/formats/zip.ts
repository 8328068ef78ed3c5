import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import { Zip, type ZipInputFile } from 'fflate';

/** Writes ZIP archives in parts. Sizes and checksums follow the content of each file, so memory use stays constant. */

/** The archive must not show when it was made, so its files have the earliest date that ZIP allows. */
const mtime = new Date(1980, 0, 1);
const deflated = 8;
const maxBytes = 0xffffffff;

/** Compresses with zlib, which uses the thread pool. fflate would block the event loop. */
async function* compressed(
  text: string | AsyncIterable<string>,
  entry: ZipInputFile,
): AsyncGenerator<Buffer<ArrayBuffer>> {
  async function* bytes() {
    for await (const part of typeof text === 'string' ? [text] : text) {
      const buffer = Buffer.from(part);
      entry.crc = crc32(buffer, entry.crc);
      entry.size += buffer.length;
      yield buffer;
    }
  }
  const deflate = createDeflateRaw({ level: 4, chunkSize: 64 * 1024 });
  // With `pipeline`, the source also ends if its reader stops, and the reader fails if the source fails.
  pipeline(Readable.from(bytes(), { objectMode: true, highWaterMark: 1 }), deflate, () => {});
  for await (const part of deflate) yield part as Buffer<ArrayBuffer>;
}

/** Each text must be smaller than 4 GiB. */
export async function* zip(contents: [name: string, text: string | AsyncIterable<string>][]): AsyncGenerator<Buffer> {
  const ready: Buffer[] = [];
  const archive = new Zip((error, part) => {
    if (error !== null) throw error;
    ready.push(Buffer.from(part.buffer, part.byteOffset, part.byteLength));
  });
  let written = 0;
  for (const [filename, text] of contents) {
    const entry: ZipInputFile = { filename, size: 0, crc: 0, compression: deflated, mtime };
    archive.add(entry);
    for await (const part of compressed(text, entry)) {
      entry.ondata!(null, part, false);
      written += part.length;
      yield* ready.splice(0);
    }
    if (Math.max(entry.size, written) > maxBytes) throw new RangeError('an archive has no room for more than 4 GiB');
    entry.ondata!(null, new Uint8Array(), true);
    yield* ready.splice(0);
  }
  archive.end();
  yield* ready.splice(0);
}
