import { pick } from '../../../platform/crypto/random.ts';
import { type Draw, several, whole } from './question.ts';

export const entry2: Record<string, Draw> = {
  e2_add_carry: (random) => {
    const first = whole(random, 26, 98);
    const second = whole(random, 25, 97);
    if ((first % 10) + (second % 10) < 10 || first === second || first % 10 === 0 || second % 10 === 0) return null;
    const total = first + second;
    const uncarried = Math.floor(first / 10) * 10 + Math.floor(second / 10) * 10 + ((first + second) % 10);
    return { values: { first, second }, value: total, wrong: [uncarried, Math.abs(first - second)] };
  },
  e2_groups: (random) => {
    const groups = whole(random, 3, 9);
    const each = pick(random, [4, 6, 8, 9, 11, 12]);
    if (groups === each || groups * each < 20) return null;
    return { values: { groups, each }, value: groups * each, wrong: [groups + each, groups * (each - 1)] };
  },
  e2_left_over: (random) => {
    const size = whole(random, 3, 9);
    const full = whole(random, 3, 9);
    const over = whole(random, 1, size - 1);
    const total = size * full + over;
    if (total > 80 || over === full) return null;
    return { values: { total, size, full, packed: size * full }, value: over, wrong: [full, size - over] };
  },
  e2_change_from_pound: (random) => {
    const first = whole(random, 15, 55);
    const second = whole(random, 12, 45);
    const change = 100 - first - second;
    if (change < 5 || first === second || change === first || change === second || (first + second) % 10 === 0)
      return null;
    return {
      values: { first, second, cost: first + second },
      value: change,
      wrong: [first + second, 100 - first, change + 10],
    };
  },
  e2_hours_open: (random) => {
    const open = whole(random, 7, 11);
    const close = whole(random, 15, 19);
    if (close - open === open) return null;
    return {
      values: { opens: open * 60, closes: close * 60, close, open, misread: close - 10 },
      value: close - open,
      wrong: [close + 2 - open, close - open + 1],
    };
  },
  e2_bar_compare: (random) => {
    const labels = several(random, 4, ['Walk', 'Bus', 'Car', 'Bike', 'Train']);
    const counts = labels.map(() => whole(random, 8, 60, 2));
    const [a, b] = counts as [number, number];
    const gap = a - b;
    if (new Set(counts).size < 4 || gap < 6 || gap === b || counts.includes(gap)) return null;
    return {
      values: { labels, a, b },
      points: labels
        .map((label, at) => ({ label, value: counts[at]! }))
        .sort((one, other) => (one.label < other.label ? -1 : 1)),
      value: gap,
      wrong: [a + b, a, b],
    };
  },
};
