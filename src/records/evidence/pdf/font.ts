import type { Face } from './faces.ts';
import type { Glyph } from './shaping.ts';
import { type PdfFile, type Ref, pdfNumber, refTo, utf16Hex } from './objects.ts';
import { subsetTrueType } from './truetype.ts';

/**
 * The part of a face that one document uses. Each pair of glyph and text gets a character identifier in the order of
 * first use, so the bytes depend on this document alone.
 */
export class SubsetFont {
  readonly face: Face;
  readonly ref: Ref;
  readonly #file: PdfFile;
  readonly #index: number;
  readonly #cids = new Map<string, string>();
  readonly #gids: number[] = [0];
  readonly #texts: string[] = [''];

  constructor(file: PdfFile, face: Face, index: number) {
    this.#file = file;
    this.face = face;
    this.#index = index;
    this.ref = file.allocate();
  }

  get resource(): string {
    return `F${this.#index}`;
  }

  /** A glyph's character identifier, as four hexadecimal digits. */
  cidHex(glyph: Glyph): string {
    let hex = this.#cids.get(glyph.key);
    if (hex === undefined) {
      hex = cidHex(this.#gids.push(glyph.gid) - 1);
      this.#texts.push(glyph.text);
      this.#cids.set(glyph.key, hex);
    }
    return hex;
  }

  /** Writes the font. Call `embed` once, after the last `cidHex`. */
  embed(): void {
    const { face } = this;
    const file = this.#file;
    const toThousand = 1000 / face.unitsPerEm;
    const subset = subsetTrueType(face.source, this.#gids);
    const program = file.addStream(`/Length1 ${subset.bytes.length}`, subset.bytes);
    // PDF/A-1 requires the set of the font's character identifiers, with one bit for each identifier.
    const cidSet = new Uint8Array((subset.glyphs + 7) >> 3);
    for (let cid = 0; cid < subset.glyphs; cid++) cidSet[cid >> 3]! |= 0x80 >> (cid & 7);
    const cidSetRef = file.addStream('', cidSet);
    const name = `${subsetTag(this.#index)}+${face.postscriptName}`;
    const { minX, minY, maxX, maxY } = face.bbox;
    const descriptor = file.add(
      `<</Type/FontDescriptor/FontName/${name}/Flags 4` +
        `/FontBBox[${[minX, minY, maxX, maxY].map((v) => pdfNumber(v * toThousand)).join(' ')}]` +
        `/ItalicAngle 0/Ascent ${pdfNumber(face.ascent * toThousand)}/Descent ${pdfNumber(face.descent * toThousand)}` +
        `/CapHeight ${pdfNumber(face.capHeight * toThousand)}/StemV 80` +
        `/FontFile2 ${refTo(program)}/CIDSet ${refTo(cidSetRef)}>>`,
    );
    const widths = this.#gids.map((gid) => pdfNumber(face.source.metrics(gid).advance * toThousand)).join(' ');
    const descendant = file.add(
      `<</Type/Font/Subtype/CIDFontType2/BaseFont/${name}/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>` +
        `/FontDescriptor ${refTo(descriptor)}/DW 1000/W[0[${widths}]]/CIDToGIDMap/Identity>>`,
    );
    const toUnicode = file.addStream('', Buffer.from(this.#unicodeMap(), 'latin1'));
    file.set(
      this.ref,
      `<</Type/Font/Subtype/Type0/BaseFont/${name}/Encoding/Identity-H/DescendantFonts[${refTo(descendant)}]/ToUnicode ${refTo(toUnicode)}>>`,
    );
  }

  #unicodeMap(): string {
    const entries: string[] = [];
    this.#texts.forEach((text, cid) => {
      if (text !== '') entries.push(`<${cidHex(cid)}> <${utf16Hex(text)}>`);
    });
    const blocks: string[] = [];
    // A `bfchar` block may contain at most 100 entries.
    for (let i = 0; i < entries.length; i += 100) {
      const block = entries.slice(i, i + 100);
      blocks.push(`${block.length} beginbfchar\n${block.join('\n')}\nendbfchar\n`);
    }
    return (
      '/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n' +
      '/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n' +
      '/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n' +
      '1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n' +
      `${blocks.join('')}endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n`
    );
  }
}

const cidHex = (cid: number): string => cid.toString(16).toUpperCase().padStart(4, '0');

/** Six capital letters, different for each subset of a document. */
function subsetTag(index: number): string {
  let tag = '';
  for (let i = 0, rest = index; i < 6; i++, rest = Math.floor(rest / 26))
    tag = String.fromCharCode(65 + (rest % 26)) + tag;
  return tag;
}
