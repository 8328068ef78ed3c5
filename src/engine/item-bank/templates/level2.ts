import { pick } from '../../../platform/crypto/random.ts';
import { decimal, type Draw, poundsValue, shuffled, simplest, sum, whole } from './question.ts';
import lists from './lists.json' with { type: 'json' };

export const level2: Record<string, Draw> = {
  l2_percentage_change: (random) => {
    const before = whole(random, 40, 480, 20);
    const percent = pick(random, [5, 10, 15, 20, 25, 30, 35, 45]);
    const change = (before * percent) / 100;
    const up = pick(random, [true, false]);
    const after = up ? before + change : before - change;
    if (change === percent || !Number.isInteger(change)) return null;
    const byAfter = (change * 100) / after;
    return {
      values: {
        moved: up ? 'rose' : 'fell',
        before,
        after,
        way: up ? 'increase' : 'decrease',
        larger: Math.max(before, after),
        smaller: Math.min(before, after),
        change,
      },
      value: percent,
      wrong: [
        change,
        Number.isInteger(byAfter) ? String(byAfter) : decimal(Math.round(byAfter * 10), 1),
        decimal(Math.round((after * 1000) / before), 1),
      ],
    };
  },
  l2_reverse_percentage: (random) => {
    const original = whole(random, 40, 600, 20);
    const percent = pick(random, [10, 15, 20, 25, 30, 40]);
    const paid = (original * (100 - percent)) / 100;
    const added = paid * (100 + percent);
    if (!Number.isInteger(paid) || paid === original - percent || original === percent) return null;
    return {
      values: { percent, paid, left: 100 - percent, original },
      value: `£${poundsValue(original * 100)}`,
      wrong: [
        `£${poundsValue(added)}`,
        `£${poundsValue(paid * (100 - percent))}`,
        `£${poundsValue((paid + percent) * 100)}`,
      ],
    };
  },
  l2_share_in_ratio: (random) => {
    const parts = pick(random, lists.ratios) as [number, number, number];
    const one = whole(random, 60, 450, 10);
    const total = sum(parts) * one;
    const at = whole(random, 1, 2);
    const [first, second, third] = shuffled(random, lists.level2_names) as [string, string, string];
    const who = at === 1 ? second : third;
    return {
      values: {
        first,
        second,
        third,
        ratio: parts.join(' : '),
        total,
        who,
        parts,
        count: sum(parts),
        one,
        part: parts[at],
      },
      value: one * parts[at]!,
      wrong: [one, one * parts[0], poundsValue(Math.floor((total * 100) / parts[at]!))],
    };
  },
  l2_average_speed: (random) => {
    const speed = whole(random, 36, 64, 2);
    const quarters = pick(random, [5, 7, 9, 11]);
    const miles = (speed * quarters) / 4;
    if (!Number.isInteger(miles)) return null;
    const minutes = (quarters % 4) * 15;
    const hours = Math.floor(quarters / 4);
    const asDecimal = Math.round((miles * 1000) / (hours * 100 + minutes));
    return {
      values: { miles, hours, s: hours > 1 ? 's' : '', minutes, time: quarters * 25 },
      value: speed,
      wrong: [decimal(asDecimal, 1), decimal(Math.round((miles * 10) / hours), 1), decimal(miles * quarters * 25, 2)],
    };
  },
  l2_cylinder_litres: (random) => {
    const radius = pick(random, [10, 20, 30, 40, 50]);
    const height = whole(random, 30, 120, 10);
    const litres = (314 * radius * radius * height) / 100_000;
    const key = Math.round(litres);
    const withPi = (Math.PI * radius * radius * height) / 1000;
    const clear = (value: number) => Math.abs(value - Math.floor(value) - 0.5) > 0.05;
    if (Math.round(withPi) !== key || !clear(litres) || !clear(withPi) || key < 12 || radius === height) return null;
    return {
      values: { radius, height, volume: Math.round(litres * 1000) },
      value: key,
      wrong: [
        Math.round((2 * 3.14 * radius * height) / 1000),
        Math.round(litres * 4),
        Math.round((radius * radius * height) / 1000),
      ],
    };
  },
  l2_take_home: (random) => {
    const rate = whole(random, 1420, 1990, 10);
    const hours = whole(random, 32, 40);
    const gross = rate * hours;
    const allowance = 24_200;
    const tax = ((gross - allowance) * 20) / 100;
    if (!Number.isInteger(tax)) return null;
    const net = gross - tax;
    return {
      values: { hours, rate, gross, taxed: gross - allowance, tax, net },
      value: poundsValue(net),
      wrong: [poundsValue((gross * 80) / 100), poundsValue(tax), poundsValue(((gross - allowance) * 80) / 100)],
    };
  },
  l2_mean_of_frequencies: (random) => {
    const values = [0, 1, 2, 3, 4];
    const counts = values.map(() => whole(random, 2, 12));
    const people = sum(counts);
    const total = sum(values.map((value, at) => value * counts[at]!));
    if (people % 10 !== 0 || people > 50) return null;
    const hundredths = (total * 100) / people;
    if (!Number.isInteger(hundredths) || total === sum(values) * 5 || hundredths === 200) return null;
    return {
      values: { people, products: values.map((value, at) => `${value} × ${counts[at]}`).join(' + '), total },
      rows: values.map((value, at) => [String(value), String(counts[at])]),
      value: decimal(hundredths, 2),
      wrong: ['2', decimal(people * 2, 1), decimal(total * 2, 1)],
    };
  },
  l2_both_happen: (random) => {
    const tenths = [whole(random, 1, 9), whole(random, 1, 9)] as const;
    const [a, b] = tenths;
    if (a === b || a === 5 || a + b === 10 || (a * b) % 10 === 0) return null;
    const right = a * b;
    return {
      values: { a, b },
      value: decimal(right, 2),
      wrong: [decimal(a + b, 1), decimal(100 - right, 2), decimal(right, 1)],
    };
  },
  l2_fraction_left: (random) => {
    const [a, b] = pick(random, lists.fraction_pairs) as [[number, number], [number, number]];
    const n = a[0] * b[1] + b[0] * a[1];
    const d = a[1] * b[1];
    return {
      values: { a, b, spent: simplest(n, d) },
      value: simplest(d - n, d),
      wrong: [simplest(n, d), `${a[1] + b[1] - a[0] - b[0]}/${a[1] + b[1]}`],
    };
  },
};
