import { type Markup, html } from '../../../platform/html/html.ts';

/** A drawing in its own units, and the same facts in words. */
export type Drawn = { width: number; height: number; body: Markup; words: string };
export type Panel = Drawn & { name?: string | undefined };

/** A width of 320 units keeps text of 12 units readable on a phone. */
export const fullWidth = 320;

export const round = (value: number): number => Math.round(value * 100) / 100;
export const short = (value: number): string => String(round(value)).replace('-', '−');

/** A point on a circle, by the share of a full turn from the top. */
export const onCircle = (x: number, y: number, radius: number, turn: number) => ({
  x: round(x + radius * Math.sin(2 * Math.PI * turn)),
  y: round(y - radius * Math.cos(2 * Math.PI * turn)),
});

export const line = (x1: number, y1: number, x2: number, y2: number, className: string): Markup =>
  html`<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" class="${className}"/>`;

export const text = (x: number, y: number, words: string, size = 12, anchor = 'middle'): Markup =>
  html`<text x="${round(x)}" y="${round(y)}" font-size="${size}" text-anchor="${anchor}">${words}</text>`;

export const polygon = (points: readonly { x: number; y: number }[], className: string): Markup =>
  html`<polygon points="${points.map(({ x, y }) => `${round(x)},${round(y)}`).join(' ')}" class="${className}"/>`;

export const many = (count: number, one: string, several = `${one}s`): string =>
  `${count === 0 ? 'no' : count} ${count === 1 ? one : several}`;

/** Lays panels out in rows of equal columns, each with its name below it, and joins their words. */
export function arranged(panels: readonly Panel[], columns = panels.length): Drawn {
  const column = fullWidth / columns;
  const label = panels.some(({ name }) => name !== undefined) ? 24 : 0;
  const rows = Array.from({ length: Math.ceil(panels.length / columns) }, (_, row) =>
    panels.slice(row * columns, (row + 1) * columns),
  );
  let top = 0;
  const body = rows.map((row) => {
    const scaleOf = ({ width }: Panel) => Math.min(1, (column - 8) / width);
    const height = Math.max(...row.map((panel) => panel.height * scaleOf(panel)));
    const drawn = row.map((panel, at) => {
      const scale = scaleOf(panel);
      const left = column * at + (column - panel.width * scale) / 2;
      return html`<g transform="translate(${round(left)} ${round(top)}) scale(${round(scale)})">${panel.body}</g>
${panel.name === undefined ? null : html`<text x="${round(column * (at + 0.5))}" y="${round(top + height + 15)}" text-anchor="middle" class="axis">${panel.name}</text>`}`;
    });
    top += height + label + 4;
    return drawn;
  });
  const words = panels.map((panel) => (panel.name === undefined ? panel.words : `${panel.name}: ${panel.words}`));
  return { width: fullWidth, height: round(top), body: html`${body}`, words: words.join(' ') };
}
