import { pick } from '../../../platform/crypto/random.ts';
import lists from './lists.json' with { type: 'json' };
import { type Draw, poundsValue, whole } from './question.ts';

const smallerFromLarger = (a: number, b: number): number =>
  [100, 10, 1].reduce(
    (total, place) => total + place * Math.abs((Math.floor(a / place) % 10) - (Math.floor(b / place) % 10)),
    0,
  );

/** Each place has its own template, because rounding to 100 is harder than rounding to 10. */
const rounding =
  (place: 10 | 100): Draw =>
  (random) => {
    const number = whole(random, 152, 948);
    const rest = number % place;
    if (rest === 0 || rest === place / 2 || number % 10 === 0 || number % 10 === 5) return null;
    const down = number - rest;
    const up = down + place;
    const isDown = rest < place / 2;
    const otherPlace = 1000 / place;
    return {
      values: { number, place, down, up, otherPlace },
      value: isDown ? down : up,
      wrong: [isDown ? up : down, Math.round(number / otherPlace) * otherPlace],
    };
  };

export const entry3: Record<string, Draw> = {
  e3_stock_left: (random) => {
    const stock = whole(random, 412, 930);
    const sold = whole(random, 126, 388);
    const left = stock - sold;
    if (stock % 10 >= sold % 10 || stock % 10 === 0 || left < 100) return null;
    return { values: { stock, sold }, value: left, wrong: [smallerFromLarger(stock, sold), left + 10, stock + sold] };
  },
  e3_round: rounding(10),
  e3_round_100: rounding(100),
  e3_fraction_of: (random) => {
    const [n, d, word] = pick(random, lists.fractions) as [number, number, string];
    const part = whole(random, 4, 15);
    const total = part * d;
    return { values: { total, word, d, part, n }, value: part * n, wrong: [part, total - part * n] };
  },
  e3_bill: (random) => {
    const count = whole(random, 3, 6);
    const price = whole(random, 135, 485, 5);
    const total = count * price;
    if (price % 100 === 0 || (price % 100) * count < 100) return null;
    const pence = price % 100;
    return {
      values: { count, price },
      value: poundsValue(total),
      wrong: [
        poundsValue((price - pence) * count + pence),
        poundsValue((price - pence) * count + ((pence * count) % 100)),
        poundsValue(price + count * 100),
      ],
    };
  },
  e3_weekly_pay: (random) => {
    const hours = whole(random, 14, 38);
    const rate = whole(random, 14, 19);
    const total = hours * rate;
    if (total > 600 || hours % 10 === 0 || hours === rate) return null;
    const [tens, ones] = [hours - (hours % 10), hours % 10];
    return {
      values: { hours, rate, over: rate - 10, byTen: hours * 10, byRest: hours * (rate - 10) },
      value: total,
      wrong: [tens * 10 + ones * (rate - 10), hours + rate, hours * (rate - 9)],
    };
  },
  e3_minutes_between: (random) => {
    const start = whole(random, 7 * 60 + 20, 16 * 60 + 55, 5);
    const length = whole(random, 35, 115, 5);
    const end = start + length;
    const crosses = Math.floor(end / 60) - Math.floor(start / 60);
    if (
      start % 60 === 0 ||
      end % 60 === 0 ||
      crosses < 1 ||
      end % 60 >= start % 60 ||
      [60, start % 60, end % 60].includes(length)
    )
      return null;
    const asHundreds = Math.floor(end / 60) * 100 + (end % 60) - Math.floor(start / 60) * 100 - (start % 60);
    return {
      values: {
        start,
        end,
        nextHour: start - (start % 60) + 60,
        before: 60 - (start % 60),
        after: length - 60 + (start % 60),
      },
      value: length,
      wrong: [asHundreds, length + 60],
    };
  },
  e3_line_change: (random) => {
    const shown = ['8 am', '10 am', '12 noon', '2 pm', '4 pm'];
    const start = whole(random, 6, 12);
    const points = [
      start,
      start + whole(random, 1, 4),
      start + whole(random, 5, 7),
      start + whole(random, 8, 11),
      start + whole(random, 3, 6),
    ];
    const from = whole(random, 0, 1);
    const to = whole(random, 2, 3);
    const rise = points[to]! - points[from]!;
    if (
      new Set(points).size < 5 ||
      points.includes(rise) ||
      [2, 8, 10, 12].includes(rise) ||
      rise < 2 ||
      points[4]! <= points[from]!
    )
      return null;
    return {
      values: { early: shown[from], late: shown[to], low: points[from], high: points[to] },
      points: shown.map((label, at) => ({ label, value: points[at]! })),
      value: rise,
      wrong: [points[to], points[to]! + points[from]!, points[4]! - points[from]!],
    };
  },
};
