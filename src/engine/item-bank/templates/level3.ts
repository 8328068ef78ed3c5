import { pick } from '../../../platform/crypto/random.ts';
import type { Template } from '../template.ts';
import { decimal, grouped, numeric, pounds, poundsValue, simplest, sum, template, whole } from './question.ts';

const names = ['Rhiannon', 'Imran', 'Sofia', 'Callum', 'Adaeze', 'Hamza', 'Eleri', 'Viktor', 'Thandi', 'Jun'] as const;

/** True unless rounding at `places` is a close call, so that a late or an early rounding gives the same answer. */
function clearRounding(value: number, places: number): boolean {
  const scaled = value * 10 ** places;
  return Math.abs(scaled - Math.floor(scaled) - 0.5) > 0.1;
}

const rounded = (value: number, places: number): string => decimal(Math.round(value * 10 ** places), places);

/** Pence after growth of `tenths` tenths of a percent a year, rounded once, in whole numbers only. */
function compound(pence: number, tenths: number, years: number): number {
  const top = BigInt(pence) * BigInt(1000 + tenths) ** BigInt(years);
  const bottom = 1000n ** BigInt(years);
  return Number((2n * top + bottom) / (2n * bottom));
}

export const level3Templates: readonly Template[] = [
  template('l3_compound_interest', (random) => {
    const principal = whole(random, 1500, 9500, 500) * 100;
    const tenths = whole(random, 22, 58, 2);
    const years = whole(random, 3, 6);
    const total = compound(principal, tenths, years);
    let yearly = principal;
    for (let year = 0; year < years; year += 1) yearly = compound(yearly, tenths, 1);
    if (Math.abs(yearly - total) > 1 || !clearRounding(principal * (1 + tenths / 1000) ** years, 0)) return null;
    const rate = decimal(tenths, 1);
    const name = pick(random, names);
    return numeric({
      stem: [
        `${name} invests ${pounds(principal)} at ${rate}% compound interest a year and takes nothing out.`,
        `What is the investment worth after ${years} years? Give your answer to the nearest penny.`,
      ],
      value: poundsValue(total),
      unit: 'pounds',
      tolerance: '0.01',
      decimals: 2,
      solution: `${pounds(principal)} × ${decimal(1000 + tenths, 3)}^${years} = ${pounds(total)}`,
      wrong: [
        [poundsValue(principal + Math.round((principal * tenths * years) / 1000)), 'Used simple interest.'],
        [poundsValue(total - principal), 'Gives the interest only.'],
        [poundsValue(compound(principal, tenths, years - 1)), `Worked out ${years - 1} years only.`],
      ],
    });
  }),
  template('l3_years_to_fall', (random) => {
    const price = whole(random, 12_000, 36_000, 1000);
    const percent = pick(random, [12, 14, 15, 16, 18, 20, 22]);
    const limit = whole(random, 4000, 9000, 500);
    const worth = (years: number) => price * (1 - percent / 100) ** years;
    let years = 0;
    while (worth(years) >= limit) years += 1;
    if (years < 4 || years > 9 || worth(years) > limit * 0.985 || worth(years - 1) < limit * 1.015) return null;
    const straight = Math.ceil((price - limit) / ((price * percent) / 100));
    const thing = pick(random, ['van', 'digger', 'minibus', 'printing press', 'fork-lift truck']);
    return numeric({
      stem: [
        `A ${thing} costs £${grouped(price)}. Each year it loses ${percent}% of its value at the start of that year.`,
        `After how many **whole years** is it first worth less than £${grouped(limit)}?`,
      ],
      value: String(years),
      form: 'whole',
      solution: `After ${years - 1} years: £${grouped(price)} × ${decimal(100 - percent, 2)}^${years - 1} ≈ £${grouped(Math.round(worth(years - 1)))}. After ${years} years: ≈ £${grouped(Math.round(worth(years)))}, which is less than £${grouped(limit)}.`,
      wrong: [
        [String(straight), 'Took the same amount off each year.'],
        [String(years - 1), 'Gives the last year in which it is worth more.'],
        [String(years + 1), 'Counted the start as year 1.'],
      ],
    });
  }),
  template('l3_two_prices', (random) => {
    const adult = whole(random, 700, 1600, 50);
    const child = whole(random, 350, 900, 50);
    const [a, b, c, d] = pick(random, [
      [2, 3, 3, 2],
      [3, 2, 2, 5],
      [1, 4, 2, 3],
      [2, 5, 4, 3],
      [3, 4, 2, 1],
      [4, 1, 3, 5],
    ] as const);
    if (adult - child < 150) return null;
    const first = a * adult + b * child;
    const second = c * adult + d * child;
    const place = pick(random, ['a boat trip', 'a museum', 'a castle', 'a play']);
    const people = (n: number, singular: string, plural: string) => `${n} ${n === 1 ? singular : plural}`;
    const term = (n: number, letter: string) => (n === 1 ? letter : `${n}${letter}`);
    return numeric({
      stem: [
        `Tickets for ${place} have one price for adults and one for children. ${people(a, 'adult', 'adults')} and ${people(b, 'child', 'children')} pay ${pounds(first)}. ${people(c, 'adult', 'adults')} and ${people(d, 'child', 'children')} pay ${pounds(second)}.`,
        'What does one **adult** ticket cost?',
      ],
      value: poundsValue(adult),
      unit: 'pounds',
      solution: `${term(a, 'a')} + ${term(b, 'c')} = ${poundsValue(first)} and ${term(c, 'a')} + ${term(d, 'c')} = ${poundsValue(second)}. Multiply the first by ${d} and the second by ${b}: ${term(a * d, 'a')} + ${term(b * d, 'c')} = ${poundsValue(first * d)} and ${term(b * c, 'a')} + ${term(b * d, 'c')} = ${poundsValue(second * b)}. Take one from the other: ${Math.abs(a * d - b * c)}a = ${poundsValue(Math.abs(first * d - second * b))}, so a = ${poundsValue(adult)} and c = ${poundsValue(child)}.`,
      wrong: [
        [poundsValue(child), 'Gives the price for a child.'],
        [poundsValue(Math.floor(first / (a + b))), 'Shared the first total equally among all the people.'],
        [poundsValue(adult + child), 'Gives one adult and one child together.'],
      ],
    });
  }),
  template('l3_rectangle_sides', (random) => {
    const width = whole(random, 6, 19);
    const more = whole(random, 3, 14);
    if (width === more) return null;
    const area = width * (width + more);
    const place = pick(random, ['A car park', 'A warehouse floor', 'An allotment', 'A courtyard', 'A sports hall']);
    return numeric({
      stem: [
        `${place} is a rectangle. Its length is ${more} m more than its width, and its area is ${grouped(area)} m².`,
        'What is its **width** in metres?',
      ],
      value: String(width),
      unit: 'metres',
      solution: `Let the width be w. w(w + ${more}) = ${area}, so w² + ${more}w − ${area} = 0. (w − ${width})(w + ${width + more}) = 0. A width is positive, so w = ${width}.`,
      wrong: [
        [String(width + more), 'Gives the length.'],
        [rounded(Math.sqrt(area), 1), 'Took the square root of the area.'],
        [rounded(area / more, 1), `Divided the area by ${more}.`],
      ],
    });
  }),
  template('l3_height_from_angle', (random) => {
    const distance = whole(random, 18, 60);
    const degrees = whole(random, 24, 58);
    const eye = whole(random, 145, 175, 5);
    const radians = (degrees * Math.PI) / 180;
    const height = distance * Math.tan(radians) + eye / 100;
    if (!clearRounding(height, 1) || degrees === 45 || Math.round(height * 10) % 10 === 0) return null;
    const thing = pick(random, ['tower', 'wind turbine', 'block of flats', 'mast', 'crane']);
    const name = pick(random, names);
    return numeric({
      stem: [
        `${name} stands on level ground, ${distance} m from the foot of a ${thing}. The angle of elevation of its top from ${name}’s eyes is ${degrees}°. ${name}’s eyes are ${decimal(eye, 2)} m above the ground.`,
        `How high is the ${thing}, in metres? Give your answer to 1 decimal place.`,
      ],
      value: rounded(height, 1),
      unit: 'metres',
      tolerance: '0.05',
      decimals: 1,
      solution: `${distance} × tan ${degrees}° = ${rounded(height - eye / 100, 2)} m. Add ${decimal(eye, 2)} m: ${rounded(height, 1)} m`,
      wrong: [
        [rounded(height - eye / 100, 1), 'Left out the height of the eyes.'],
        [rounded(distance * Math.sin(radians) + eye / 100, 1), 'Used sine instead of tangent.'],
        [rounded(distance / Math.tan(radians) + eye / 100, 1), 'Divided by the tangent.'],
      ],
    });
  }),
  template('l3_fill_a_tank', (random) => {
    const [length, width, depth] = [whole(random, 12, 40, 2), whole(random, 5, 15), whole(random, 4, 9)];
    const litres = length * width * depth;
    const rate = pick(random, [8, 12, 15, 16, 18, 20, 24, 25]);
    const minutes = litres / rate;
    if (!Number.isInteger(minutes) || minutes < 30 || minutes > 240 || width === depth) return null;
    const what = pick(random, ['A garden pool', 'A rainwater tank', 'A cattle trough', 'A storage tank']);
    return numeric({
      stem: [
        `${what} is a cuboid: ${decimal(length, 1)} m long, ${decimal(width, 1)} m wide and ${decimal(depth, 1)} m deep inside. It is empty. Water flows in at ${rate} litres a minute.`,
        'How many **minutes** does it take to fill? (1 m³ = 1,000 litres)',
      ],
      value: String(minutes),
      unit: 'minutes',
      solution: `${decimal(length, 1)} × ${decimal(width, 1)} × ${decimal(depth, 1)} = ${decimal(litres, 3)} m³ = ${grouped(litres)} litres. ${grouped(litres)} ÷ ${rate} = ${minutes} minutes`,
      wrong: [
        [decimal(minutes, 1), 'Took 1 m³ for 100 litres.'],
        [String(minutes * 10), 'Took 1 m³ for 10,000 litres.'],
        [String(litres * rate), 'Multiplied by the rate instead of dividing.'],
      ],
    });
  }),
  template('l3_two_without_replacement', (random) => {
    const good = whole(random, 4, 11);
    const bad = whole(random, 3, 8);
    const all = good + bad;
    if (good === bad) return null;
    const [thing, kind, other] = pick(random, [
      ['batteries', 'charged', 'flat'],
      ['vouchers', 'in date', 'out of date'],
      ['bulbs', 'in working order', 'broken'],
      ['keys', 'brass', 'steel'],
    ] as const);
    return numeric({
      stem: [
        `A drawer holds ${good} ${thing} that are ${kind} and ${bad} that are ${other}. Two are taken at random, one after the other, and not put back.`,
        `What is the probability that **both** are ${other}? Write it as a fraction in its simplest form.`,
      ],
      value: simplest(bad * (bad - 1), all * (all - 1)),
      form: 'fraction_simplest',
      solution: `${bad}/${all} × ${bad - 1}/${all - 1} = ${bad * (bad - 1)}/${all * (all - 1)} = ${simplest(bad * (bad - 1), all * (all - 1))}`,
      wrong: [
        [simplest(bad * bad, all * all), 'Treated the first one as put back.'],
        [simplest(bad * (bad - 1), all * all), 'Took one fewer for the top but not for the bottom.'],
        [simplest(good * (good - 1), all * (all - 1)), `Found the probability that both are ${kind}.`],
      ],
    });
  }),
  template('l3_at_least_one', (random) => {
    const tenths = whole(random, 1, 7);
    const trials = pick(random, [3, 4]);
    const none = (10 - tenths) ** trials;
    const value = 10 ** trials - none;
    if (tenths === 5) return null;
    const [what, tries] = pick(random, [
      ['a call to a busy helpline gets through', 'calls are made'],
      ['a seed of a rare plant grows', 'seeds are sown'],
      ['a customer takes up an offer', 'customers get the offer'],
      ['a sensor fails within a year', 'sensors are in use'],
    ] as const);
    return numeric({
      stem: [
        `The probability that ${what} is ${decimal(tenths, 1)}. In all, ${trials} ${tries}, and they don’t affect each other.`,
        'What is the probability that it happens **at least once**? Give the exact decimal.',
      ],
      value: decimal(value, trials),
      solution: `P(never) = ${decimal(10 - tenths, 1)}^${trials} = ${decimal(none, trials)}. 1 − ${decimal(none, trials)} = ${decimal(value, trials)}`,
      wrong: [
        [decimal(none, trials), 'Gives the probability that it never happens.'],
        [decimal(tenths ** trials, trials), 'Gives the probability that it happens every time.'],
        [decimal(tenths * trials, 1), `Multiplied ${decimal(tenths, 1)} by ${trials}.`],
      ],
    });
  }),
  template('l3_interquartile_range', (random) => {
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
    const what = pick(random, [
      'The ages of the 11 people in a choir',
      'The waiting times, in minutes, of 11 patients',
      'The scores of 11 trainees in a test',
      'The lengths, in minutes, of 11 calls',
    ]);
    return numeric({
      stem: [
        `${what} are, in order:`,
        `> ${values.join(', ')}`,
        'Find the **interquartile range**. Take each quartile as the median of the five values below or above the median.',
      ],
      value: String(upper - lower),
      solution: `The median is the 6th value, ${values[5]}. The lower quartile is the 3rd value, ${lower}, and the upper quartile is the 9th, ${upper}. ${upper} − ${lower} = ${upper - lower}`,
      wrong: [
        [String(range), 'Worked out the range.'],
        [String(values[5]), 'Gives the median.'],
        [String(values[7]! - values[3]!), 'Took the values one place too near to the median.'],
      ],
    });
  }),
  template('l3_standard_deviation', (random) => {
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
    const what = pick(random, [
      'The journey times, in minutes, of a bus on five days',
      'The masses, in grams, of five samples',
      'The numbers of orders on five days',
      'The ages, in months, of five machines',
    ]);
    return numeric({
      stem: [
        `${what} were:`,
        `> ${values.join(', ')}`,
        'Work out the standard deviation. Treat these five values as the whole population (divide by 5). Give your answer to 1 decimal place.',
      ],
      value: rounded(deviation, 1),
      tolerance: '0.05',
      decimals: 1,
      solution: `Mean: ${total} ÷ 5 = ${mean}. Squared deviations: ${values.map((value) => (value - mean) ** 2).join(' + ')} = ${squares}. √(${squares} ÷ 5) = √${decimal(squares * 2, 1)} ≈ ${rounded(deviation, 1)}`,
      wrong: [
        [decimal(squares * 2, 1), 'Gives the variance: did not take the square root.'],
        [rounded(Math.sqrt(squares / 4), 1), 'Divided by 4, as for a sample.'],
        [
          rounded(sum(values.map((value) => Math.abs(value - mean))) / 5, 1),
          'Worked out the mean deviation: did not square.',
        ],
      ],
    });
  }),
];
