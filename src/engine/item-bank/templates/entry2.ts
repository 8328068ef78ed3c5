import { pick } from '../../../platform/crypto/random.ts';
import type { Template } from '../template.ts';
import { days, names } from './names.ts';
import { numeric, several, template, timeOfDay, whole } from './question.ts';

export const entry2Templates: readonly Template[] = [
  template('e2_add_carry', (random) => {
    const first = whole(random, 26, 98);
    const second = whole(random, 25, 97);
    if ((first % 10) + (second % 10) < 10 || first === second || first % 10 === 0 || second % 10 === 0) return null;
    const total = first + second;
    const uncarried = Math.floor(first / 10) * 10 + Math.floor(second / 10) * 10 + ((first + second) % 10);
    const [one, two, thing] = pick(random, [
      ['in the morning', 'in the afternoon', 'calls'],
      ['on Monday', 'on Tuesday', 'calls'],
      ['in May', 'in June', 'calls'],
    ] as const);
    const name = pick(random, names);
    return numeric({
      stem: [
        `${name} takes ${first} ${thing} ${one} and ${second} ${thing} ${two}.`,
        `How many ${thing} is that in total?`,
      ],
      value: String(total),
      solution: `${first} + ${second} = ${total}`,
      wrong: [
        [String(uncarried), 'Forgot to carry the ten.'],
        [String(Math.abs(first - second)), 'Took away instead of adding.'],
      ],
    });
  }),
  template('e2_groups', (random) => {
    const groups = whole(random, 3, 9);
    const each = pick(random, [4, 6, 8, 9, 11, 12]);
    if (groups === each || groups * each < 20) return null;
    const [holders, holder, thing] = pick(random, [
      ['boxes', 'box', 'mugs'],
      ['shelves', 'shelf', 'books'],
      ['packs', 'pack', 'batteries'],
      ['trays', 'tray', 'plants'],
      ['bags', 'bag', 'rolls'],
    ] as const);
    return numeric({
      stem: [
        `There are ${groups} ${holders}. Each ${holder} holds ${each} ${thing}.`,
        `How many ${thing} are there in total?`,
      ],
      value: String(groups * each),
      solution: `${groups} × ${each} = ${groups * each}`,
      wrong: [
        [String(groups + each), 'Added instead of multiplying.'],
        [String(groups * (each - 1)), `Went one step too low in the ${groups} times table.`],
      ],
    });
  }),
  template('e2_left_over', (random) => {
    const size = whole(random, 3, 9);
    const full = whole(random, 3, 9);
    const over = whole(random, 1, size - 1);
    const total = size * full + over;
    if (total > 80 || over === full) return null;
    const [thing, holder, holders] = pick(random, [
      ['eggs', 'box', 'boxes'],
      ['cakes', 'box', 'boxes'],
      ['pens', 'pack', 'packs'],
      ['tins', 'bag', 'bags'],
      ['candles', 'box', 'boxes'],
    ] as const);
    const name = pick(random, names);
    return numeric({
      stem: [
        `${name} has ${total} ${thing}. ${name} puts ${size} ${thing} in each ${holder}, and fills as many ${holders} as possible.`,
        `How many ${thing} are left over?`,
      ],
      value: String(over),
      solution: `${total} ÷ ${size} = ${full} remainder ${over}, because ${size} × ${full} = ${size * full} and ${total} − ${size * full} = ${over}`,
      wrong: [
        [String(full), `Gives the number of full ${holders}.`],
        [String(size - over), `Gives how many more would fill one more ${holder}.`],
      ],
    });
  }),
  template('e2_change_from_pound', (random) => {
    const first = whole(random, 15, 55);
    const second = whole(random, 12, 45);
    const change = 100 - first - second;
    if (change < 5 || first === second || change === first || change === second || (first + second) % 10 === 0)
      return null;
    const [one, two] = pick(random, [
      ['An apple', 'a banana'],
      ['A roll', 'an apple'],
      ['A pen', 'a card'],
      ['A pencil', 'an envelope'],
    ] as const);
    const name = pick(random, names);
    return numeric({
      stem: [
        `${one} costs ${first}p and ${two} costs ${second}p. ${name} buys both and pays with a £1 coin.`,
        `How much change does ${name} get?`,
      ],
      value: String(change),
      unit: 'pence',
      solution: `${first}p + ${second}p = ${first + second}p. 100p − ${first + second}p = ${change}p`,
      wrong: [
        [String(first + second), 'Gives what both cost.'],
        [String(100 - first), 'Took away the first price only.'],
        [String(change + 10), 'Made a slip of ten when taking away from 100.'],
      ],
    });
  }),
  template('e2_hours_open', (random) => {
    const open = whole(random, 7, 11);
    const close = whole(random, 15, 19);
    if (close - open === open) return null;
    const place = pick(random, ['library', 'shop', 'post office', 'gym', 'swimming pool', 'café']);
    const day = pick(random, days);
    return numeric({
      stem: [
        `On ${day} a ${place} opens at ${timeOfDay(open * 60)} and closes at ${timeOfDay(close * 60)}.`,
        'For how many hours is it open?',
      ],
      value: String(close - open),
      unit: 'hours',
      solution: `From ${timeOfDay(open * 60)} to ${timeOfDay(close * 60)} is ${close} − ${open} = ${close - open} hours.`,
      wrong: [
        [String(close + 2 - open), `Read ${close}:00 as ${close - 10} pm.`],
        [String(close - open + 1), 'Counted the opening hour and the closing hour.'],
      ],
    });
  }),
  template('e2_bar_compare', (random) => {
    const labels = several(random, 4, ['Walk', 'Bus', 'Car', 'Bike', 'Train']);
    const counts = labels.map(() => whole(random, 8, 60, 2));
    const [a, b] = counts as [number, number];
    const gap = a - b;
    if (new Set(counts).size < 4 || gap < 6 || gap === b || counts.includes(gap)) return null;
    const place = pick(random, ['an office', 'a college', 'a factory', 'a hospital']);
    return numeric({
      stem: [
        `The chart shows how people get to ${place}.`,
        `How many **more** people chose “${labels[0]}” than “${labels[1]}”?`,
      ],
      figure: {
        kind: 'bar_chart',
        caption: `How people get to ${place}`,
        x_label: 'Way to travel',
        y_label: 'People',
        points: labels
          .map((label, at) => ({ label, value: counts[at]! }))
          .sort((one, other) => (one.label < other.label ? -1 : 1)),
      },
      value: String(gap),
      solution: `${labels[0]}: ${a}. ${labels[1]}: ${b}. ${a} − ${b} = ${gap}`,
      wrong: [
        [String(a + b), 'Added the two numbers.'],
        [String(a), `Gives the number for “${labels[0]}”.`],
        [String(b), `Gives the number for “${labels[1]}”.`],
      ],
    });
  }),
];
