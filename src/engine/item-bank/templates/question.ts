import { pick, type Random } from '../../../platform/crypto/random.ts';
import { difference, fractionOf } from '../number.ts';
import type { Figure, NumericKey, RenderedItem } from '../schema.ts';
import lists from './lists.json' with { type: 'json' };

/**
 * A maths item whose numbers are drawn from `random`, so the same seed gives the same item. Every seed gives one right
 * key, distinct options and a worked solution; each wrong answer comes from a named error.
 */
export type Template = { id: string; make(random: Random): RenderedItem };

/** The numbers of one question. `values` has the names that the texts use. A wrong answer that is null is left out. */
type Drawn = {
  values: Record<string, unknown>;
  value: string | number;
  wrong: readonly (string | number | null | undefined)[];
  rows?: string[][];
  points?: { label: string; value: number }[];
};

/** Returns null if the numbers don't suit the question; the template then draws again. */
export type Draw = (random: Random) => Drawn | null;

/** The texts of a template. `{name}`, `{name.0}` and `{name:format}` are placeholders for drawn values. */
export type QuestionTexts = {
  type?: string;
  /** Words to draw, in this order: by placeholder name, the choices or the name of a list in `lists.json`. */
  words?: Record<string, string | readonly (string | readonly string[])[]>;
  stem: string[];
  figure?: Record<string, string | string[]>;
  unit?: string;
  form?: string;
  tolerance?: string;
  decimals?: number;
  solution: string;
  /** The error behind each wrong answer, in the order of the drawn wrong answers. */
  wrong: string[];
};

type Wrong = readonly [value: string, why: string];

type Unit = { suffix?: string; prefix?: string; units: string[] };

const unitsOf: Record<string, Unit> = {
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
};

/** Draws a whole number from `min` to `max`, both included, in steps of `step`. */
export function whole(random: Random, min: number, max: number, step = 1): number {
  return min + step * Math.floor(random.float() * (Math.floor((max - min) / step) + 1));
}

export function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const out = [...list];
  for (let last = out.length - 1; last > 0; last -= 1) {
    const at = Math.floor(random.float() * (last + 1));
    [out[last], out[at]] = [out[at]!, out[last]!];
  }
  return out;
}

export function several<T>(random: Random, count: number, list: readonly T[]): T[] {
  return shuffled(random, list).slice(0, count);
}

export const sum = (list: readonly number[]): number => list.reduce((total, value) => total + value, 0);

/** Writes a number with commas from 1,000 on, as in a text. */
export const grouped = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+(?!\d))/gu, ',');

/** Writes pence as pounds in the form of a key's value: `7.20`. */
export const poundsValue = (pence: number): string =>
  `${Math.floor(pence / 100)}.${String(pence % 100).padStart(2, '0')}`;

/** Writes pence as pounds in the form of a text: `£1,207.20`, or `£40` for whole pounds. */
export function pounds(pence: number): string {
  const whole = grouped(Math.floor(pence / 100));
  return pence % 100 === 0 ? `£${whole}` : `£${whole}.${String(pence % 100).padStart(2, '0')}`;
}

/**
 * Writes a whole number of tenths, hundredths and so on as a decimal without final zeros: `decimal(1250, 2)` is `12.5`.
 */
export function decimal(scaled: number, places: number): string {
  const digits = String(scaled).padStart(places + 1, '0');
  const fraction = digits.slice(digits.length - places).replace(/(?<!0)0+$/u, '');
  const whole = digits.slice(0, digits.length - places);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Writes minutes after midnight as on a timetable: `09:05`. */
export const timeOfDay = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));

export function simplest(n: number, d: number): string {
  const by = greatestCommonDivisor(n, d);
  return `${n / by}/${d / by}`;
}

const same = (a: string, b: string): boolean => difference(fractionOf(a), fractionOf(b)).n === 0n;

/**
 * Makes a question with a number to type. Wrong answers that equal the key or each other are left out. Returns null if
 * none remains, so that the template draws again.
 */
function numeric(
  value: string,
  wrong: readonly Wrong[],
  { stem, figure, unit, form, tolerance, decimals, solution }: QuestionTexts,
): RenderedItem | null {
  const kept: Wrong[] = [];
  const reach = fractionOf(tolerance ?? '0');
  for (const entry of wrong) {
    const gap = difference(fractionOf(entry[0]), fractionOf(value));
    const isBeyond = gap.n * reach.d > reach.n * gap.d;
    if (isBeyond && !kept.some(([other]) => same(other, entry[0]))) kept.push(entry);
  }
  if (kept.length === 0) return null;
  const { prefix, suffix, units }: Unit = unit === undefined ? { units: [] } : unitsOf[unit]!;
  return {
    type: 'numeric',
    stem,
    ...(figure && { figure: figure as unknown as Figure }),
    ...(prefix && { prefix }),
    ...(suffix && { suffix }),
    key: {
      value,
      ...(tolerance && { tolerance }),
      ...(units.length > 0 && { units: [...units] }),
      ...(form && { form: form as NumericKey['form'] }),
      ...(decimals !== undefined && { decimals }),
    },
    rationale: solution,
    distractor_rationales: Object.fromEntries(kept),
  };
}

/** Makes a question with one right option among four, in random order. Returns null if two of the texts are equal. */
function choice(
  random: Random,
  right: string,
  wrong: readonly Wrong[],
  { stem, solution }: QuestionTexts,
): RenderedItem | null {
  const texts = shuffled(random, [right, ...wrong.map(([text]) => text)]);
  if (texts.length !== 4 || new Set(texts).size < texts.length) return null;
  const idOf = (text: string) => 'abcd'[texts.indexOf(text)]!;
  return {
    type: 'single_choice',
    stem,
    options: texts.map((text) => ({ id: idOf(text), text })),
    key: idOf(right),
    rationale: solution,
    distractor_rationales: Object.fromEntries(
      wrong.map(([text, why]) => [idOf(text), why] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
}

const formats: Record<string, (value: never) => string> = {
  pence: poundsValue,
  money: pounds,
  grouped,
  time: timeOfDay,
  tenths: (value: number) => decimal(value, 1),
  hundredths: (value: number) => decimal(value, 2),
  thousandths: (value: number) => decimal(value, 3),
  list: (values: number[]) => values.join(', '),
  plus: (values: number[]) => values.join(' + '),
};

function fill(text: string, values: Record<string, unknown>): string {
  return text.replace(/\{(\w+)(?:\.(\d))?(?::(\w+))?\}/gu, (place, name: string, at?: string, format?: string) => {
    const value = at === undefined ? values[name] : (values[name] as unknown[])[Number(at)];
    if (value === undefined) throw new RangeError(`nothing is drawn for ${place}`);
    return format === undefined ? String(value) : formats[format]!(value as never);
  });
}

function question(random: Random, drawn: Drawn, texts: QuestionTexts): RenderedItem | null {
  const { rows, points } = drawn;
  const values: Record<string, unknown> = { ...drawn.values, value: drawn.value };
  for (const [names, from] of Object.entries(texts.words ?? {})) {
    const word = pick(
      random,
      typeof from === 'string' ? (lists[from as keyof typeof lists] as readonly string[]) : from,
    );
    names.split(' ').forEach((name, at) => (values[name] = fill([word].flat()[at]!, values)));
  }
  const say = (text: string) => fill(text, values);
  const saying: QuestionTexts = { ...texts, stem: texts.stem.map(say), solution: say(texts.solution) };
  if (texts.figure !== undefined) {
    const figure = Object.entries(texts.figure).map(([key, text]) => [
      key,
      Array.isArray(text) ? text.map(say) : say(text),
    ]);
    saying.figure = { ...Object.fromEntries(figure), ...(rows && { rows }), ...(points && { points }) };
  }
  const wrong = drawn.wrong.flatMap((value, at): Wrong[] =>
    value === null ? [] : [[String(value), say(texts.wrong[at]!)]],
  );
  const right = String(drawn.value);
  return texts.type === 'single_choice' ? choice(random, right, wrong, saying) : numeric(right, wrong, saying);
}

const maxAttempts = 500;

export function template(id: string, draw: Draw, texts: QuestionTexts): Template {
  return {
    id,
    make(random) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const drawn = draw(random);
        const item = drawn && question(random, drawn, texts);
        if (item) return item;
      }
      throw new RangeError(`template ${id} found no fit numbers in ${maxAttempts} draws`);
    },
  };
}
