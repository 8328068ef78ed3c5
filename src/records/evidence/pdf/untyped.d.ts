// Types for the functions that we use from three untyped packages.

declare module 'fontkit' {
  export type FontGlyph = { id: number; codePoints: number[]; advanceWidth: number };
  export type FontPosition = { xAdvance: number; yAdvance: number; xOffset: number; yOffset: number };
  export type FontRun = { glyphs: FontGlyph[]; positions: FontPosition[] };
  export type FontPositioning = {
    applyLookup(type: number, table: unknown): boolean;
    applyAnchor(mark: unknown, base: unknown, at: number): void;
  };
  export type Font = {
    postscriptName: string;
    unitsPerEm: number;
    ascent: number;
    descent: number;
    capHeight: number;
    bbox: { minX: number; minY: number; maxX: number; maxY: number };
    _glyphs: Record<number, FontGlyph | undefined>;
    _layoutEngine: { engine?: { GPOSProcessor: FontPositioning | null } | null };
    getGlyph(id: number, codePoints?: number[]): FontGlyph;
    hasGlyphForCodePoint(codePoint: number): boolean;
    glyphForCodePoint(codePoint: number): FontGlyph;
    layout(text: string, features?: string[], script?: string, language?: string, direction?: 'ltr' | 'rtl'): FontRun;
  };
  export function create(bytes: Uint8Array): Font;
}

declare module 'bidi-js' {
  export type EmbeddingLevels = { levels: Uint8Array; paragraphs: { level: number }[] };
  export type Bidi = {
    getEmbeddingLevels(text: string, base?: 'ltr' | 'rtl' | 'auto'): EmbeddingLevels;
    getMirroredCharacter(character: string): string | null;
    getBidiCharTypeName(character: string): string;
  };
  export default function bidiFactory(): Bidi;
}

declare module 'qrcode' {
  export type QrModules = { size: number; data: Uint8Array };
  const qrcode: {
    create(text: string, options: { errorCorrectionLevel: 'M' }): { modules: QrModules };
  };
  export default qrcode;
}
