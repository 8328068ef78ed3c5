/** A glyph without its hinting instructions. `components`: the glyphs that form it, and the offsets of their IDs. */
export type GlyphOutline = { bytes: Uint8Array; components: { at: number; gid: number }[] };

const componentFlag = {
  wordArguments: 0x0001,
  scale: 0x0008,
  more: 0x0020,
  xyScale: 0x0040,
  twoByTwo: 0x0080,
  instructions: 0x0100,
};

/** Reads the tables that a subset needs. Offsets follow the OpenType specification, 1.9. */
export class TrueTypeSource {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #tables = new Map<string, { offset: number; length: number }>();
  readonly #longLoca: boolean;
  readonly #hMetrics: number;
  readonly #outlines = new Map<number, GlyphOutline>();

  constructor(bytes: Uint8Array) {
    // Tables are changed later, so each must be a copy. `slice` copies from a Uint8Array, but a Buffer shares memory.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const count = this.#view.getUint16(4);
    for (let i = 0; i < count; i++) {
      const at = 12 + 16 * i;
      const tag = String.fromCharCode(...bytes.subarray(at, at + 4));
      this.#tables.set(tag, { offset: this.#view.getUint32(at + 8), length: this.#view.getUint32(at + 12) });
    }
    this.#longLoca = this.#view.getInt16(this.#offset('head') + 50) === 1;
    this.#hMetrics = this.#view.getUint16(this.#offset('hhea') + 34);
  }

  #offset(tag: string): number {
    const table = this.#tables.get(tag);
    if (table === undefined) throw new Error(`the font has no ${tag} table`);
    return table.offset;
  }

  table(tag: string): Uint8Array {
    const offset = this.#offset(tag);
    return this.#bytes.slice(offset, offset + this.#tables.get(tag)!.length);
  }

  /** Advance width and left side bearing in font units. */
  metrics(gid: number): { advance: number; bearing: number } {
    const at = this.#offset('hmtx');
    if (gid < this.#hMetrics)
      return { advance: this.#view.getUint16(at + 4 * gid), bearing: this.#view.getInt16(at + 4 * gid + 2) };
    return {
      advance: this.#view.getUint16(at + 4 * (this.#hMetrics - 1)),
      bearing: this.#view.getInt16(at + 4 * this.#hMetrics + 2 * (gid - this.#hMetrics)),
    };
  }

  outline(gid: number): GlyphOutline {
    let outline = this.#outlines.get(gid);
    if (outline === undefined) {
      outline = this.#read(gid);
      this.#outlines.set(gid, outline);
    }
    return outline;
  }

  #read(gid: number): GlyphOutline {
    const loca = this.#offset('loca');
    const start = this.#longLoca ? this.#view.getUint32(loca + 4 * gid) : 2 * this.#view.getUint16(loca + 2 * gid);
    const end = this.#longLoca
      ? this.#view.getUint32(loca + 4 * gid + 4)
      : 2 * this.#view.getUint16(loca + 2 * gid + 2);
    const glyf = this.#offset('glyf');
    if (start === end) return { bytes: new Uint8Array(0), components: [] };
    const bytes = this.#bytes.slice(glyf + start, glyf + end);
    const view = new DataView(bytes.buffer);
    const contours = view.getInt16(0);
    return contours >= 0 ? withoutInstructions(bytes, view, contours) : composite(bytes, view);
  }
}

function withoutInstructions(bytes: Uint8Array, view: DataView, contours: number): GlyphOutline {
  const lengthAt = 10 + 2 * contours;
  const instructions = view.getUint16(lengthAt);
  const short = new Uint8Array(bytes.length - instructions);
  short.set(bytes.subarray(0, lengthAt));
  short.set(bytes.subarray(lengthAt + 2 + instructions), lengthAt + 2);
  return { bytes: short, components: [] };
}

function composite(bytes: Uint8Array, view: DataView): GlyphOutline {
  const components: GlyphOutline['components'] = [];
  let at = 10;
  for (;;) {
    const flags = view.getUint16(at);
    view.setUint16(at, flags & ~componentFlag.instructions);
    components.push({ at: at + 2, gid: view.getUint16(at + 2) });
    at += flags & componentFlag.wordArguments ? 8 : 6;
    if (flags & componentFlag.scale) at += 2;
    else if (flags & componentFlag.xyScale) at += 4;
    else if (flags & componentFlag.twoByTwo) at += 8;
    if (!(flags & componentFlag.more)) break;
  }
  return { bytes: bytes.slice(0, at), components };
}

/**
 * Makes a TrueType file of the glyphs in `gids`, which must begin with glyph 0, followed by their components. A glyph
 * with several texts is repeated in `gids` and in the file.
 */
export function subsetTrueType(source: TrueTypeSource, gids: readonly number[]): { bytes: Uint8Array; glyphs: number } {
  const order = [...gids];
  const placeOf = new Map<number, number>();
  order.forEach((gid, place) => {
    if (!placeOf.has(gid)) placeOf.set(gid, place);
  });
  const outlines: Uint8Array[] = [];
  for (let place = 0; place < order.length; place++) {
    const { bytes, components } = source.outline(order[place]!);
    if (components.length === 0) {
      outlines.push(bytes);
      continue;
    }
    const copy = bytes.slice();
    const view = new DataView(copy.buffer);
    for (const { at, gid } of components) {
      let target = placeOf.get(gid);
      if (target === undefined) {
        target = order.push(gid) - 1;
        placeOf.set(gid, target);
      }
      view.setUint16(at, target);
    }
    outlines.push(copy);
  }
  return { bytes: assemble(source, order, outlines), glyphs: order.length };
}

function assemble(source: TrueTypeSource, order: readonly number[], outlines: readonly Uint8Array[]): Uint8Array {
  const loca = new DataView(new ArrayBuffer(4 * (order.length + 1)));
  let size = 0;
  outlines.forEach((bytes, place) => {
    loca.setUint32(4 * place, size);
    size += (bytes.length + 3) & ~3;
  });
  loca.setUint32(4 * order.length, size);
  const glyf = new Uint8Array(size);
  outlines.forEach((bytes, place) => glyf.set(bytes, loca.getUint32(4 * place)));

  const hmtx = new DataView(new ArrayBuffer(4 * order.length));
  order.forEach((gid, place) => {
    const { advance, bearing } = source.metrics(gid);
    hmtx.setUint16(4 * place, advance);
    hmtx.setInt16(4 * place + 2, bearing);
  });

  const head = source.table('head');
  const headView = new DataView(head.buffer);
  headView.setUint32(8, 0);
  headView.setInt16(50, 1);
  const hhea = source.table('hhea');
  new DataView(hhea.buffer).setUint16(34, order.length);
  const maxp = source.table('maxp');
  const maxpView = new DataView(maxp.buffer);
  maxpView.setUint16(4, order.length);
  // The glyphs have no hinting, so an interpreter needs no storage and no function definitions.
  for (const at of [16, 18, 20, 22, 24, 26]) maxpView.setUint16(at, 0);

  return sfnt([
    ['glyf', glyf],
    ['head', head],
    ['hhea', hhea],
    ['hmtx', new Uint8Array(hmtx.buffer)],
    ['loca', new Uint8Array(loca.buffer)],
    ['maxp', maxp],
  ]);
}

/** Writes the tables on four-byte boundaries and with checksums. `tables` must be in alphabetical order. */
function sfnt(tables: readonly (readonly [string, Uint8Array])[]): Uint8Array {
  const headerLength = 12 + 16 * tables.length;
  const total = tables.reduce((sum, [, bytes]) => sum + ((bytes.length + 3) & ~3), headerLength);
  const file = new Uint8Array(total);
  const view = new DataView(file.buffer);
  let power = 1;
  let log = 0;
  while (power * 2 <= tables.length) {
    power *= 2;
    log += 1;
  }
  view.setUint32(0, 0x00010000);
  view.setUint16(4, tables.length);
  view.setUint16(6, power * 16);
  view.setUint16(8, log);
  view.setUint16(10, tables.length * 16 - power * 16);
  let offset = headerLength;
  let headOffset = 0;
  tables.forEach(([tag, bytes], index) => {
    file.set(bytes, offset);
    if (tag === 'head') headOffset = offset;
    const padded = (bytes.length + 3) & ~3;
    const at = 12 + 16 * index;
    for (let i = 0; i < 4; i++) file[at + i] = tag.charCodeAt(i);
    view.setUint32(at + 4, checkSum(view, offset, padded));
    view.setUint32(at + 8, offset);
    view.setUint32(at + 12, bytes.length);
    offset += padded;
  });
  view.setUint32(headOffset + 8, (0xb1b0afba - checkSum(view, 0, total)) >>> 0);
  return file;
}

function checkSum(view: DataView, offset: number, length: number): number {
  let sum = 0;
  for (let at = offset; at < offset + length; at += 4) sum = (sum + view.getUint32(at)) >>> 0;
  return sum;
}
