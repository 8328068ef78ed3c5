import { pick } from '../../../platform/crypto/random.ts';
import type { Template } from '../template.ts';
import { names } from './names.ts';
import { numeric, poundsValue, template, timeOfDay, whole } from './question.ts';

const smallerFromLarger = (a: number, b: number): number =>
  [100, 10, 1].reduce(
    (total, place) => total + place * Math.abs((Math.floor(a / place) % 10) - (Math.floor(b / place) % 10)),
    0,
  );

/** Rounding to one place: to the nearest 100 is harder than to the nearest 10, so each is a template of its own. */
const rounding = (id: string, place: 10 | 100): Template =>
  template(id, (random) => {
    const value = whole(random, 152, 948);
    const rest = value % place;
    if (rest === 0 || rest === place / 2 || value % 10 === 0 || value % 10 === 5) return null;
    const down = value - rest;
    const right = rest < place / 2 ? down : down + place;
    const other = rest < place / 2 ? down + place : down;
    const otherPlace = Math.round(value / (1000 / place)) * (1000 / place);
    const who = pick(random, [
      'people came to an open day',
      'miles were driven by a van in a week',
      'meals were served in a canteen',
      'parcels went through a depot',
    ]);
    return numeric({
      stem: [`${value} ${who}.`, `Round ${value} to the nearest ${place}.`],
      value: String(right),
      solution: `${value} is between ${down} and ${down + place}. It is nearer to ${right}.`,
      wrong: [
        [String(other), 'Rounded the wrong way.'],
        [String(otherPlace), `Rounded to the nearest ${1000 / place}.`],
      ],
    });
  });

export const entry3Templates: readonly Template[] = [
  template('e3_stock_left', (random) => {
    const stock = whole(random, 412, 930);
    const sold = whole(random, 126, 388);
    const left = stock - sold;
    if (stock % 10 >= sold % 10 || stock % 10 === 0 || left < 100) return null;
    const thing = pick(random, ['tins of paint', 'bricks', 'tickets', 'bottles of water', 'leaflets', 'light bulbs']);
    return numeric({
      stem: [`A firm has ${stock} ${thing}. It uses ${sold} of them.`, 'How many are left?'],
      value: String(left),
      solution: `${stock} − ${sold} = ${left}`,
      wrong: [
        [String(smallerFromLarger(stock, sold)), 'Took the smaller digit from the larger in each column.'],
        [String(left + 10), 'Forgot that a ten was exchanged.'],
        [String(stock + sold), 'Added instead of taking away.'],
      ],
    });
  }),
  rounding('e3_round', 10),
  rounding('e3_round_100', 100),
  template('e3_fraction_of', (random) => {
    const [n, d, word] = pick(random, [
      [2, 3, 'Two thirds'],
      [3, 4, 'Three quarters'],
      [2, 5, 'Two fifths'],
      [3, 5, 'Three fifths'],
      [3, 10, 'Three tenths'],
      [4, 5, 'Four fifths'],
    ] as const);
    const part = whole(random, 4, 15);
    const total = part * d;
    const place = pick(random, ['a choir', 'a night class', 'a call centre', 'a walking group', 'a warehouse team']);
    const what = pick(random, ['come by bus', 'work part time', 'live in the town', 'are new this year']);
    return numeric({
      stem: [`There are ${total} people in ${place}. ${word} of them ${what}.`, 'How many people is that?'],
      value: String(part * n),
      solution: `${total} ÷ ${d} = ${part}, and ${part} × ${n} = ${part * n}`,
      wrong: [
        [String(part), `Found one part only (${total} ÷ ${d}).`],
        [String(total - part * n), 'Gives the people who are not in that part.'],
      ],
    });
  }),
  template('e3_bill', (random) => {
    const count = whole(random, 3, 6);
    const price = whole(random, 135, 485, 5);
    const total = count * price;
    if (price % 100 === 0 || (price % 100) * count < 100) return null;
    const thing = pick(random, ['rolls', 'paint brushes', 'plants', 'bus tickets', 'pots of herbs']);
    const name = pick(random, names);
    const pence = price % 100;
    return numeric({
      stem: [`${name} buys ${count} ${thing} at £${poundsValue(price)} each.`, `How much does ${name} pay?`],
      value: poundsValue(total),
      unit: 'pounds',
      solution: `${count} × £${poundsValue(price)} = £${poundsValue(total)}`,
      wrong: [
        [poundsValue((price - pence) * count + pence), 'Multiplied the pounds but not the pence.'],
        [
          poundsValue((price - pence) * count + ((pence * count) % 100)),
          'Multiplied the pence but did not carry the pounds.',
        ],
        [poundsValue(price + count * 100), `Added ${count} instead of multiplying by ${count}.`],
      ],
    });
  }),
  template('e3_weekly_pay', (random) => {
    const hours = whole(random, 14, 38);
    const rate = whole(random, 14, 19);
    const total = hours * rate;
    if (total > 600 || hours % 10 === 0 || hours === rate) return null;
    const name = pick(random, names);
    const [tens, ones] = [hours - (hours % 10), hours % 10];
    return numeric({
      stem: [
        `${name} works ${hours} hours in a week. The pay is £${rate} an hour.`,
        `How much does ${name} earn in the week?`,
      ],
      value: String(total),
      unit: 'pounds',
      solution: `${hours} × £${rate} = ${hours} × 10 + ${hours} × ${rate - 10} = ${hours * 10} + ${hours * (rate - 10)} = £${total}`,
      wrong: [
        [String(tens * 10 + ones * (rate - 10)), 'Multiplied the tens by the tens and the ones by the ones only.'],
        [String(hours + rate), 'Added instead of multiplying.'],
        [String(hours * (rate - 9)), 'Forgot that the 1 in the pay is a ten.'],
      ],
    });
  }),
  template('e3_minutes_between', (random) => {
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
    const what = pick(random, ['A bus', 'A train', 'A coach']);
    const asHundreds = Math.floor(end / 60) * 100 + (end % 60) - Math.floor(start / 60) * 100 - (start % 60);
    return numeric({
      stem: [
        `${what} leaves at ${timeOfDay(start)} and arrives at ${timeOfDay(end)}.`,
        'How many **minutes** does the trip take?',
      ],
      value: String(length),
      unit: 'minutes',
      solution: `From ${timeOfDay(start)} to ${timeOfDay(start - (start % 60) + 60)} is ${60 - (start % 60)} minutes. From there to ${timeOfDay(end)} is ${length - 60 + (start % 60)} minutes. ${60 - (start % 60)} + ${length - 60 + (start % 60)} = ${length}`,
      wrong: [
        [String(asHundreds), 'Took the times away as if an hour had 100 minutes.'],
        [String(length + 60), 'Counted one hour too many.'],
      ],
    });
  }),
  template('e3_line_change', (random) => {
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
    const place = pick(random, ['a store room', 'a garden', 'an office', 'a greenhouse']);
    return numeric({
      stem: [
        `The graph shows the temperature in ${place} through one day.`,
        `By how many degrees did it rise from ${shown[from]} to ${shown[to]}?`,
      ],
      figure: {
        kind: 'line_graph',
        caption: `Temperature in ${place}`,
        x_label: 'Time',
        y_label: 'Temperature',
        unit: '°C',
        points: shown.map((label, at) => ({ label, value: points[at]! })),
      },
      value: String(rise),
      unit: 'degreesCelsius',
      solution: `${shown[from]}: ${points[from]} °C. ${shown[to]}: ${points[to]} °C. ${points[to]} − ${points[from]} = ${rise}`,
      wrong: [
        [String(points[to]), `Gives the temperature at ${shown[to]}.`],
        [String(points[to]! + points[from]!), 'Added the two temperatures.'],
        [String(points[4]! - points[from]!), 'Read the last point of the graph.'],
      ],
    });
  }),
];
