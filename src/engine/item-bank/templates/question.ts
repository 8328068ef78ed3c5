import type { Random } from '../../../platform/crypto/random.ts';
import { difference, fractionOf } from '../number.ts';
import type { Figure, NumericKey, RenderedItem } from '../schema.ts';
import type { Template } from '../template.ts';

/** A wrong answer and the error that leads to it. */
export type Wrong = readonly [value: string, why: string];

type Unit = { suffix?: string; prefix?: string; units: string[] };

const unitsOf = {
  pounds: { prefix: '£', units: ['£', 'pounds', 'pound'] },
  pence: { suffix: 'p', units: ['p', 'pence'] },
  metres: { suffix: 'm', units: ['m', 'metres', 'metre'] },
  squareMetres: { suffix: 'm²', units: ['m²', 'square metres', 'sq m'] },
  kilometres: { suffix: 'km', units: ['km', 'kilometres', 'kilometre'] },
  grams: { suffix: 'g', units: ['g', 'grams', 'gram'] },
  litres: { suffix: 'litres', units: ['litres', 'litre', 'l'] },
  hours: { suffix: 'hours', units: ['hours', 'hour', 'hrs', 'h'] },
  minutes: { suffix: 'minutes', units: ['minutes', 'minute', 'mins', 'min'] },
  percent: { suffix: '%', units: ['%', 'percent', 'per cent'] },
  degreesCelsius: { suffix: '°C', units: ['°C', 'degrees', 'C'] },
  milesPerHour: { suffix: 'mph', units: ['mph', 'miles per hour'] },
  oclock: { suffix: 'o’clock', units: ["o'clock", 'o’clock', 'oclock', 'pm', 'p.m.'] },
} as const satisfies Record<string, Unit>;

/** A whole number from `least` to `most`, both possible, in steps of `step`. */
export function whole(random: Random, min: number, max: number, step = 1): number {
  return min + step * Math.floor(random.float() * (Math.floor((max - min) / step) + 1));
}

/** The list in another order (Fisher–Yates). */
export function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const out = [...list];
  for (let last = out.length - 1; last > 0; last -= 1) {
    const at = Math.floor(random.float() * (last + 1));
    [out[last], out[at]] = [out[at]!, out[last]!];
  }
  return out;
}

/** Some of the list, all different, in random order. */
export function several<T>(random: Random, count: number, list: readonly T[]): T[] {
  return shuffled(random, list).slice(0, count);
}

export const sum = (list: readonly number[]): number => list.reduce((total, value) => total + value, 0);

/** With commas from 1,000 on, as in a text. */
export const grouped = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+(?!\d))/gu, ',');

/** A whole number of pence as a key's value: `7.20`. */
export const poundsValue = (pence: number): string =>
  `${Math.floor(pence / 100)}.${String(pence % 100).padStart(2, '0')}`;

/** A whole number of pence as in a text: `£1,207.20`, or `£40` for whole pounds. */
export function pounds(pence: number): string {
  const whole = grouped(Math.floor(pence / 100));
  return pence % 100 === 0 ? `£${whole}` : `£${whole}.${String(pence % 100).padStart(2, '0')}`;
}

/** A whole number of tenths, hundredths … as a decimal without needless zeros: `decimal(1250, 2)` is `12.5`. */
export function decimal(scaled: number, places: number): string {
  const digits = String(scaled).padStart(places + 1, '0');
  const fraction = digits.slice(digits.length - places).replace(/(?<!0)0+$/u, '');
  const whole = digits.slice(0, digits.length - places);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Minutes after midnight as on a timetable. */
export const timeOfDay = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));

/** A fraction in its simplest form, such as `3/8`. */
export function simplest(n: number, d: number): string {
  const by = greatestCommonDivisor(n, d);
  return `${n / by}/${d / by}`;
}

const same = (a: string, b: string): boolean => difference(fractionOf(a), fractionOf(b)).n === 0n;

type NumericQuestion = {
  stem: string[];
  figure?: Figure;
  value: string;
  unit?: keyof typeof unitsOf;
  form?: NumericKey['form'];
  tolerance?: string;
  /** How many decimal places the question asks for. */
  decimals?: number;
  solution: string;
  wrong: readonly Wrong[];
};

/**
 * A question with a number to type. A named error that happens to lead to the key, or to the same number as another, is
 * left out; null if none is left, so that the template draws again.
 */
export function numeric({
  stem,
  figure,
  value,
  unit,
  form,
  tolerance,
  decimals,
  solution,
  wrong,
}: NumericQuestion): RenderedItem | null {
  const kept: Wrong[] = [];
  const reach = fractionOf(tolerance ?? '0');
  for (const entry of wrong) {
    const gap = difference(fractionOf(entry[0]), fractionOf(value));
    const beyond = gap.n * reach.d > reach.n * gap.d;
    if (beyond && !kept.some(([other]) => same(other, entry[0]))) kept.push(entry);
  }
  if (kept.length === 0) return null;
  const beside: Unit = unit ? unitsOf[unit] : { units: [] };
  return {
    type: 'numeric',
    stem,
    ...(figure && { figure }),
    ...(beside.prefix && { prefix: beside.prefix }),
    ...(beside.suffix && { suffix: beside.suffix }),
    key: {
      value,
      ...(tolerance && { tolerance }),
      ...(beside.units.length > 0 && { units: [...beside.units] }),
      ...(form && { form }),
      ...(decimals !== undefined && { decimals }),
    },
    rationale: solution,
    distractor_rationales: Object.fromEntries(kept),
  };
}

type ChoiceQuestion = { stem: string[]; figure?: Figure; right: string; wrong: readonly Wrong[]; solution: string };

/** A question with one right option among four, in random order; null unless all four texts differ. */
export function choice(random: Random, { stem, figure, right, wrong, solution }: ChoiceQuestion): RenderedItem | null {
  const texts = shuffled(random, [right, ...wrong.map(([text]) => text)]);
  if (texts.length !== 4 || new Set(texts).size < texts.length) return null;
  const idOf = (text: string) => 'abcd'[texts.indexOf(text)]!;
  return {
    type: 'single_choice',
    stem,
    ...(figure && { figure }),
    options: texts.map((text) => ({ id: idOf(text), text })),
    key: idOf(right),
    rationale: solution,
    distractor_rationales: Object.fromEntries(
      wrong.map(([text, why]) => [idOf(text), why] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
}

const maxAttempts = 500;

/** A template from a draw that returns null where the numbers drawn are unfit. It draws again until they fit. */
export function template(id: string, draw: (random: Random) => RenderedItem | null): Template {
  return {
    id,
    make(random) {
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const item = draw(random);
        if (item) return item;
      }
      throw new RangeError(`template ${id} found no fit numbers in ${maxAttempts} draws`);
    },
  };
}
