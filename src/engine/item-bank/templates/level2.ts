import { pick } from '../../../platform/crypto/random.ts';
import type { Template } from '../template.ts';
import {
  choice,
  decimal,
  grouped,
  numeric,
  pounds,
  poundsValue,
  shuffled,
  simplest,
  sum,
  template,
  whole,
} from './question.ts';

const names = ['Bronwen', 'Idris', 'Karim', 'Zoe', 'Mateo', 'Shreya', 'Owen', 'Amara', 'Piotr', 'Yasmin'] as const;

export const level2Templates: readonly Template[] = [
  template('l2_percentage_change', (random) => {
    const before = whole(random, 40, 480, 20);
    const percent = pick(random, [5, 10, 15, 20, 25, 30, 35, 45]);
    const change = (before * percent) / 100;
    const up = pick(random, [true, false]);
    const after = up ? before + change : before - change;
    if (change === percent || !Number.isInteger(change)) return null;
    const what = pick(random, [
      'The number of members of a sports club',
      'The number of orders at a bakery',
      'The number of people on a bus route each day',
      'The number of staff at a firm',
    ]);
    const byAfter = (change * 100) / after;
    return numeric({
      stem: [
        `${what} ${up ? 'rose' : 'fell'} from ${before} to ${after}.`,
        `What was the percentage ${up ? 'increase' : 'decrease'}?`,
      ],
      value: String(percent),
      unit: 'percent',
      solution: `Change: ${Math.max(before, after)} − ${Math.min(before, after)} = ${change}. ${change} ÷ ${before} × 100 = ${percent}%`,
      wrong: [
        [String(change), 'Gives the change as a number of people or orders, not as a percentage.'],
        [
          Number.isInteger(byAfter) ? String(byAfter) : decimal(Math.round(byAfter * 10), 1),
          'Divided by the new number and not by the old one.',
        ],
        [decimal(Math.round((after * 1000) / before), 1), 'Gives the new number as a percentage of the old one.'],
      ],
    });
  }),
  template('l2_reverse_percentage', (random) => {
    const original = whole(random, 40, 600, 20);
    const percent = pick(random, [10, 15, 20, 25, 30, 40]);
    const paid = (original * (100 - percent)) / 100;
    const added = paid * (100 + percent);
    if (!Number.isInteger(paid) || paid === original - percent || original === percent) return null;
    const thing = pick(random, ['suitcase', 'coat', 'guitar', 'coffee machine', 'rug', 'tent']);
    const name = pick(random, names);
    return choice(random, {
      stem: [
        `${name} buys a ${thing} in a sale. The price has been cut by ${percent}%. ${name} pays £${paid}.`,
        'What was the price before the sale?',
      ],
      right: `£${poundsValue(original * 100)}`,
      wrong: [
        [`£${poundsValue(added)}`, `Added ${percent}% of the sale price.`],
        [`£${poundsValue(paid * (100 - percent))}`, `Took ${percent}% off the sale price.`],
        [`£${poundsValue((paid + percent) * 100)}`, `Added ${percent} pounds.`],
      ],
      solution: `£${paid} is ${100 - percent}% of the old price. £${paid} ÷ ${100 - percent} × 100 = £${original}`,
    });
  }),
  template('l2_share_in_ratio', (random) => {
    const parts = pick(random, [
      [2, 3, 5],
      [1, 2, 4],
      [3, 4, 5],
      [2, 3, 4],
      [1, 3, 5],
    ] as const);
    const one = whole(random, 60, 450, 10);
    const total = sum(parts) * one;
    const at = whole(random, 1, 2);
    const [first, second, third] = shuffled(random, names) as [string, string, string];
    const who = at === 1 ? second : third;
    return numeric({
      stem: [
        `${first}, ${second} and ${third} share the profit of a market stall in the ratio ${parts.join(' : ')}. The profit is £${grouped(total)}.`,
        `How much does ${who} get?`,
      ],
      value: String(one * parts[at]!),
      unit: 'pounds',
      solution: `${parts.join(' + ')} = ${sum(parts)} parts. £${grouped(total)} ÷ ${sum(parts)} = £${one}. £${one} × ${parts[at]} = £${grouped(one * parts[at]!)}`,
      wrong: [
        [String(one), 'Gives one part only.'],
        [String(one * parts[0]), `Gives the share of ${first}.`],
        [poundsValue(Math.floor((total * 100) / parts[at]!)), `Divided the profit by ${parts[at]}.`],
      ],
    });
  }),
  template('l2_average_speed', (random) => {
    const speed = whole(random, 36, 64, 2);
    const quarters = pick(random, [5, 7, 9, 11]);
    const miles = (speed * quarters) / 4;
    if (!Number.isInteger(miles)) return null;
    const minutes = (quarters % 4) * 15;
    const hours = Math.floor(quarters / 4);
    const asDecimal = Math.round((miles * 1000) / (hours * 100 + minutes));
    const who = pick(random, ['A van driver', 'A coach', 'A driver on a motorway', 'A slow train']);
    return numeric({
      stem: [
        `${who} covers ${miles} miles in ${hours} hour${hours > 1 ? 's' : ''} ${minutes} minutes.`,
        'What is the average speed in miles per hour?',
      ],
      value: String(speed),
      unit: 'milesPerHour',
      solution: `${hours} h ${minutes} min = ${decimal(quarters * 25, 2)} hours. ${miles} ÷ ${decimal(quarters * 25, 2)} = ${speed} mph`,
      wrong: [
        [decimal(asDecimal, 1), `Wrote ${hours} h ${minutes} min as ${hours}.${minutes} hours.`],
        [decimal(Math.round((miles * 10) / hours), 1), `Left out the ${minutes} minutes.`],
        [decimal(miles * quarters * 25, 2), 'Multiplied the distance by the time.'],
      ],
    });
  }),
  template('l2_cylinder_litres', (random) => {
    const radius = pick(random, [10, 20, 30, 40, 50]);
    const height = whole(random, 30, 120, 10);
    const litres = (314 * radius * radius * height) / 100_000;
    const key = Math.round(litres);
    const withPi = (Math.PI * radius * radius * height) / 1000;
    const clear = (value: number) => Math.abs(value - Math.floor(value) - 0.5) > 0.05;
    if (Math.round(withPi) !== key || !clear(litres) || !clear(withPi) || key < 12 || radius === height) return null;
    const thing = pick(random, ['water tank', 'storage tank', 'vat', 'compost bin']);
    return numeric({
      stem: [
        `A ${thing} is a cylinder with a radius of ${radius} cm and a height of ${height} cm.`,
        `How many litres does it hold? Use π = 3.14 and give your answer to the **nearest litre**. (1 litre = 1,000 cm³)`,
      ],
      value: String(key),
      unit: 'litres',
      tolerance: '0.5',
      decimals: 0,
      solution: `3.14 × ${radius}² × ${height} = ${grouped(Math.round(litres * 1000))} cm³. ÷ 1,000 = ${decimal(Math.round(litres * 1000), 3)} litres, which is ${key} to the nearest litre.`,
      wrong: [
        [String(Math.round((2 * 3.14 * radius * height) / 1000)), 'Used 2πrh, the area of the curved side.'],
        [String(Math.round(litres * 4)), 'Used the diameter as the radius.'],
        [String(Math.round((radius * radius * height) / 1000)), 'Left out π.'],
      ],
    });
  }),
  template('l2_take_home', (random) => {
    const rate = whole(random, 1420, 1990, 10);
    const hours = whole(random, 32, 40);
    const gross = rate * hours;
    const allowance = 24_200;
    const tax = ((gross - allowance) * 20) / 100;
    if (!Number.isInteger(tax)) return null;
    const name = pick(random, names);
    const net = gross - tax;
    return numeric({
      stem: [
        `${name} works ${hours} hours a week at £${poundsValue(rate)} an hour. The first £242 a week is free of tax. Tax of 20% is taken from the rest.`,
        `How much is left for ${name} after tax?`,
      ],
      value: poundsValue(net),
      unit: 'pounds',
      solution: `Pay: ${hours} × £${poundsValue(rate)} = ${pounds(gross)}. Taxed: ${pounds(gross)} − £242 = ${pounds(gross - allowance)}. Tax: 20% of that is ${pounds(tax)}. ${pounds(gross)} − ${pounds(tax)} = ${pounds(net)}`,
      wrong: [
        [poundsValue((gross * 80) / 100), 'Took tax from all of the pay.'],
        [poundsValue(tax), 'Gives the tax, not what is left.'],
        [poundsValue(((gross - allowance) * 80) / 100), 'Left out the £242 that is free of tax.'],
      ],
    });
  }),
  template('l2_mean_of_frequencies', (random) => {
    const values = [0, 1, 2, 3, 4];
    const counts = values.map(() => whole(random, 2, 12));
    const people = sum(counts);
    const total = sum(values.map((value, at) => value * counts[at]!));
    if (people % 10 !== 0 || people > 50) return null;
    const hundredths = (total * 100) / people;
    if (!Number.isInteger(hundredths) || total === sum(values) * 5 || hundredths === 200) return null;
    const [who, what] = pick(random, [
      ['households', 'cars'],
      ['workers', 'sick days'],
      ['customers', 'complaints'],
      ['members', 'visits'],
    ] as const);
    return numeric({
      stem: [`The table shows the number of ${what} of ${people} ${who}.`, `Work out the **mean** number of ${what}.`],
      figure: {
        kind: 'table',
        caption: `Number of ${what}`,
        header: [`Number of ${what}`, `Number of ${who}`],
        rows: values.map((value, at) => [String(value), String(counts[at])]),
      },
      value: decimal(hundredths, 2),
      solution: `${values.map((value, at) => `${value} × ${counts[at]}`).join(' + ')} = ${total}. ${total} ÷ ${people} = ${decimal(hundredths, 2)}`,
      wrong: [
        ['2', 'Found the mean of 0, 1, 2, 3 and 4 without the frequencies.'],
        [decimal(people * 2, 1), `Divided the number of ${who} by the number of rows.`],
        [decimal(total * 2, 1), `Divided by the number of rows and not by the number of ${who}.`],
      ],
    });
  }),
  template('l2_both_happen', (random) => {
    const tenths = [whole(random, 1, 9), whole(random, 1, 9)] as const;
    const [a, b] = tenths;
    if (a === b || a === 5 || a + b === 10 || (a * b) % 10 === 0) return null;
    const right = a * b;
    const [one, two] = pick(random, [
      ['a bus is late', 'a train is late'],
      ['it rains on Saturday', 'it rains on Sunday'],
      ['the first machine breaks down', 'the second machine breaks down'],
      ['the first shop is open', 'the second shop is open'],
    ] as const);
    return numeric({
      stem: [
        `The probability that ${one} is ${decimal(a, 1)}. The probability that ${two} is ${decimal(b, 1)}. One does not affect the other.`,
        'What is the probability that **both** happen?',
      ],
      value: decimal(right, 2),
      solution: `${decimal(a, 1)} × ${decimal(b, 1)} = ${decimal(right, 2)}`,
      wrong: [
        [decimal(a + b, 1), 'Added the probabilities.'],
        [decimal(100 - right, 2), 'Gives the probability that they do not both happen.'],
        [decimal(right, 1), 'Put the decimal point in the wrong place.'],
      ],
    });
  }),
  template('l2_fraction_left', (random) => {
    const [a, b] = pick(random, [
      [
        [1, 3],
        [1, 4],
      ],
      [
        [2, 5],
        [1, 4],
      ],
      [
        [1, 2],
        [2, 5],
      ],
      [
        [1, 6],
        [3, 8],
      ],
      [
        [3, 8],
        [1, 4],
      ],
      [
        [2, 3],
        [1, 5],
      ],
      [
        [1, 4],
        [1, 6],
      ],
      [
        [3, 10],
        [1, 4],
      ],
      [
        [1, 5],
        [1, 3],
      ],
      [
        [2, 7],
        [1, 2],
      ],
    ] as const);
    const n = a[0] * b[1] + b[0] * a[1];
    const d = a[1] * b[1];
    const name = pick(random, names);
    const [whose, one, two] = pick(random, [
      [`${name}’s income`, 'rent', 'food'],
      ['a café’s budget', 'wages', 'stock'],
      ['a charity’s budget', 'staff', 'heating'],
      [`${name}’s income`, 'bills', 'travel'],
    ] as const);
    return numeric({
      stem: [
        `${a[0]}/${a[1]} of ${whose} goes on ${one} and ${b[0]}/${b[1]} goes on ${two}.`,
        'What fraction is left? Write it in its simplest form.',
      ],
      value: simplest(d - n, d),
      form: 'fraction_simplest',
      solution: `${a[0]}/${a[1]} + ${b[0]}/${b[1]} = ${simplest(n, d)}. 1 − ${simplest(n, d)} = ${simplest(d - n, d)}`,
      wrong: [
        [simplest(n, d), 'Gives the fraction that is spent.'],
        [
          `${a[1] + b[1] - a[0] - b[0]}/${a[1] + b[1]}`,
          'Added the tops and added the bottoms before taking away from 1.',
        ],
      ],
    });
  }),
];
