import { html } from '../../../platform/html/html.ts';
import type { DrawingOf } from '../../../engine/item-bank/drawings.ts';
import { type Drawn, fullWidth, many, round } from './parts.ts';

const size = 25;

/** Draws rows of equal boxes to count. The words give the rows, because a sum of rows is the task. */
export function counters({ rows, thing }: DrawingOf<'counters'>): Drawn {
  const left = (fullWidth - Math.max(...rows) * size) / 2;
  const body = rows.flatMap((count, row) =>
    Array.from(
      { length: count },
      (_, at) =>
        html`<rect x="${round(left + at * size + 3)}" y="${row * size + 5}" width="${size - 6}" height="${size - 6}" rx="4" class="mark"/>`,
    ),
  );
  const words = `${many(rows.length, 'row')} of ${thing}, from the top: ${rows.join(', ')}.`;
  return { width: fullWidth, height: rows.length * size + 6, body: html`${body}`, words };
}
