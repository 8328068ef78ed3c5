import { pick } from '../../../platform/crypto/random.ts';
import { decimal, type Draw, several, simplest, sum, whole } from './question.ts';
import lists from './lists.json' with { type: 'json' };

export const level1: Record<string, Draw> = {
  l1_percentage_of: (random) => {
    const percent = pick(random, [15, 35, 45, 55, 65, 85, 95]);
    const total = whole(random, 80, 600, 20);
    const part = (total * percent) / 100;
    if (percent === part || total === percent) return null;
    return {
      values: { total, percent, rest: 100 - percent },
      value: part,
      wrong: [total - part, total % percent === 0 ? total / percent : null, decimal(part, 1)],
    };
  },
  l1_recipe: (random) => {
    const [from, to] = pick(random, lists.recipe_people) as [number, number];
    const each = whole(random, 20, 75, 5);
    const given = each * from;
    return {
      values: { from, given, to, each, more: to - from },
      value: each * to,
      wrong: [given + (to - from), given * 2, given * to],
    };
  },
  l1_call_out: (random) => {
    const fixed = whole(random, 20, 60, 5);
    const rate = whole(random, 16, 38, 2);
    const hours = whole(random, 2, 6);
    if (fixed === rate) return null;
    const total = fixed + rate * hours;
    return {
      values: { fixed, rate, hours, work: rate * hours },
      value: total,
      wrong: [(fixed + rate) * hours, rate * hours, fixed + rate + hours],
    };
  },
  l1_sale_price: (random) => {
    const percent = pick(random, [5, 10, 15, 20, 25, 30, 35, 40]);
    const price = whole(random, 40, 480, 20);
    const off = (price * percent) / 100;
    const right = price - off;
    if (percent === off || right === price - percent || off === right) return null;
    return {
      values: { price, percent, off, right },
      value: `£${right}`,
      wrong: [`£${price - percent}`, `£${off}`, `£${price + off}`],
    };
  },
  l1_fence: (random) => {
    const length = whole(random, 12, 38);
    const width = whole(random, 6, 20);
    const gate = whole(random, 1, 3);
    if (length <= width + 2) return null;
    const round = 2 * (length + width);
    return {
      values: { length, width, gate, round },
      value: round - gate,
      wrong: [round, length + width - gate, length * width - gate, round + gate],
    };
  },
  l1_simple_interest: (random) => {
    const principal = whole(random, 200, 4000, 100);
    const percent = pick(random, [5, 10, 15]);
    const years = whole(random, 2, 5);
    const yearly = (principal * percent) / 100;
    return {
      values: { loan: principal * 100, percent, years, year: yearly * 100, all: yearly * years * 100 },
      value: yearly * years,
      wrong: [yearly, principal + yearly * years, percent * years],
    };
  },
  l1_map_scale: (random) => {
    const scale = pick(random, [2, 6, 4, 12, 8]);
    const tenths = whole(random, 25, 95, 5);
    if (tenths % 10 === 0 || tenths === scale * 10) return null;
    const km = tenths * scale;
    const [from, to] = several(random, 2, ['a station', 'a school', 'a campsite', 'a clinic', 'a farm', 'a bridge']);
    return {
      values: { scale, from, to, tenths },
      value: decimal(km, 1),
      wrong: [decimal(Math.floor(tenths / 10) * scale * 10 + (tenths % 10), 1), decimal(tenths + scale * 10, 1), km],
    };
  },
  l1_mean: (random) => {
    const count = pick(random, [4, 5, 6]);
    const values = Array.from({ length: count }, () => whole(random, 8, 42));
    const total = sum(values);
    if (total % count !== 0 || new Set(values).size < count || values.includes(total / count)) return null;
    const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].slice(0, count);
    const sorted = [...values].sort((a, b) => a - b);
    return {
      values: { values, total, count },
      rows: days.map((day, at) => [day, String(values[at])]),
      value: total / count,
      wrong: [total, sorted[count - 1]! - sorted[0]!, values[Math.floor(count / 2)]],
    };
  },
  l1_probability: (random) => {
    const counts = [whole(random, 2, 9), whole(random, 2, 9), whole(random, 2, 9)] as const;
    const total = sum(counts);
    const [wanted, other] = counts;
    const value = simplest(wanted, total);
    if (total % 2 !== 0 || value === `${wanted}/${total}` || value === '1/2' || wanted === other) return null;
    return {
      values: { wanted, other, counts, total },
      value,
      wrong: [`${wanted}/${total - wanted}`, '1/3', `1/${total}`],
    };
  },
};
