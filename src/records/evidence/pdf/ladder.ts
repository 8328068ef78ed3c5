import type { Block, Rung, Scale } from '../content.ts';
import { pageHeight } from './canvas.ts';
import type { Flow } from './flow.ts';
import { accent, contentWidth, drawText, ink, lines, margin, muted, smallSize, textBox, tint, white } from './flow.ts';
import type { Element } from './structure.ts';
import { shapeLine } from './shaping.ts';
import { decimal } from '../wording.ts';

const rungHeight = 26;
const width = contentWidth;

type Band = { rung: Rung; x: number; width: number };

/** Draws the rungs from left to right. If there is a scale, the estimate and its interval are drawn above the rungs. */
export function drawLadder(flow: Flow, block: Block & { kind: 'ladder' }, section: Element): void {
  const { scale } = block;
  const above = scale === null ? 1 : 30;
  const below = scale === null ? 4 : 18;
  const height = above + rungHeight + below;
  flow.need(height + 24);
  const start = flow.y;
  const place = scale === null ? null : axis(scale, block.rungs);
  const bands: Band[] = block.rungs.map((rung, i) => {
    if (place === null)
      return { rung, x: margin + (width * i) / block.rungs.length, width: width / block.rungs.length };
    const from = rung.from === null ? margin : place(rung.from);
    const to = rung.to === null ? margin + width : place(rung.to);
    return { rung, x: from, width: to - from };
  });
  const figure = section.add('Figure', {
    alt: block.description,
    bbox: [margin, pageHeight - start - height, margin + width, pageHeight - start],
  });
  flow.canvas.tagged(figure, () => {
    bands.forEach((band) => drawBand(flow, band, start + above));
    if (scale !== null && place !== null) drawScale(flow, scale, place, start, above);
  });
  flow.y = start + height;
  if (block.caption !== '')
    lines(flow, textBox(block.caption, contentWidth, smallSize), margin, section.add('P'), muted);
  flow.y += 4;
}

/**
 * Maps abilities to horizontal positions. The axis extends beyond the cut scores and the interval, so that the names of
 * the first and last rungs fit.
 */
function axis(scale: Scale, rungs: readonly Rung[]): (theta: number) => number {
  const first = scale.cuts[0]?.theta ?? scale.low;
  const last = scale.cuts.at(-1)?.theta ?? scale.high;
  const step = Math.max(0.6, (last - first) / Math.max(1, rungs.length - 2));
  const min = Math.min(first - step, scale.low - 0.2);
  const max = Math.max(last + step, scale.high + 0.2);
  return (theta) => margin + (width * (theta - min)) / (max - min);
}

function drawBand(flow: Flow, { rung, x, width: bandWidth }: Band, y: number): void {
  const { canvas } = flow;
  canvas.rectangle(x, y, bandWidth, rungHeight, rung.placed ? accent : tint);
  canvas.frame(x, y, bandWidth, rungHeight, rung.placed ? accent : muted, 0.6);
  const colour = rung.placed ? white : ink;
  const room = bandWidth - 6;
  const candidates = [rung.label, rung.short, rung.short.replace(/^Entry (\d)$/, 'E$1').replace(/^Level (\d)$/, 'L$1')];
  for (const size of [8.5, 7.5, 6.5]) {
    for (const label of candidates) {
      const line = shapeLine(label, rung.placed ? 'bold' : 'regular');
      const lineWidth = (line.width * size) / 1000;
      if (lineWidth <= room) {
        canvas.text(line, x + (bandWidth - lineWidth) / 2, y + rungHeight / 2 + size * 0.36, size, colour);
        return;
      }
    }
  }
}

function drawScale(flow: Flow, scale: Scale, place: (theta: number) => number, start: number, above: number): void {
  const { canvas } = flow;
  const rungY = start + above;
  const y = start + 17;
  const left = place(scale.low);
  const right = place(scale.high);
  const estimate = place(scale.estimate);
  for (const { level, theta } of scale.cuts) {
    const x = place(theta);
    const deciding = level === scale.deciding;
    if (deciding) canvas.line(x, start + 6, x, rungY + rungHeight + 3, ink, 1.3, [3, 2]);
    else canvas.line(x, rungY + rungHeight, x, rungY + rungHeight + 3, muted, 0.6);
    const label = shapeLine(decimal(theta), deciding ? 'bold' : 'regular');
    canvas.text(label, x - (label.width * 7) / 2000, rungY + rungHeight + 11, 7, deciding ? ink : muted);
  }
  canvas.line(left, y, right, y, ink, 1.6);
  canvas.line(left, y - 4, left, y + 4, ink, 1.6);
  canvas.line(right, y - 4, right, y + 4, ink, 1.6);
  canvas.dot(estimate, y, 4, white);
  canvas.dot(estimate, y, 3.2, ink);
  const label = textBox(decimal(scale.estimate), 60, 7.5, 'bold');
  const labelWidth = (label.lines[0]!.width * 7.5) / 1000;
  drawText(canvas, label, estimate - labelWidth / 2, y - 15, ink);
}
