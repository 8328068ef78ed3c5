import { type Markup, html } from '../../../../platform/html/html.ts';
import type { Plane, PlanePart } from '../../../../engine/item-bank/drawn-shapes.ts';
import { round } from '../parts.ts';
import type { Sketch } from './geometry.ts';
import { iconPaths } from './icon.ts';
import {
  add,
  angleAt,
  arrowHead,
  corners,
  label,
  minus,
  type Point,
  path,
  signedArea,
  times,
  unit,
} from './geometry.ts';

/** Draws flat shapes, nets, plans, maps and coordinates. */

const margin = { squares: 1, lettered: 18, axes: 4, none: 5 };
const maxUnit = 46;

type Frame = { unit: number; height: number; at: (point: Point) => Point };

/** Draws a flat picture that is at most `width` wide. */
export function plane({ size = [10, 10], axes, grid, parts }: Plane, width: number): Sketch {
  const [across, down] = axes === undefined ? size : [axes.x[1] - axes.x[0] + 1, axes.y[1] - axes.y[0] + 1];
  const edge = margin[axes === undefined ? (grid ?? 'none') : 'axes'];
  const step = Math.min(maxUnit, (width - 2 * edge) / across, 300 / down);
  const frame: Frame = {
    unit: step,
    height: down * step + 2 * edge,
    at: ([x, y]) =>
      axes === undefined
        ? [edge + x * step, edge + y * step]
        : [edge + (x - axes.x[0] + 0.5) * step, edge + (axes.y[1] - y + 0.5) * step],
  };
  const lines =
    axes === undefined ? (grid === undefined ? null : gridLines(across, down, grid, frame)) : cross(axes, frame);
  // The surfaces cover the kerbs, so that roads are open where they meet.
  const roads = parts.filter((part) => part.part === 'road');
  const others = parts.filter((part) => part.part !== 'road');
  const kerbs = roads.map(({ points }) => html`<path d="${path(points.map(frame.at))}" class="kerb"/>`);
  return {
    width: across * step + 2 * edge,
    height: frame.height,
    svg: html`${lines}${kerbs}${[...roads, ...others].map((part) => drawPart(part, frame))}`,
  };
}

function gridLines(across: number, down: number, grid: 'squares' | 'lettered', { at }: Frame): Markup {
  const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
  const line = (from: Point, to: Point) => html`<path d="${path([at(from), at(to)])}" class="grid"/>`;
  return html`${numbers(across + 1).map((x) => line([x, 0], [x, down]))}${numbers(down + 1).map((y) => line([0, y], [across, y]))}${
    grid === 'squares'
      ? null
      : html`${numbers(across).map((x) => label(add(at([x + 0.5, down]), [0, 13]), String.fromCharCode(65 + x), 'letter'))}${numbers(down).map((y) => label(add(at([0, y + 0.5]), [-9, 4]), down - y, 'letter'))}`
  }`;
}

/** Axes with their numbers. The axes cross at 0. */
function cross({ x, y }: NonNullable<Plane['axes']>, frame: Frame): Markup {
  const numbers = ([from, to]: Point) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const { at } = frame;
  const line = (from: Point, to: Point, kind: string) => html`<path d="${path([at(from), at(to)])}" class="${kind}"/>`;
  const sign = (n: number) => (n < 0 ? `−${-n}` : String(n));
  return html`${numbers(x).map((n) => line([n, y[0] - 0.5], [n, y[1] + 0.5], n === 0 ? 'axis-line' : 'grid'))}${numbers(y).map((n) => line([x[0] - 0.5, n], [x[1] + 0.5, n], n === 0 ? 'axis-line' : 'grid'))}
${numbers(x).map((n) => (n === 0 ? null : label(add(at([n, 0]), [0, 12]), sign(n), 'tag small')))}${numbers(y).map((n) => (n === 0 ? null : label(add(at([0, n]), [-9, 4]), sign(n), 'tag small')))}
${label(add(at([x[1] + 0.5, 0]), [-5, -5]), 'x', 'letter')}${label(add(at([0, y[1] + 0.5]), [9, 9]), 'y', 'letter')}`;
}

function drawPart(part: PlanePart, frame: Frame): Markup {
  const { at, unit: step } = frame;
  switch (part.part) {
    case 'polygon':
      return polygon(part, frame);
    case 'circle':
      return html`<circle cx="${round(at(part.at)[0])}" cy="${round(at(part.at)[1])}" r="${round(part.radius * step)}" class="shape ${part.look ?? 'plain'}"/>`;
    case 'line':
      return line(at(part.from), at(part.to), part.look);
    case 'road':
      return html`<path d="${path(part.points.map(at))}" class="road"/>`;
    case 'text':
      return label(add(at(part.at), [0, 4]), part.text, part.strong === true ? 'tag letter' : 'tag');
    case 'dot':
      return dot(at(part.at), part.text, part.side ?? 'above');
    case 'icon':
      return iconPaths(
        part.name,
        add(at(part.at), [-part.size * step * 0.5, -part.size * step * 0.5]),
        part.size * step,
      );
    case 'north': {
      const tip = at(part.at);
      return html`${arrow(add(tip, [0, 30]), tip)}${label(add(tip, [0, -4]), 'N', 'letter')}`;
    }
  }
}

function dot(at: Point, text: string | undefined, side: 'left' | 'right' | 'above' | 'below'): Markup {
  const away: Record<typeof side, Point> = { left: [-11, 4], right: [11, 4], above: [0, -8], below: [0, 17] };
  return html`<circle cx="${round(at[0])}" cy="${round(at[1])}" r="4" class="dot"/>${text === undefined ? null : label(add(at, away[side]), text, 'tag letter')}`;
}

const arrow = (from: Point, to: Point): Markup =>
  html`<path d="${path([from, to])}" class="edge"/><path d="${arrowHead(from, to)}" class="dot"/>`;

function line(from: Point, to: Point, look: 'plain' | 'dashed' | 'arrow' | 'measure'): Markup {
  if (look === 'arrow') return arrow(from, to);
  if (look !== 'measure') return html`<path d="${path([from, to])}" class="edge ${look}"/>`;
  const across = times(unit(minus(to, from)), 5);
  const end = ([x, y]: Point) => path([add([x, y], [-across[1], across[0]]), add([x, y], [across[1], -across[0]])]);
  return html`<path d="${path([from, to])} ${end(from)} ${end(to)}" class="edge"/>`;
}

function polygon(part: Extract<PlanePart, { part: 'polygon' }>, { at }: Frame): Markup {
  const points = part.points.map(at);
  const isOpen = part.look === 'open';
  const outwards = signedArea(points) > 0 ? -1 : 1;
  const sides = corners(points).slice(0, isOpen ? -1 : undefined);
  const marks = sides.map(({ here, next }, n) => {
    const middle = times(add(here, next), 0.5);
    const along = unit(minus(next, here));
    const out = times([-along[1], along[0]], outwards);
    const text = part.lengths?.[n] ?? '';
    return html`${ticks(middle, along, part.equal?.[n] ?? 0)}${text === '' ? null : label(add(middle, add(times(out, 9), [out[0] * 9, 4])), text, 'tag')}`;
  });
  return html`<path d="${path(points, !isOpen)}" class="shape ${part.look ?? 'plain'}"/>${marks}${sides.map(
    (corner, n) => [
      part.right?.includes(n) === true ? rightAngle(corner) : null,
      (part.angles?.[n] ?? '') === '' ? null : cornerAngle(corner, part.angles![n]!, outwards),
    ],
  )}`;
}

/** Short lines across the middle of a side. Sides with the same number of lines are equally long. */
function ticks(middle: Point, along: Point, count: number): Markup[] {
  const across = times([-along[1], along[0]], 5);
  return Array.from({ length: count }, (_, n) => {
    const centre = add(middle, times(along, (n - (count - 1) / 2) * 4));
    return html`<path d="${path([minus(centre, across), add(centre, across)])}" class="edge"/>`;
  });
}

type Corner = ReturnType<typeof corners>[number];

function rightAngle({ before, here, next }: Corner): Markup {
  const a = times(unit(minus(before, here)), 8);
  const b = times(unit(minus(next, here)), 8);
  return html`<path d="${path([add(here, a), add(here, add(a, b)), add(here, b)])}" class="edge"/>`;
}

/** An arc inside a corner, with the text of its angle. */
function cornerAngle({ before, here, next }: Corner, text: string, outwards: number): Markup {
  const a = times(unit(minus(next, here)), 15);
  const b = times(unit(minus(before, here)), 15);
  const size = angleAt(before, here, next);
  const inward = times(unit(add(a, b)), size > 179 ? 0 : 1);
  const away = size < 50 ? 36 : 27;
  const [from, to] = [add(here, a), add(here, b)];
  return html`<path d="M${round(from[0])} ${round(from[1])} A15 15 0 0 ${outwards < 0 ? 1 : 0} ${round(to[0])} ${round(to[1])}" class="edge thin"/>${label(add(here, add(times(inward, away), [0, 4])), text, 'tag')}`;
}
