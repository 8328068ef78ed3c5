import { pick } from '../../../platform/crypto/random.ts';
import lists from './lists.json' with { type: 'json' };
import { decimal, type Draw, poundsValue, simplest, sum, whole } from './question.ts';

/** Whether `value` is far enough from a rounding boundary that rounding early or late gives the same answer. */
function clearRounding(value: number, places: number): boolean {
  const scaled = value * 10 ** places;
  return Math.abs(scaled - Math.floor(scaled) - 0.5) > 0.1;
}

const rounded = (value: number, places: number): string => decimal(Math.round(value * 10 ** places), places);

/** Compound growth of `tenths` tenths of a percent a year. Whole numbers keep the amount exact until it is rounded. */
function compound(pence: number, tenths: number, years: number): number {
  const top = BigInt(pence) * BigInt(1000 + tenths) ** BigInt(years);
  const bottom = 1000n ** BigInt(years);
  return Number((2n * top + bottom) / (2n * bottom));
}

export const level3: Record<string, Draw> = {
  l3_compound_interest: (random) => {
    const principal = whole(random, 1500, 9500, 500) * 100;
    const tenths = whole(random, 22, 58, 2);
    const years = whole(random, 3, 6);
    const total = compound(principal, tenths, years);
    let yearly = principal;
    for (let year = 0; year < years; year += 1) yearly = compound(yearly, tenths, 1);
    if (Math.abs(yearly - total) > 1 || !clearRounding(principal * (1 + tenths / 1000) ** years, 0)) return null;
    const rate = decimal(tenths, 1);
    return {
      values: { principal, rate, years, factor: 1000 + tenths, total, fewer: years - 1 },
      value: poundsValue(total),
      wrong: [
        poundsValue(principal + Math.round((principal * tenths * years) / 1000)),
        poundsValue(total - principal),
        poundsValue(compound(principal, tenths, years - 1)),
      ],
    };
  },
  l3_years_to_fall: (random) => {
    const price = whole(random, 12_000, 36_000, 1000);
    const percent = pick(random, [12, 14, 15, 16, 18, 20, 22]);
    const limit = whole(random, 4000, 9000, 500);
    const worth = (years: number) => price * (1 - percent / 100) ** years;
    let years = 0;
    while (worth(years) >= limit) years += 1;
    if (years < 4 || years > 9 || worth(years) > limit * 0.985 || worth(years - 1) < limit * 1.015) return null;
    const straight = Math.ceil((price - limit) / ((price * percent) / 100));
    return {
      values: {
        price,
        percent,
        limit,
        before: years - 1,
        left: 100 - percent,
        worthBefore: Math.round(worth(years - 1)),
        worthThen: Math.round(worth(years)),
      },
      value: years,
      wrong: [straight, years - 1, years + 1],
    };
  },
  l3_two_prices: (random) => {
    const adult = whole(random, 700, 1600, 50);
    const child = whole(random, 350, 900, 50);
    const [a, b, c, d] = pick(random, lists.tickets) as [number, number, number, number];
    if (adult - child < 150) return null;
    const first = a * adult + b * child;
    const second = c * adult + d * child;
    const people = (n: number, singular: string, plural: string) => `${n} ${n === 1 ? singular : plural}`;
    const term = (n: number, letter: string) => (n === 1 ? letter : `${n}${letter}`);
    return {
      values: {
        adults1: people(a, 'adult', 'adults'),
        children1: people(b, 'child', 'children'),
        first,
        adults2: people(c, 'adult', 'adults'),
        children2: people(d, 'child', 'children'),
        second,
        a1: term(a, 'a'),
        c1: term(b, 'c'),
        a2: term(c, 'a'),
        c2: term(d, 'c'),
        d,
        b,
        a3: term(a * d, 'a'),
        c3: term(b * d, 'c'),
        third: first * d,
        a4: term(b * c, 'a'),
        fourth: second * b,
        times: Math.abs(a * d - b * c),
        gap: Math.abs(first * d - second * b),
        child,
      },
      value: poundsValue(adult),
      wrong: [poundsValue(child), poundsValue(Math.floor(first / (a + b))), poundsValue(adult + child)],
    };
  },
  l3_rectangle_sides: (random) => {
    const width = whole(random, 6, 19);
    const more = whole(random, 3, 14);
    if (width === more) return null;
    const area = width * (width + more);
    return {
      values: { more, area, length: width + more },
      value: width,
      wrong: [width + more, rounded(Math.sqrt(area), 1), rounded(area / more, 1)],
    };
  },
  l3_height_from_angle: (random) => {
    const distance = whole(random, 18, 60);
    const degrees = whole(random, 24, 58);
    const eye = whole(random, 145, 175, 5);
    const radians = (degrees * Math.PI) / 180;
    const height = distance * Math.tan(radians) + eye / 100;
    if (!clearRounding(height, 1) || degrees === 45 || Math.round(height * 10) % 10 === 0) return null;
    return {
      values: { distance, degrees, eye, rise: rounded(height - eye / 100, 2) },
      value: rounded(height, 1),
      wrong: [
        rounded(height - eye / 100, 1),
        rounded(distance * Math.sin(radians) + eye / 100, 1),
        rounded(distance / Math.tan(radians) + eye / 100, 1),
      ],
    };
  },
  l3_fill_a_tank: (random) => {
    const [length, width, depth] = [whole(random, 12, 40, 2), whole(random, 5, 15), whole(random, 4, 9)];
    const litres = length * width * depth;
    const rate = pick(random, [8, 12, 15, 16, 18, 20, 24, 25]);
    const minutes = litres / rate;
    if (!Number.isInteger(minutes) || minutes < 30 || minutes > 240 || width === depth) return null;
    return {
      values: { length, width, depth, rate, litres },
      value: minutes,
      wrong: [decimal(minutes, 1), minutes * 10, litres * rate],
    };
  },
  l3_two_without_replacement: (random) => {
    const good = whole(random, 4, 11);
    const bad = whole(random, 3, 8);
    const all = good + bad;
    if (good === bad) return null;
    return {
      values: { good, bad, all, badLeft: bad - 1, allLeft: all - 1, top: bad * (bad - 1), bottom: all * (all - 1) },
      value: simplest(bad * (bad - 1), all * (all - 1)),
      wrong: [
        simplest(bad * bad, all * all),
        simplest(bad * (bad - 1), all * all),
        simplest(good * (good - 1), all * (all - 1)),
      ],
    };
  },
  l3_at_least_one: (random) => {
    const tenths = whole(random, 1, 7);
    const trials = pick(random, [3, 4]);
    const none = (10 - tenths) ** trials;
    const value = 10 ** trials - none;
    if (tenths === 5) return null;
    return {
      values: { tenths, trials, missed: 10 - tenths, never: decimal(none, trials) },
      value: decimal(value, trials),
      wrong: [decimal(none, trials), decimal(tenths ** trials, trials), decimal(tenths * trials, 1)],
    };
  },
  l3_interquartile_range: (random) => {
    const values = Array.from({ length: 11 }, () => whole(random, 12, 68)).sort((a, b) => a - b);
    const [lower, upper] = [values[2]!, values[8]!];
    const range = values[10]! - values[0]!;
    if (
      new Set(values).size < 11 ||
      upper - lower === range ||
      upper - lower < 8 ||
      [11, ...values].includes(upper - lower)
    )
      return null;
    return {
      values: { values, lower, upper },
      value: upper - lower,
      wrong: [range, values[5], values[7]! - values[3]!],
    };
  },
  l3_standard_deviation: (random) => {
    const values = Array.from({ length: 5 }, () => whole(random, 8, 40));
    const total = sum(values);
    if (total % 5 !== 0) return null;
    const mean = total / 5;
    const squares = sum(values.map((value) => (value - mean) ** 2));
    const deviation = Math.sqrt(squares / 5);
    if (
      !clearRounding(deviation, 1) ||
      Math.round(deviation * 10) % 10 === 0 ||
      deviation < 2 ||
      deviation > 9.9 ||
      new Set(values).size < 5
    )
      return null;
    return {
      values: {
        values,
        total,
        mean,
        summands: values.map((value) => (value - mean) ** 2).join(' + '),
        squares,
        variance: squares * 2,
      },
      value: rounded(deviation, 1),
      wrong: [
        decimal(squares * 2, 1),
        rounded(Math.sqrt(squares / 4), 1),
        rounded(sum(values.map((value) => Math.abs(value - mean))) / 5, 1),
      ],
    };
  },
};
