import { type Markup, html } from '../../../../platform/html/html.ts';
import type { Angle, Compass } from '../../../../engine/item-bank/drawn-shapes.ts';
import { round } from '../parts.ts';
import type { Sketch } from './geometry.ts';
import { add, arrowHead, label, type Point, path, polar } from './geometry.ts';

/** Draws angles, with or without a protractor, and compasses. */

/** Draws an angle that is at most `width` wide. */
export function angle(shape: Angle, width: number): Sketch {
  if (shape.protractor === true) return onProtractor(shape, width);
  const reach = Math.min(width / 2 - 6, 62);
  const ends = [shape.start, shape.start + shape.size].map((turn) => polar([0, 0], reach, turn));
  const arc = 20;
  const middle = polar([0, 0], arc + 18, shape.start + shape.size / 2);
  const all: Point[] = [[0, 0], ...ends, ...arcPoints(arc + (shape.text === undefined ? 0 : 26), shape)];
  const [left, top] = [Math.min(...all.map(([x]) => x)), Math.min(...all.map(([, y]) => y))];
  const [right, bottom] = [Math.max(...all.map(([x]) => x)), Math.max(...all.map(([, y]) => y))];
  const svg = html`<g transform="translate(${round(6 - left)} ${round(6 - top)})">${armsAndArc(ends, shape, arc)}${
    shape.text === undefined ? null : label(add(middle, [0, 4]), shape.text, 'tag')
  }</g>`;
  return { width: right - left + 12, height: bottom - top + 12, svg };
}

const arcPoints = (radius: number, { start, size }: Angle): Point[] =>
  Array.from({ length: 13 }, (_, n) => polar([0, 0], radius, start + (size * n) / 12));

function armsAndArc(ends: readonly Point[], shape: Angle, arc: number): Markup {
  const [from, corner, to] = [0, 0.5, 1].map((share) => polar([0, 0], arc, shape.start + shape.size * share));
  const square = Math.SQRT2 * 12;
  const mark =
    shape.size === 90
      ? path([
          polar([0, 0], 12, shape.start),
          polar([0, 0], square, shape.start + 45),
          polar([0, 0], 12, shape.start + 90),
        ])
      : `M${from!.map(round).join(' ')} A${arc} ${arc} 0 0 0 ${corner!.map(round).join(' ')} A${arc} ${arc} 0 0 0 ${to!.map(round).join(' ')}`;
  return html`<path d="${path([ends[0]!, [0, 0], ends[1]!])}" class="arm"/><path d="${mark}" class="edge thin"/>`;
}

/** A half-round protractor with marks of 1, 5 and 10 degrees, and numbers from both ends. */
function onProtractor(shape: Angle, width: number): Sketch {
  const r = Math.min(width / 2 - 6, 146);
  const centre: Point = [r + 6, r + 8];
  const marks = Array.from({ length: 181 }, (_, n) => n).map((n) => {
    const long = n % 10 === 0 ? 10 : n % 5 === 0 ? 7 : 4;
    return path([polar(centre, r, n), polar(centre, r - long, n)]);
  });
  const numbers = Array.from({ length: 19 }, (_, n) => n * 10);
  const number = (n: number, distance: number, text: number) =>
    label(add(polar(centre, distance, n), [0, 3]), text, 'scale');
  // The numbers at the ends are above the base line.
  const placed = (n: number) => (n === 0 ? 2.6 : n === 180 ? 177.4 : n);
  // An arm in line with numbers leaves them free.
  const arms = [shape.start, shape.start + shape.size].map((turn) => {
    const [near, far] = turn % 10 === 0 ? [r - 40, r - 11] : [r, r];
    return `${path([centre, polar(centre, near, turn)])} ${path([polar(centre, far, turn), polar(centre, r + 5, turn)])}`;
  });
  return {
    width: 2 * r + 12,
    height: r + 20,
    svg: html`<path d="M${round(centre[0] - r)} ${round(centre[1])} A${round(r)} ${round(r)} 0 0 1 ${round(centre[0] + r)} ${round(centre[1])} Z" class="shape plain"/><path d="${marks.join(' ')}" class="edge thin"/>
${numbers.map((n) => html`${number(placed(n), r - 17, 180 - n)}${number(placed(n), r - 32, n)}`)}
<path d="${arms.join(' ')}" class="arm"/><circle cx="${centre[0]}" cy="${centre[1]}" r="3" class="dot"/>`,
  };
}

const compassNames = ['N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW'];

/** Draws a compass with eight points. */
export function compass({ named, arrow }: Compass, width: number): Sketch {
  const r = Math.min(width / 2 - 24, 64);
  const centre: Point = [r + 24, r + 20];
  const shown = { north: [0], four: [0, 2, 4, 6], eight: [0, 1, 2, 3, 4, 5, 6, 7] }[named];
  const lines = compassNames.map((_, n) => path([centre, polar(centre, n % 2 === 0 ? r : r * 0.8, 90 - n * 45)]));
  const names = shown.map((n) =>
    label(add(polar(centre, (n % 2 === 0 ? r : r * 0.8) + 13, 90 - n * 45), [0, 4]), compassNames[n]!, 'letter'),
  );
  const tip = arrow === undefined ? null : polar(centre, r * 0.72, 90 - arrow);
  return {
    width: 2 * r + 48,
    height: 2 * r + 40,
    svg: html`<path d="${lines.join(' ')}" class="edge thin"/>${names}${tip === null ? null : html`<path d="${path([centre, tip])}" class="arm"/><path d="${arrowHead(centre, tip)}" class="dot"/>`}<circle cx="${centre[0]}" cy="${centre[1]}" r="4" class="dot"/>`,
  };
}
