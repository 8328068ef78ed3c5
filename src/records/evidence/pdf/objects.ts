import { createHash } from 'node:crypto';
import { zlibSync } from 'fflate';

/** The number of an indirect object. */
export type Ref = number;

export const refTo = (ref: Ref): string => `${ref} 0 R`;

/** A number with at most three decimals, no exponent and no "-0". Rounding hides floating-point errors. */
export function pdfNumber(value: number): string {
  const rounded = Math.round(value * 1000) / 1000;
  return rounded === 0 ? '0' : String(rounded);
}

/** A text string as hexadecimal UTF-16BE with a byte-order mark, so that nothing needs escaping. */
export function pdfText(text: string): string {
  return `<FEFF${utf16Hex(text)}>`;
}

export function utf16Hex(text: string): string {
  let hex = '';
  for (let i = 0; i < text.length; i++) hex += text.charCodeAt(i).toString(16).toUpperCase().padStart(4, '0');
  return hex;
}

export function pdfAscii(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new RangeError('a PDF literal string must be printable ASCII');
  return `(${text.replace(/[\\()]/g, '\\$&')})`;
}

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

/**
 * The objects of one PDF 1.4 file, in the order of their numbers. Different builds of zlib give different bytes, so
 * streams are deflated in JavaScript.
 */
export class PdfFile {
  readonly #bodies: (Uint8Array | undefined)[] = [];

  allocate(): Ref {
    this.#bodies.push(undefined);
    return this.#bodies.length;
  }

  set(ref: Ref, body: string): void {
    this.#fill(ref, latin1(body));
  }

  add(body: string): Ref {
    const ref = this.allocate();
    this.set(ref, body);
    return ref;
  }

  /** `entries`: the content of the stream's dictionary, without the length. */
  setStream(ref: Ref, entries: string, data: Uint8Array, compress = true): void {
    // Deflating would make very short data longer.
    const deflate = compress && data.length > 64;
    // The default of `mem` comes from a logarithm, which platforms may round differently. So `mem` is fixed.
    const payload = deflate ? zlibSync(data, { level: 6, mem: 2 }) : data;
    const filter = deflate ? '/Filter/FlateDecode' : '';
    this.#fill(
      ref,
      Buffer.concat([
        latin1(`<<${entries}${filter}/Length ${payload.length}>>\nstream\n`),
        payload,
        latin1('\nendstream'),
      ]),
    );
  }

  addStream(entries: string, data: Uint8Array, compress = true): Ref {
    const ref = this.allocate();
    this.setStream(ref, entries, data, compress);
    return ref;
  }

  /**
   * The bytes of the file. The file's identifier is a hash of its content, so the same content gives the same bytes.
   */
  toBytes(root: Ref, info: Ref): Buffer {
    // Four bytes above 127 mark the file as binary.
    const parts: Uint8Array[] = [latin1('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n')];
    let offset = parts[0]!.length;
    const digest = createHash('sha256');
    const entries: string[] = ['0000000000 65535 f \n'];
    this.#bodies.forEach((body, index) => {
      if (body === undefined) throw new Error(`PDF object ${index + 1} was allocated and never filled`);
      entries.push(`${String(offset).padStart(10, '0')} 00000 n \n`);
      const head = latin1(`${index + 1} 0 obj\n`);
      const tail = latin1('\nendobj\n');
      parts.push(head, body, tail);
      digest.update(body);
      offset += head.length + body.length + tail.length;
    });
    const id = digest.digest('hex').slice(0, 32).toUpperCase();
    parts.push(
      latin1(
        `xref\n0 ${entries.length}\n${entries.join('')}` +
          `trailer\n<</Size ${entries.length}/Root ${refTo(root)}/Info ${refTo(info)}/ID[<${id}><${id}>]>>\n` +
          `startxref\n${offset}\n%%EOF\n`,
      ),
    );
    return Buffer.concat(parts);
  }

  #fill(ref: Ref, body: Uint8Array): void {
    if (this.#bodies[ref - 1] !== undefined) throw new Error(`PDF object ${ref} was filled twice`);
    this.#bodies[ref - 1] = body;
  }
}
