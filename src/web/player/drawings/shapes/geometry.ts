import { type Markup, html } from '../../../../platform/html/html.ts';
import { round } from '../parts.ts';

/** Points, lines and labels that all families of drawings share. */

export type Point = [x: number, y: number];

/** One shape in its own units. */
export type Sketch = { width: number; height: number; svg: Markup };

export const add = (a: Point, b: Point): Point => [a[0] + b[0], a[1] + b[1]];
export const minus = (a: Point, b: Point): Point => [a[0] - b[0], a[1] - b[1]];
export const times = (a: Point, factor: number): Point => [a[0] * factor, a[1] * factor];
export const length = ([x, y]: Point): number => Math.hypot(x, y);

export function unit(a: Point): Point {
  return times(a, 1 / (length(a) || 1));
}

/** The point at a distance from a centre, in degrees anticlockwise from the right. */
export function polar([x, y]: Point, distance: number, degrees: number): Point {
  const angle = (degrees * Math.PI) / 180;
  return [x + distance * Math.cos(angle), y - distance * Math.sin(angle)];
}

export function path(points: readonly Point[], isClosed = false): string {
  return `M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join(' L')}${isClosed ? ' Z' : ''}`;
}

/** Each corner of a polygon with its neighbours. */
export function corners(points: readonly Point[]): { before: Point; here: Point; next: Point }[] {
  return points.map((here, n) => ({
    before: points.at(n - 1)!,
    here,
    next: points[(n + 1) % points.length]!,
  }));
}

/** Twice the area. It is positive if the corners go clockwise on the page. */
export function signedArea(points: readonly Point[]): number {
  return corners(points).reduce((sum, { here, next }) => sum + here[0] * next[1] - next[0] * here[1], 0);
}

/** The angle of a corner in degrees, from 0 to 180. */
export function angleAt(before: Point, here: Point, next: Point): number {
  const [a, b] = [minus(before, here), minus(next, here)];
  return (Math.acos((a[0] * b[0] + a[1] * b[1]) / (length(a) * length(b))) * 180) / Math.PI;
}

export function arrowHead(from: Point, to: Point): string {
  const back = times(unit(minus(from, to)), 9);
  const across: Point = [-back[1] * 0.5, back[0] * 0.5];
  return path([to, add(to, add(back, across)), add(to, minus(back, across))], true);
}

export function label([x, y]: Point, text: string | number, kind = ''): Markup {
  return html`<text x="${round(x)}" y="${round(y)}" text-anchor="middle" class="${kind}">${text}</text>`;
}
