import type { Drawing, DrawingOf } from '../../../engine/item-bank/drawings.ts';
import type { Figure } from '../../../engine/item-bank/schema.ts';
import { type Markup, html } from '../../../platform/html/html.ts';
import { clocks } from './clocks.ts';
import { counters } from './counters.ts';
import { graphs } from './graphs.ts';
import { money } from './money.ts';
import type { Drawn } from './parts.ts';
import { scales } from './scales.ts';
import { shapes } from './shapes/shapes.ts';

const families: { [K in Drawing['kind']]: (figure: DrawingOf<K>) => Drawn } = {
  clocks,
  counters,
  graphs,
  money,
  scales,
  shapes,
};

export const isDrawing = (figure: Figure): figure is Drawing => Object.hasOwn(families, figure.kind);

export const drawn = (figure: Drawing): Drawn => (families[figure.kind] as (figure: Drawing) => Drawn)(figure);

/** Shows a drawing. Its text alternative says what can be seen, and leaves the reading to the learner. */
export function drawingHtml(figure: Drawing): Markup {
  const { width, height, body, words } = drawn(figure);
  return html`<figure class="chart ${figure.kind}"><figcaption>${figure.caption}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${words}">${body}</svg></figure>`;
}
