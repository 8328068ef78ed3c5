import { pick } from '../../../platform/crypto/random.ts';
import type { Template } from '../template.ts';
import { choice, decimal, numeric, pounds, several, simplest, sum, template, whole } from './question.ts';

const names = ['Ines', 'Kwame', 'Leila', 'Jack', 'Harpreet', 'Ewa', 'Sam', 'Chidi', 'Anya', 'Tariq'] as const;

export const level1Templates: readonly Template[] = [
  template('l1_percentage_of', (random) => {
    const percent = pick(random, [15, 35, 45, 55, 65, 85, 95]);
    const total = whole(random, 80, 600, 20);
    const part = (total * percent) / 100;
    if (percent === part || total === percent) return null;
    const [people, what] = pick(random, [
      ['people in a survey', 'shop online every week'],
      ['staff at a hospital', 'use its canteen'],
      ['students at a college', 'come by bus'],
      ['homes on an estate', 'have a garden'],
    ] as const);
    return numeric({
      stem: [`There are ${total} ${people}. ${percent}% of them ${what}.`, 'How many is that?'],
      value: String(part),
      solution: `10% of ${total} is ${decimal(total, 1)}. ${percent}% is ${decimal(total, 1)} × ${decimal(percent, 1)} = ${part}`,
      wrong: [
        [String(total - part), `Gives the other ${100 - percent}%.`],
        ...(total % percent === 0 ? [[String(total / percent), `Divided by ${percent}.`] as const] : []),
        [decimal(part, 1), 'Divided by 10 once too often.'],
      ],
    });
  }),
  template('l1_recipe', (random) => {
    const [from, to] = pick(random, [
      [4, 6],
      [4, 10],
      [6, 9],
      [8, 12],
      [4, 14],
      [6, 15],
      [8, 20],
    ] as const);
    const each = whole(random, 20, 75, 5);
    const [dish, stuff] = pick(random, [
      ['a soup', 'lentils'],
      ['a crumble', 'flour'],
      ['a stew', 'beans'],
      ['a salad', 'rice'],
    ] as const);
    const name = pick(random, names);
    const given = each * from;
    return numeric({
      stem: [
        `A recipe for ${dish} for ${from} people uses ${given} g of ${stuff}. ${name} makes it for ${to} people.`,
        `How many grams of ${stuff} does ${name} need?`,
      ],
      value: String(each * to),
      unit: 'grams',
      solution: `For 1 person: ${given} ÷ ${from} = ${each} g. For ${to} people: ${each} × ${to} = ${each * to} g`,
      wrong: [
        [String(given + (to - from)), `Added ${to - from} because there are ${to - from} more people.`],
        [String(given * 2), 'Doubled the amount.'],
        [String(given * to), `Multiplied by ${to} without finding the amount for one person.`],
      ],
    });
  }),
  template('l1_call_out', (random) => {
    const fixed = whole(random, 20, 60, 5);
    const rate = whole(random, 16, 38, 2);
    const hours = whole(random, 2, 6);
    if (fixed === rate) return null;
    const total = fixed + rate * hours;
    const [who, does] = pick(random, [
      ['A cleaner', 'visit'],
      ['A gardener', 'job'],
      ['A removal firm', 'job'],
      ['A decorator', 'visit'],
      ['A bike mechanic', 'repair'],
    ] as const);
    return numeric({
      stem: [
        `${who} uses this rule to work out the charge in pounds:`,
        `> charge = ${fixed} + ${rate} × number of hours`,
        `What is the charge for a ${does} that takes ${hours} hours?`,
      ],
      value: String(total),
      unit: 'pounds',
      solution: `${rate} × ${hours} = ${rate * hours}. ${fixed} + ${rate * hours} = ${total}`,
      wrong: [
        [String((fixed + rate) * hours), 'Added before multiplying.'],
        [String(rate * hours), `Left out the ${fixed}.`],
        [String(fixed + rate + hours), 'Added all three numbers.'],
      ],
    });
  }),
  template('l1_sale_price', (random) => {
    const percent = pick(random, [5, 10, 15, 20, 25, 30, 35, 40]);
    const price = whole(random, 40, 480, 20);
    const off = (price * percent) / 100;
    const right = price - off;
    if (percent === off || right === price - percent || off === right) return null;
    const thing = pick(random, ['coat', 'suitcase', 'coffee machine', 'desk', 'rug', 'guitar']);
    return choice(random, {
      stem: [`A ${thing} costs £${price}. In a sale the price is cut by ${percent}%.`, 'What is the sale price?'],
      right: `£${right}`,
      wrong: [
        [`£${price - percent}`, `Took ${percent} pounds away, not ${percent}%.`],
        [`£${off}`, 'Gives the money saved, not the price to pay.'],
        [`£${price + off}`, 'Added the percentage instead of taking it away.'],
      ],
      solution: `${percent}% of £${price} is £${off}. £${price} − £${off} = £${right}`,
    });
  }),
  template('l1_fence', (random) => {
    const length = whole(random, 12, 38);
    const width = whole(random, 6, 20);
    const gate = whole(random, 1, 3);
    if (length <= width + 2) return null;
    const round = 2 * (length + width);
    const place = pick(random, ['field', 'garden', 'play area', 'car park', 'yard']);
    return numeric({
      stem: [
        `A ${place} is a rectangle, ${length} m long and ${width} m wide. A fence goes all the way round, except for one gate that is ${gate} m wide.`,
        'How many metres of fence are needed?',
      ],
      value: String(round - gate),
      unit: 'metres',
      solution: `Perimeter: 2 × (${length} + ${width}) = ${round} m. ${round} − ${gate} = ${round - gate} m`,
      wrong: [
        [String(round), 'Forgot the gate.'],
        [String(length + width - gate), 'Added one long side and one short side only.'],
        [String(length * width - gate), 'Worked out the area, not the distance round.'],
        [String(round + gate), 'Added the gate.'],
      ],
    });
  }),
  template('l1_simple_interest', (random) => {
    const principal = whole(random, 200, 4000, 100);
    const percent = pick(random, [5, 10, 15]);
    const years = whole(random, 2, 5);
    const yearly = (principal * percent) / 100;
    const name = pick(random, names);
    return numeric({
      stem: [
        `${name} borrows ${pounds(principal * 100)} at ${percent}% **simple** interest a year. ${name} pays it all back after ${years} years.`,
        `How much **interest** does ${name} pay?`,
      ],
      value: String(yearly * years),
      unit: 'pounds',
      solution: `${percent}% of ${pounds(principal * 100)} is ${pounds(yearly * 100)} for one year. ${pounds(yearly * 100)} × ${years} = ${pounds(yearly * years * 100)}`,
      wrong: [
        [String(yearly), 'Found the interest for one year only.'],
        [String(principal + yearly * years), 'Gives the loan and the interest together.'],
        [String(percent * years), 'Multiplied the percentage by the years, and did not use the loan.'],
      ],
    });
  }),
  template('l1_map_scale', (random) => {
    const scale = pick(random, [2, 6, 4, 12, 8]);
    const tenths = whole(random, 25, 95, 5);
    if (tenths % 10 === 0 || tenths === scale * 10) return null;
    const km = tenths * scale;
    const [from, to] = several(random, 2, ['a station', 'a school', 'a campsite', 'a clinic', 'a farm', 'a bridge']);
    return numeric({
      stem: [
        `On a map, 1 cm stands for ${scale} km. The distance on the map from ${from} to ${to} is ${decimal(tenths, 1)} cm.`,
        'How many kilometres is that in real life?',
      ],
      value: decimal(km, 1),
      unit: 'kilometres',
      solution: `${decimal(tenths, 1)} × ${scale} = ${decimal(km, 1)} km`,
      wrong: [
        [
          decimal(Math.floor(tenths / 10) * scale * 10 + (tenths % 10), 1),
          'Multiplied the whole centimetres but not the half.',
        ],
        [decimal(tenths + scale * 10, 1), 'Added the scale instead of multiplying.'],
        [String(km), 'Lost the decimal point.'],
      ],
    });
  }),
  template('l1_mean', (random) => {
    const count = pick(random, [4, 5, 6]);
    const values = Array.from({ length: count }, () => whole(random, 8, 42));
    const total = sum(values);
    if (total % count !== 0 || new Set(values).size < count || values.includes(total / count)) return null;
    const what = pick(random, [
      'parcels a driver delivers',
      'calls a helpline takes',
      'meals a kitchen serves',
      'visitors a museum shop has',
    ]);
    const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].slice(0, count);
    const sorted = [...values].sort((a, b) => a - b);
    return numeric({
      stem: [`The table shows how many ${what} each day.`, 'Work out the **mean** number for one day.'],
      figure: {
        kind: 'table',
        caption: 'Daily numbers',
        header: ['Day', 'Number'],
        rows: days.map((day, at) => [day, String(values[at])]),
      },
      value: String(total / count),
      solution: `${values.join(' + ')} = ${total}. ${total} ÷ ${count} = ${total / count}`,
      wrong: [
        [String(total), `Gives the total and does not divide by ${count}.`],
        [String(sorted[count - 1]! - sorted[0]!), 'Worked out the range.'],
        [String(values[Math.floor(count / 2)]), 'Gives a number from the middle of the table.'],
      ],
    });
  }),
  template('l1_probability', (random) => {
    const counts = [whole(random, 2, 9), whole(random, 2, 9), whole(random, 2, 9)] as const;
    const total = sum(counts);
    const [wanted, other] = counts;
    const value = simplest(wanted, total);
    if (total % 2 !== 0 || value === `${wanted}/${total}` || value === '1/2' || wanted === other) return null;
    const [kind, names3] = pick(random, [
      ['pens', ['blue', 'black', 'green']],
      ['raffle tickets', ['pink', 'white', 'yellow']],
      ['name badges', ['red', 'grey', 'orange']],
    ] as const);
    const list = counts.map((n, at) => `${n} ${names3[at]}`);
    return numeric({
      stem: [
        `A box holds ${list[0]}, ${list[1]} and ${list[2]} ${kind}. One is taken out without looking.`,
        `What is the probability that it is **${names3[0]}**? Write it as a fraction in its simplest form.`,
      ],
      value,
      form: 'fraction_simplest',
      solution: `${counts.join(' + ')} = ${total} in all. ${wanted} are ${names3[0]}: ${wanted}/${total} = ${value}`,
      wrong: [
        [`${wanted}/${total - wanted}`, `Compared the ${names3[0]} ones with the others, not with all.`],
        ['1/3', 'Thinks that three kinds are equally likely.'],
        [`1/${total}`, `Counted one ${names3[0]} only.`],
      ],
    });
  }),
];
