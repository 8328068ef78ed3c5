import { type Markup, html } from '../../../../platform/html/html.ts';
import type { Sketch } from './geometry.ts';
import type { Point } from './geometry.ts';
import icons from './icons.json' with { type: 'json' };

/**
 * Draws signs of programs, and things for pictures of places. The lines are on a board of 24 × 24. A line that begins
 * with `*` is an area.
 */

const board = 24;
const all = icons as Record<string, readonly string[]>;

export const hasIcon = (name: string): boolean => Object.hasOwn(all, name);

/** Draws an icon in a square with the given top left corner. */
export function iconPaths(name: string, [x, y]: Point, size: number): Markup {
  const lines = all[name];
  if (lines === undefined) throw new RangeError(`There is no picture “${name}”.`);
  const scale = Math.round((size / board) * 1000) / 1000;
  return html`<g transform="translate(${Math.round(x * 100) / 100} ${Math.round(y * 100) / 100}) scale(${scale})">${lines.map(
    (line) =>
      line.startsWith('*')
        ? html`<path d="${line.slice(1)}" class="icon-area"/>`
        : html`<path d="${line}" class="icon"/>`,
  )}</g>`;
}

/** Draws an icon in a frame, like a button. */
export function icon(name: string, size: number): Sketch {
  const edge = 8;
  const side = size + 2 * edge;
  return {
    width: side,
    height: side,
    svg: html`<rect x="1" y="1" width="${side - 2}" height="${side - 2}" rx="6" class="button-frame"/>${iconPaths(name, [edge, edge], size)}`,
  };
}
