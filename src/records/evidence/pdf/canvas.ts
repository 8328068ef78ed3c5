import { face } from './faces.ts';
import { type PdfFile, type Ref, pdfNumber, pdfText, refTo } from './objects.ts';
import { SubsetFont } from './font.ts';
import { type Element, linkAnnotation } from './structure.ts';
import type { Glyph, Line } from './shaping.ts';

/** Red, green, blue, each from 0 to 1. */
export type Colour = readonly [number, number, number];

/** A4 in points. */
export const pageWidth = 595.28;
export const pageHeight = 841.89;

type Page = { content: string[]; marks: number; annotations: Ref[] };

/**
 * Draws on the pages of one document, in points from the top left corner. All content is drawn inside `tagged`, which
 * gives it a place in the reading order, or inside `artifact`, which marks it as decoration.
 */
export class Canvas {
  readonly #file: PdfFile;
  readonly #fonts = new Map<string, SubsetFont>();
  readonly #pages: Page[] = [];
  #inside = false;

  constructor(file: PdfFile) {
    this.#file = file;
  }

  get pages(): readonly Page[] {
    return this.#pages;
  }
  get fonts(): readonly SubsetFont[] {
    return [...this.#fonts.values()];
  }

  addPage(): void {
    this.#pages.push({ content: [], marks: 0, annotations: [] });
  }

  get #page(): Page {
    const page = this.#pages.at(-1);
    if (page === undefined) throw new Error('nothing can be drawn before the first page');
    return page;
  }

  tagged(element: Element, draw: () => void): void {
    const page = this.#page;
    const mcid = page.marks++;
    element.children.push({ page: this.#pages.length - 1, mcid });
    this.#marked(`/${element.tag} <</MCID ${mcid}>> BDC`, draw);
  }

  artifact(draw: () => void): void {
    this.#marked('/Artifact BMC', draw);
  }

  /** Draws an artifact on an earlier page, for values that are known only at the end, such as the number of pages. */
  artifactOn(page: number, draw: () => void): void {
    const after = this.#pages.splice(page + 1);
    this.artifact(draw);
    this.#pages.push(...after);
  }

  #marked(begin: string, draw: () => void): void {
    if (this.#inside) throw new Error("marked content can't be nested here");
    this.#inside = true;
    this.#page.content.push(begin);
    draw();
    this.#page.content.push('EMC');
    this.#inside = false;
  }

  #push(operators: string): void {
    if (!this.#inside) throw new Error('every mark on the page is tagged or an artifact');
    this.#page.content.push(operators);
  }

  rectangle(x: number, y: number, width: number, height: number, colour: Colour): void {
    this.#push(
      `${rgb(colour)} rg ${pdfNumber(x)} ${pdfNumber(pageHeight - y - height)} ${pdfNumber(width)} ${pdfNumber(height)} re f`,
    );
  }

  frame(x: number, y: number, width: number, height: number, colour: Colour, lineWidth: number): void {
    this.#push(
      `${rgb(colour)} RG ${pdfNumber(lineWidth)} w ` +
        `${pdfNumber(x)} ${pdfNumber(pageHeight - y - height)} ${pdfNumber(width)} ${pdfNumber(height)} re S`,
    );
  }

  line(
    x1: number,
    y1: number,
    x2: number,
    y2: number,
    colour: Colour,
    lineWidth: number,
    dash: readonly number[] = [],
  ): void {
    this.#push(
      `${rgb(colour)} RG ${pdfNumber(lineWidth)} w [${dash.map(pdfNumber).join(' ')}] 0 d ` +
        `${pdfNumber(x1)} ${pdfNumber(pageHeight - y1)} m ${pdfNumber(x2)} ${pdfNumber(pageHeight - y2)} l S` +
        (dash.length > 0 ? ' [] 0 d' : ''),
    );
  }

  dot(x: number, y: number, radius: number, colour: Colour): void {
    const k = 0.5522847 * radius;
    const cy = pageHeight - y;
    const at = (px: number, py: number): string => `${pdfNumber(px)} ${pdfNumber(py)}`;
    this.#push(
      `${rgb(colour)} rg ${at(x - radius, cy)} m ` +
        `${at(x - radius, cy + k)} ${at(x - k, cy + radius)} ${at(x, cy + radius)} c ` +
        `${at(x + k, cy + radius)} ${at(x + radius, cy + k)} ${at(x + radius, cy)} c ` +
        `${at(x + radius, cy - k)} ${at(x + k, cy - radius)} ${at(x, cy - radius)} c ` +
        `${at(x - k, cy - radius)} ${at(x - radius, cy - k)} ${at(x - radius, cy)} c f`,
    );
  }

  /** Draws rows of squares as one path. Each cell gives the top left corner of a row and its number of squares. */
  squares(cells: readonly (readonly [number, number, number])[], side: number, colour: Colour): void {
    const path = cells
      .map(
        ([x, y, run]) =>
          `${pdfNumber(x)} ${pdfNumber(pageHeight - y - side)} ${pdfNumber(run * side)} ${pdfNumber(side)} re`,
      )
      .join('\n');
    this.#push(`${rgb(colour)} rg\n${path}\nf`);
  }

  text(line: Line, x: number, baseline: number, size: number, colour: Colour): void {
    let pen = x;
    const out: string[] = [`${rgb(colour)} rg`];
    for (const run of line.runs) {
      if (run.glyphs.length === 0) continue;
      const font = this.#font(run.face);
      out.push(
        ...(run.actual === null ? [] : [`/Span <</ActualText ${pdfText(run.actual)}>> BDC`]),
        `BT /${font.resource} ${pdfNumber(size)} Tf 1 0 0 1 ${pdfNumber(pen)} ${pdfNumber(pageHeight - baseline)} Tm`,
      );
      pushGlyphs(out, run.glyphs, font, size);
      out.push(run.actual === null ? 'ET' : 'ET\nEMC');
      for (const glyph of run.glyphs) pen += (glyph.advance * size) / 1000;
    }
    this.#push(out.join('\n'));
  }

  link(
    element: Element,
    x: number,
    y: number,
    width: number,
    height: number,
    address: string,
    description: string,
  ): void {
    const ref = this.#file.allocate();
    this.#page.annotations.push(ref);
    const rectangle = [x, pageHeight - y - height, x + width, pageHeight - y].map(pdfNumber);
    element.children.push({
      page: this.#pages.length - 1,
      ref,
      write: (structParent) => linkAnnotation(rectangle, address, description, structParent),
    });
  }

  #font(name: string): SubsetFont {
    let font = this.#fonts.get(name);
    if (font === undefined) {
      font = new SubsetFont(this.#file, face(name), this.#fonts.size + 1);
      this.#fonts.set(name, font);
    }
    return font;
  }

  write(): { pages: Ref[]; tree: Ref } {
    const tree = this.#file.allocate();
    const fonts = this.fonts;
    const resources = this.#file.add(
      `<</Font<<${fonts.map((font) => `/${font.resource} ${refTo(font.ref)}`).join('')}>>>>`,
    );
    const pages = this.#pages.map((page, index) => {
      const content = this.#file.addStream('', Buffer.from(`${page.content.join('\n')}\n`, 'latin1'));
      return this.#file.add(
        `<</Type/Page/Parent ${refTo(tree)}/MediaBox[0 0 ${pageWidth} ${pageHeight}]/Resources ${refTo(resources)}` +
          `/Contents ${refTo(content)}/StructParents ${index}/Tabs/S` +
          (page.annotations.length === 0 ? '' : `/Annots[${page.annotations.map(refTo).join(' ')}]`) +
          '>>',
      );
    });
    this.#file.set(tree, `<</Type/Pages/Kids[${pages.map(refTo).join(' ')}]/Count ${pages.length}>>`);
    for (const font of fonts) font.embed();
    return { pages, tree };
  }
}

const rgb = (colour: Colour): string => colour.map(pdfNumber).join(' ');

/** Appends operators that show the glyphs in one text object. Adjustments are in thousandths of the font size. */
function pushGlyphs(out: string[], glyphs: readonly Glyph[], font: SubsetFont, size: number): void {
  let array = '';
  let hex = '';
  let rise = 0;
  // The widths in the font program differ from the glyphs' advances. `owed` is the difference, in thousandths of the
  // font size, that the pen must still move.
  let owed = 0;
  for (const glyph of glyphs) {
    if (glyph.dy !== rise) {
      if (hex !== '') array += `<${hex}>`;
      if (array !== '') out.push(`[${array}] TJ`);
      hex = array = '';
      out.push(`${pdfNumber((glyph.dy * size) / 1000)} Ts`);
      rise = glyph.dy;
    }
    const shift = owed + glyph.dx;
    if (shift > 0.01 || shift < -0.01) {
      if (hex !== '') array += `<${hex}>`;
      hex = '';
      array += pdfNumber(-shift);
    }
    hex += font.cidHex(glyph);
    owed = glyph.advance - glyph.width - glyph.dx;
  }
  if (hex !== '') array += `<${hex}>`;
  if (array !== '') out.push(`[${array}] TJ`);
  if (rise !== 0) out.push('0 Ts');
}
