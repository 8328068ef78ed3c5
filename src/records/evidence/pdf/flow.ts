import { type Canvas, type Colour, pageHeight, pageWidth } from './canvas.ts';
import type { Element } from './structure.ts';
import { type Line, type Weight, breakLines, followedBySpace } from './shaping.ts';

// The colours are dark enough for any printer, and no information is shown by colour alone.
export const ink: Colour = [0.1, 0.11, 0.13];
export const muted: Colour = [0.33, 0.35, 0.39];
export const accent: Colour = [0.07, 0.21, 0.37];
export const rule: Colour = [0.72, 0.74, 0.77];
export const tint: Colour = [0.93, 0.94, 0.96];
export const white: Colour = [1, 1, 1];

export const margin = 48;
export const contentWidth = pageWidth - 2 * margin;
const top = 42;
export const bottom = pageHeight - 50;
export const bodySize = 9;
export const smallSize = 7.8;
export const leading = 1.35;

/** The position of the next block. Each block draws itself at `y` and then moves `y` to its lower end. */
export class Flow {
  readonly canvas: Canvas;
  y = top;

  constructor(canvas: Canvas) {
    this.canvas = canvas;
    canvas.addPage();
  }

  /** Starts a new page unless `height` points are left. @returns whether a new page was started */
  need(height: number): boolean {
    if (this.y + height <= bottom || this.y === top) return false;
    this.canvas.addPage();
    this.y = top;
    return true;
  }
}

/** Text broken into lines, with its height in points. */
export type TextBox = { lines: Line[]; size: number; height: number };

export function textBox(text: string, width: number, size: number, weight: Weight = 'regular'): TextBox {
  const lines = breakLines(text, weight, (width * 1000) / size);
  return { lines, size, height: lines.length * lineHeight(lines, size) };
}

// Tall scripts and stacked marks need more space between lines.
function lineHeight(lines: readonly Line[], size: number): number {
  const latin = lines.every(({ runs }) => runs.every((run) => run.face.startsWith('NotoSans-')));
  let rise = 0;
  let fall = 0;
  for (const { runs } of lines) {
    for (const { dy } of runs.flatMap((run) => run.glyphs)) {
      rise = Math.max(rise, dy / 1000);
      fall = Math.max(fall, -dy / 1000);
    }
  }
  return size * Math.max(latin ? leading : 1.75, 2 * (0.42 + rise), 2 * (0.36 + fall));
}

/** Ends a box with a space, so that copied text separates its last word from the next text of the same element. */
export function followed(box: TextBox, weight: Weight = 'regular'): TextBox {
  const last = box.lines.length - 1;
  return { ...box, lines: box.lines.map((line, i) => (i === last ? followedBySpace(line, weight) : line)) };
}

/** The height of a box's first line. The first lines of a row's cells are centred on the tallest of them. */
export function firstLine(box: TextBox): number {
  return box.height / Math.max(1, box.lines.length);
}

/**
 * Draws lines inside tagged or artifact content, from `y` down. `x` is the left end of left-aligned lines and the right
 * end of right-aligned lines.
 */
export function drawText(
  canvas: Canvas,
  box: TextBox,
  x: number,
  y: number,
  colour: Colour,
  align: 'left' | 'right' = 'left',
): void {
  const step = box.lines.length === 0 ? 0 : box.height / box.lines.length;
  box.lines.forEach((line, i) => {
    const start = align === 'left' ? x : x - (line.width * box.size) / 1000;
    canvas.text(line, start, y + i * step + step / 2 + box.size * 0.36, box.size, colour);
  });
}

/** Draws text that may continue on the next page. */
export function lines(flow: Flow, box: TextBox, x: number, element: Element, colour: Colour): void {
  if (box.lines.length === 0) return;
  const step = box.height / box.lines.length;
  let rest = box.lines;
  while (rest.length > 0) {
    flow.need(Math.min(rest.length, 2) * step);
    const fitting = Math.max(1, Math.min(rest.length, Math.floor((bottom - flow.y) / step)));
    const part: TextBox = { ...box, lines: rest.slice(0, fitting), height: fitting * step };
    flow.canvas.tagged(element, () => drawText(flow.canvas, part, x, flow.y, colour));
    flow.y += part.height;
    rest = rest.slice(fitting);
  }
}
