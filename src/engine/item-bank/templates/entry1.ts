import { type Draw, several, whole } from './question.ts';
import lists from './lists.json' with { type: 'json' };

export const entry1: Record<string, Draw> = {
  e1_add_more: (random) => {
    const first = whole(random, 4, 12);
    const more = whole(random, 3, 8);
    const total = first + more;
    if (total > 20 || total < 10 || first === more) return null;
    return { values: { first, more }, value: total, wrong: [Math.abs(first - more), total - 1] };
  },
  e1_take_away: (random) => {
    const first = whole(random, 11, 20);
    const gone = whole(random, 3, 9);
    const left = first - gone;
    if (left < 3 || left === gone) return null;
    return { values: { first, gone }, value: left, wrong: [left + 1, first + gone] };
  },
  e1_hours_later: (random) => {
    const start = whole(random, 1, 5);
    const hours = whole(random, 2, 4);
    const end = start + hours;
    if (start === hours) return null;
    return { values: { start, hours }, value: end, wrong: [end - 1, hours] };
  },
  e1_change_from_20p: (random) => {
    const price = whole(random, 6, 17);
    const change = 20 - price;
    if (price === 10) return null;
    return { values: { price }, value: change, wrong: [change + 1, price] };
  },
  e1_table_more: (random) => {
    const shown = several(random, 3, lists.days);
    const counts = shown.map(() => whole(random, 3, 19));
    const [a, b, c] = counts as [number, number, number];
    if (a - b < 3 || new Set(counts).size < 3 || a - b === b || a - b === c || a - c === a - b) return null;
    const rows = shown
      .map((day, at) => [day, String(counts[at])])
      .sort((one, other) => lists.days.indexOf(one[0]!) - lists.days.indexOf(other[0]!));
    return { values: { shown, a, b }, rows, value: a - b, wrong: [a, a + b, Math.abs(a - c)] };
  },
};
