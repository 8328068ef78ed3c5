import { html } from '../../../../platform/html/html.ts';
import type { Shape, Shapes } from '../../../../engine/item-bank/drawn-shapes.ts';
import { angle, compass } from './angle.ts';
import { type Drawn, fullWidth, round } from '../parts.ts';
import { label, type Sketch } from './geometry.ts';
import { icon } from './icon.ts';
import { plane } from './plane.ts';
import { cubes, solid } from './solid.ts';

const gap = 12;
const letterHeight = 18;

function drawn(shape: Shape, width: number): Sketch {
  switch (shape.draw) {
    case 'plane':
      return plane(shape, width);
    case 'solid':
      return solid(shape, width);
    case 'cubes':
      return cubes(shape, width);
    case 'angle':
      return angle(shape, width);
    case 'compass':
      return compass(shape, width);
    case 'icon':
      return icon(shape.name, Math.min(width, 44));
  }
}

function columnsOf({ columns, panels }: Shapes): number {
  return columns ?? (panels.length % 3 === 0 ? 3 : 2);
}

/** A drawing that the lettered ones refer to has a row of its own. */
function rowsOf(panels: Shapes['panels'], columns: number): Shapes['panels'][] {
  const [lead, ...rest] = panels;
  if (lead!.letter === undefined && rest.length > 0) return [[lead!], ...rowsOf(rest, columns)];
  return Array.from({ length: Math.ceil(panels.length / columns) }, (_, n) =>
    panels.slice(n * columns, (n + 1) * columns),
  );
}

/** Draws the panels in rows. All panels of a row have the same height. */
export function shapes(figure: Shapes): Drawn {
  const columns = columnsOf(figure);
  let top = gap;
  const body = rowsOf(figure.panels, columns).map((row) => {
    const isLead = row[0]!.letter === undefined;
    const cell = isLead ? fullWidth - 2 * gap : (fullWidth - gap * (columns + 1)) / columns;
    const all = row.map(({ shape }) => drawn(shape, cell));
    const head = isLead ? 0 : letterHeight;
    const height = Math.max(...all.map((one) => one.height));
    const inset = (fullWidth - row.length * (cell + gap) + gap) / 2;
    const parts = row.map(({ letter }, at) => {
      const left = inset + at * (cell + gap);
      const one = all[at]!;
      const [x, y] = [left + (cell - one.width) / 2, top + head + (height - one.height) / 2];
      return html`${letter === undefined ? null : label([left + cell / 2, top + 11], letter, 'letter')}<g transform="translate(${round(x)} ${round(y)})">${one.svg}</g>`;
    });
    top += head + height + gap;
    return parts;
  });
  const words = figure.panels
    .map(({ letter, description }) => (letter === undefined ? description : `${letter}: ${description}`))
    .join(' ');
  return { width: fullWidth, height: round(top), body: html`${body}`, words };
}
