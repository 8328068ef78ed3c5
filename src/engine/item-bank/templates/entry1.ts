import { pick } from '../../../platform/crypto/random.ts';
import type { Template } from '../template.ts';
import { days, names } from './names.ts';
import { numeric, several, template, whole } from './question.ts';

export const entry1Templates: readonly Template[] = [
  template('e1_add_more', (random) => {
    const first = whole(random, 4, 12);
    const more = whole(random, 3, 8);
    const total = first + more;
    if (total > 20 || total < 10 || first === more) return null;
    const [thing, place] = pick(random, [
      ['books', 'shelf'],
      ['plates', 'table'],
      ['boxes', 'van'],
      ['letters', 'desk'],
      ['bags', 'trolley'],
    ] as const);
    const name = pick(random, names);
    return numeric({
      stem: [
        `There are ${first} ${thing} on a ${place}. ${name} puts ${more} more ${thing} on the ${place}.`,
        `How many ${thing} are on the ${place} now?`,
      ],
      value: String(total),
      solution: `${first} + ${more} = ${total}`,
      wrong: [
        [String(Math.abs(first - more)), 'Took away instead of adding.'],
        [String(total - 1), `Counted on from ${first} but counted the ${first} as one.`],
      ],
    });
  }),
  template('e1_take_away', (random) => {
    const first = whole(random, 11, 20);
    const gone = whole(random, 3, 9);
    const left = first - gone;
    if (left < 3 || left === gone) return null;
    const name = pick(random, names);
    const [thing, verb] = pick(random, [
      ['tickets', 'sells'],
      ['cakes', 'sells'],
      ['apples', 'uses'],
      ['stamps', 'uses'],
      ['pens', 'gives away'],
    ] as const);
    return numeric({
      stem: [`${name} has ${first} ${thing}. ${name} ${verb} ${gone} of them.`, `How many ${thing} are left?`],
      value: String(left),
      solution: `${first} − ${gone} = ${left}`,
      wrong: [
        [String(left + 1), `Counted back from ${first} but counted the ${first} as one.`],
        [String(first + gone), 'Added instead of taking away.'],
      ],
    });
  }),
  template('e1_hours_later', (random) => {
    const start = whole(random, 1, 5);
    const hours = whole(random, 2, 4);
    const end = start + hours;
    if (start === hours) return null;
    const [what, does] = pick(random, [
      ['A class', 'lasts'],
      ['A course', 'lasts'],
      ['A meeting', 'lasts'],
      ['A bus trip', 'takes'],
    ] as const);
    return numeric({
      stem: [
        `${what} starts at ${start} o’clock in the afternoon. It ${does} ${hours} hours.`,
        'At what time does it end?',
      ],
      value: String(end),
      unit: 'oclock',
      solution: `${start} o’clock and ${hours} hours more is ${end} o’clock.`,
      wrong: [
        [String(end - 1), `Counted ${start} o’clock as the first hour.`],
        [String(hours), 'Gives how long it is, not when it ends.'],
      ],
    });
  }),
  template('e1_change_from_20p', (random) => {
    const price = whole(random, 6, 17);
    const change = 20 - price;
    if (price === 10) return null;
    const name = pick(random, names);
    const thing = pick(random, ['sweet', 'bead', 'screw', 'button', 'biscuit', 'nail']);
    return numeric({
      stem: [`A ${thing} costs ${price}p. ${name} pays with a 20p coin.`, `How much change does ${name} get?`],
      value: String(change),
      unit: 'pence',
      solution: `20p − ${price}p = ${change}p`,
      wrong: [
        [String(change + 1), `Counted the ${price} as one when counting up to 20.`],
        [String(price), 'Gives the price.'],
      ],
    });
  }),
  template('e1_table_more', (random) => {
    const shown = several(random, 3, days);
    const counts = shown.map(() => whole(random, 3, 19));
    const [a, b, c] = counts as [number, number, number];
    if (a - b < 3 || new Set(counts).size < 3 || a - b === b || a - b === c || a - c === a - b) return null;
    const rows = shown
      .map((day, at) => [day, String(counts[at])])
      .sort((one, other) => days.indexOf(one[0] as never) - days.indexOf(other[0] as never));
    const what = pick(random, ['at the class', 'at the lunch club', 'on the bus', 'in the gym']);
    return numeric({
      stem: [
        `The table shows how many people were ${what}.`,
        `How many **more** people were there on ${shown[0]} than on ${shown[1]}?`,
      ],
      figure: { kind: 'table', caption: `People ${what}`, header: ['Day', 'People'], rows },
      value: String(a - b),
      solution: `${shown[0]}: ${a}. ${shown[1]}: ${b}. ${a} − ${b} = ${a - b}`,
      wrong: [
        [String(a), `Gives the number for ${shown[0]}.`],
        [String(a + b), 'Added the two numbers.'],
        [String(Math.abs(a - c)), `Read the number for ${shown[2]}, not for ${shown[1]}.`],
      ],
    });
  }),
];
