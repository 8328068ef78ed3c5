import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { limits } from '../../config/limits.ts';
import { UnreadableFile } from '../lines.ts';

/** A handler of XML. Names have no prefix, because programs choose different prefixes. */
export type Handler = {
  open(name: string, attribute: (name: string, prefix?: string) => string | undefined): void;
  text(text: string): void;
  close(name: string): void;
};

export const damaged = () =>
  new UnreadableFile('the workbook is damaged or has a password: save it again as XLSX or ODS, without a password');
const tooLarge = () =>
  new UnreadableFile(
    'the workbook is too large when it is unpacked: save fewer rows, or save the sheet as “CSV UTF-8”',
  );

export const unstoredFormula = () =>
  new UnreadableFile('the formula has no stored value: open the workbook, save it, and choose it again');

/** The parts of a workbook's ZIP archive, read as XML. All parts together share one limit of unpacked bytes. */
export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  #left = limits.workbookUnpackedBytes;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  /** @throws UnreadableFile */
  static async open(bytes: Buffer): Promise<Archive> {
    try {
      const zip = await yauzl.fromBufferPromise(bytes, { lazyEntries: true });
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) {
        // Two parts of one name could be read as two different workbooks.
        if (entries.has(entry.fileName) || entries.size === limits.workbookParts) throw damaged();
        entries.set(entry.fileName, entry);
      }
      return new Archive(zip, entries);
    } catch {
      throw damaged();
    }
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Unpacks and parses a part in pieces. A missing part has no content. @throws UnreadableFile */
  async read(name: string, handler: Handler): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    if (entry.isEncrypted() || entry.uncompressedSize > this.#left) throw entry.isEncrypted() ? damaged() : tooLarge();
    const parser = parserFor(handler);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    try {
      for await (const piece of await this.#zip.openReadStreamPromise(entry)) {
        this.#left -= (piece as Buffer).length;
        if (this.#left < 0) throw tooLarge();
        parser.write(decoder.decode(piece as Buffer, { stream: true }));
      }
      parser.write(decoder.decode()).close();
    } catch (error) {
      if (error instanceof UnreadableFile) throw error;
      throw damaged();
    }
  }
}

/** Document types are refused, so there are no entities to expand. Nothing outside the file is read. */
function parserFor(handler: Handler): SaxesParser<{ xmlns: true }> {
  const parser = new SaxesParser({ xmlns: true, position: false });
  parser.on('error', () => {
    throw damaged();
  });
  parser.on('doctype', () => {
    throw new UnreadableFile('the workbook declares a document type, which no spreadsheet program writes');
  });
  parser.on('opentag', ({ local, attributes }: SaxesTagNS) => {
    const named = (name: string, prefix?: string) => (one: SaxesAttributeNS) =>
      one.local === name && (prefix === undefined || one.uri.includes(`:${prefix}:`));
    handler.open(local, (name, prefix) => Object.values(attributes).find(named(name, prefix))?.value);
  });
  parser.on('text', (text) => handler.text(text));
  parser.on('cdata', (text) => handler.text(text));
  parser.on('closetag', ({ local }) => handler.close(local));
  return parser;
}
