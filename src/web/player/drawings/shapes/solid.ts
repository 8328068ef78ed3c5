import { type Markup, html } from '../../../../platform/html/html.ts';
import type { Cubes, Solid } from '../../../../engine/item-bank/drawn-shapes.ts';
import { round } from '../parts.ts';
import type { Sketch } from './geometry.ts';
import { add, arrowHead, corners, label, minus, type Point, path, polar, signedArea, times } from './geometry.ts';

/** Draws solids with their hidden edges dashed, and stacks of cubes. */

/** The room around a solid, with labels and without. */
const edges = [24, 5] as const;
const tall = 170;

/** A depth of 1 goes this far to the right and up. */
const depthStep: Point = [0.42, -0.36];

type Size = readonly [width: number, height: number, depth: number];

/** Draws a solid that is at most `width` wide. */
export function solid({ solid: name, size: given, lengths = ['', '', ''] }: Solid, width: number): Sketch {
  const size = given as unknown as Size;
  const edge = lengths.some((text) => text !== '') ? edges[0] : edges[1];
  const isRound = name === 'cylinder' || name === 'cone' || name === 'sphere';
  const [across, up] = isRound
    ? [size[0], name === 'sphere' ? size[0] : size[1] + size[0] * 0.36]
    : [size[0] + size[2] * depthStep[0], size[1] - size[2] * depthStep[1]];
  const step = Math.min((width - 2 * edge) / across, (Math.min(tall, width) - 2 * edge) / up);
  const [w, h, d] = size.map((one) => one * step) as [number, number, number];
  const [right, bottom] = [across * step + 2 * edge, up * step + 2 * edge];
  const base: Point = [edge, bottom - edge];
  const svg = isRound
    ? roundSolid(name, [edge + w / 2, bottom - edge], w / 2, h)
    : name === 'square_pyramid'
      ? pyramid(base, [w, h, d])
      : prism(
          frontFace(name).map(([x, y]): Point => [base[0] + x * w, base[1] - y * h]),
          times(depthStep, d),
        );
  return { width: right, height: bottom, svg: html`${svg}${sizeLabels(base, [w, h, d], lengths, isRound)}` };
}

function sizeLabels([x, y]: Point, [w, h, d]: Size, lengths: readonly string[], isRound: boolean): Markup {
  const [across, up, back] = lengths as [string, string, string];
  const shown = (at: Point, text: string) => (text === '' ? null : label(at, text, 'tag'));
  return html`${shown([x + w / 2, y + (isRound ? w * 0.18 : 0) + 15], across)}${shown([x - 4, y - h / 2 + 4], up)}${shown(
    [x + w + (d * depthStep[0]) / 2 + 14, y + (d * depthStep[1]) / 2 + 10],
    back,
  )}`;
}

/** The front of a prism in a square from (0, 0) to (1, 1), anticlockwise. */
function frontFace(name: Solid['solid']): Point[] {
  switch (name) {
    case 'triangular_prism':
      return [
        [0, 0],
        [1, 0],
        [0.5, 1],
      ];
    case 'hexagonal_prism':
      return [0, 60, 120, 180, 240, 300].map((turn): Point => {
        const [x, y] = polar([0, 0], 0.5, turn);
        return [0.5 + x, 0.5 - y / 0.866];
      });
    case 'l_prism':
      return [
        [0, 0],
        [1, 0],
        [1, 0.45],
        [0.45, 0.45],
        [0.45, 1],
        [0, 1],
      ];
    default:
      return [
        [0, 0],
        [1, 0],
        [1, 1],
        [0, 1],
      ];
  }
}

/** A side face is visible if the depth leads away from the front. An edge is visible if it has a visible face. */
function prism(front: readonly Point[], depth: Point): Markup {
  const clockwise = signedArea(front) > 0 ? 1 : -1;
  const sides = corners(front).map(({ here, next }) => {
    const along = minus(next, here);
    return clockwise * (along[1] * depth[0] - along[0] * depth[1]) > 0;
  });
  const hidden: Markup[] = [];
  const faces: Markup[] = [];
  corners(front).forEach(({ here, next }, n) => {
    const back: [Point, Point] = [add(here, depth), add(next, depth)];
    if (sides[n]!) faces.push(html`<path d="${path([here, next, back[1], back[0]], true)}" class="face side"/>`);
    else hidden.push(html`<path d="${path(back)}" class="edge dashed"/>`);
    if (!sides[n]! && !sides.at(n - 1)!) hidden.push(html`<path d="${path([here, back[0]])}" class="edge dashed"/>`);
  });
  return html`${faces}<path d="${path(front, true)}" class="face"/>${hidden}`;
}

function pyramid([x, y]: Point, [w, h, d]: Size): Markup {
  const depth = times(depthStep, d);
  const [a, b]: [Point, Point] = [
    [x, y],
    [x + w, y],
  ];
  const [c, back] = [add(b, depth), add(a, depth)];
  const top = add(times(add(a, c), 0.5), [0, -h]);
  return html`<path d="${path([a, b, top], true)}" class="face"/><path d="${path([b, c, top], true)}" class="face side"/><path d="${path([a, back, c])} ${path([back, top])}" class="edge dashed"/>`;
}

function roundSolid(name: 'cylinder' | 'cone' | 'sphere', [x, y]: Point, r: number, h: number): Markup {
  const flat = r * 0.36;
  const half = (at: number, sweep: 0 | 1) =>
    `M${round(x - r)} ${round(at)} A${round(r)} ${round(flat)} 0 0 ${sweep} ${round(x + r)} ${round(at)}`;
  if (name === 'sphere') {
    const middle = y - r;
    return html`<circle cx="${round(x)}" cy="${round(middle)}" r="${round(r)}" class="face"/><path d="${half(middle, 0)}" class="edge"/><path d="${half(middle, 1)}" class="edge dashed"/>`;
  }
  const foot = y - flat;
  const back = html`<path d="${half(foot, 1)}" class="edge dashed"/>`;
  if (name === 'cone') return html`<path d="${half(foot, 0)} L${round(x)} ${round(foot - h)} Z" class="face"/>${back}`;
  const top = foot - h;
  return html`<path d="${half(foot, 0)} L${round(x + r)} ${round(top)} L${round(x - r)} ${round(top)} Z" class="face side"/><ellipse cx="${round(x)}" cy="${round(top)}" rx="${round(r)}" ry="${round(flat)}" class="face"/>${back}`;
}

/** Draws stacks of cubes, seen from the front, from the right and from above. */
export function cubes({ heights, front = false }: Cubes, width: number): Sketch {
  const rows = heights.length;
  const columns = Math.max(...heights.map((row) => row.length));
  const top = Math.max(...heights.flat());
  const across = (columns + rows) * 0.866;
  const down = (columns + rows) * 0.5 + top;
  const below = front ? 26 : 4;
  const step = Math.min(34, (width - 8) / across, (200 - below) / down);
  // A column leads to the right and down, a row to the left and down, and a cube up.
  const at = (column: number, row: number, up: number): Point => [
    4 + (column - row + rows) * 0.866 * step,
    4 + ((column + row) * 0.5 + top - up) * step,
  ];
  const cube = (c: number, r: number, u: number) =>
    html`<path d="${path([at(c, r, u + 1), at(c + 1, r, u + 1), at(c + 1, r + 1, u + 1), at(c, r + 1, u + 1)], true)}" class="face top"/><path d="${path([at(c, r + 1, u + 1), at(c + 1, r + 1, u + 1), at(c + 1, r + 1, u), at(c, r + 1, u)], true)}" class="face"/><path d="${path([at(c + 1, r, u + 1), at(c + 1, r + 1, u + 1), at(c + 1, r + 1, u), at(c + 1, r, u)], true)}" class="face side"/>`;
  const all = heights.flatMap((row, r) =>
    row.flatMap((height, c) => Array.from({ length: height }, (_, u) => cube(c, r, u))),
  );
  const foot = at(columns / 2, rows, 0);
  const [from, to]: [Point, Point] = [add(foot, [-22, 26]), add(foot, [-5, 6])];
  return {
    width: across * step + 8,
    height: down * step + 4 + below,
    svg: html`${all}${front ? html`<path d="${path([from, to])}" class="edge"/><path d="${arrowHead(from, to)}" class="dot"/>${label(add(from, [-18, 4]), 'front', 'tag')}` : null}`,
  };
}
