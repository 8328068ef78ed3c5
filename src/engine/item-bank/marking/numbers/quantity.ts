import { type Fraction, plainSigns, readPlain } from '../../number.ts';
import { digitsForWords } from './number-words.ts';
import { type Unit, unitNamed } from './units.ts';

/** A typed quantity, such as "£3.65p", "2 hours 30 minutes" or "about seven tins". */
export type Quantity = {
  /** The amount in the first unit, to which further parts are added: 2 hours 30 minutes are 5/2 hours. */
  value: Fraction;
  form: 'whole' | 'decimal' | 'fraction' | 'mixed' | 'several';
  lowestTerms: boolean;
  /** The number of typed decimal places, which is 0 for whole numbers and fractions. */
  places: number;
  unit: Unit | null;
  /** Further units, such as the hour of "£12 an hour". */
  others: Unit[];
  words: string[];
};

const longest = 120;
const pounds = unitNamed('£');
const pence = unitNamed('p');
const hours = unitNamed('h');
const minutes = unitNamed('min');
const metres = unitNamed('m');
/** Matches the words of a limit around a number: "at least 3", "10 or more", "5 days max", "about 30-ish". */
const bounds =
  /^(?:at (?:least|most)|up to|no (?:more|less|fewer) than|not more than|max(?:imum)?|min(?:imum)?|a (?:max(?:imum)?|min(?:imum)?) of) (?=[£$€+-]?\w)|(?<=\S),? (?:or (?:so|more|less|fewer|over|above|under|below)|and (?:over|above|up)|(?:at )?(?:max(?:imum)?|min(?:imum)?|the (?:most|least)|most|least))[.!]?$|(?<=\d)(?:\+|[- ]?ish)$/u;
const number =
  /[+-]? ?(?:\d{1,12} \d{1,12} ?\/ ?\d{1,12}|\d{1,12} ?\/ ?\d{1,12}|\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d{1,3}(?: \d{3})+(?:\.\d*)?(?! ?\/)|\d+(?:\.\d*)?|\.\d+)/uy;

/** Matches the calculation before a result, as in "8 and 5 makes 13" and "7.5, so 8". */
const result =
  /^.*\d.*(?:\b(?:is|equals|equal|makes?|gives?|shows?|holds?|leaves?|comes to|therefore|which is|rounds? (?:up |down )?to|rounded (?:up |down )?to|so)\b|=|→|->) ?(?:(?:that|it|this)(?:'s| is)? |about |i (?:think|need) |you need |they need |we need )*(?=[-+£$€]? ?\d)/u;

type Part =
  | { kind: 'number'; text: string }
  /** `isSign`: the unit is a currency sign, which precedes its number. */
  | { kind: 'unit'; unit: Unit; isSign: boolean }
  | { kind: 'word'; text: string };

/**
 * Reads a typed quantity. Returns null if the text has no number, or several that don't form one quantity ("7 or 8",
 * "3,5").
 */
export function readQuantity(text: string): Quantity | null {
  if (text.length > longest) return null;
  // On phones, learners type the ordinal sign (º) instead of the degree sign (°).
  let plain = plainSigns(text.replace(/(?<=\d ?)[º˚]/gu, '°'))
    .toLowerCase()
    .trim()
    // Removes "~" for "about", reads raised points as decimal points, and accepts "34 (m2)" and "seven (7)".
    .replace(/^[~≈∼]+ ?/u, '')
    .replace(/(?<=\d)[·∙•](?=\d)/gu, '.')
    .replace(/(?<=^|[\s£$€+-])\.(?=\d)/gu, '0.')
    .replace(/(?<=\d) ?\(([^()]+)\)$/u, (all, inside: string) => (unitNamed(inside) === null ? all : ` ${inside}`))
    .replace(/^([a-z -]+) ?\((\d+)\)$/u, (all, word: string, digits: string) =>
      digitsForWords(word.trim()) === digits ? digits : all,
    )
    // Removes an explanation or a calculation in brackets: "2 (Ana and Cy)", "16 (4 × 4)".
    .replace(
      /(?<=\S) ?\((?:[^()\d]*|[^()\d]*\d[^()+×x*÷=-]*[+×x*÷=-][^()]*|(?:to )?\d ?(?:d\.?p\.?|s\.?f\.?|decimal places?))\)\.?$/u,
      '',
    )
    .replace(bounds, '')
    .replace(/^["'“”‘’(]+|["'“”‘’).!,;]+$/gu, '')
    // Phones add a space after a decimal point, as if a sentence ended there.
    .replace(/(?<=\d) ?\. (?=\d)|(?<=\d) \.(?=\d)/gu, '.')
    .replace(/\b(?:ppl|pcs)\b/gu, (word) => (word === 'ppl' ? 'people' : 'pieces'))
    .trim();
  // If the learner wrote a calculation, only its result counts.
  if (plain.includes('=')) plain = plain.slice(plain.lastIndexOf('=') + 1).trim();
  plain = digitsForWords(
    plain
      .replace(/^(?:a |one )?(half|third|quarter)$/u, 'a $1')
      .replace(
        /^(?:an?|one|1) (hour|minute|day|week|month|year|metre|mile|kilo|litre|pound) and a half\b/u,
        '1 1/2 $1s',
      )
      .replace(/^an? (?=(?:hour|minute|day|week|month|year|metre|mile|kilo|litre|pound)s?\b)/u, '1 '),
  )
    .replace(/^(\d+) \1$/u, (all, once: string) => (/[a-z]/u.test(plain) ? once : all))
    // Cheques and receipts write £4.65 as "£4-65" or "£4:65".
    .replace(/^(£ ?\d+)[-:](?=\d\d$)/u, '$1.')
    .replace(/(?<![\d.,])(\d{1,6})(?:\.(\d{1,3}))? ?k(?![a-z/])/gu, (_all, whole: string, part = '') =>
      String(Number(`${whole}.${part || 0}`) * 1000),
    )
    .replace(/(?<![\d.,])(\d{1,6}(?:\.\d{1,3})?) (thousand|million)\b/gu, (_all, n: string, scale: string) =>
      String(Math.round(Number(n) * (scale === 'million' ? 1e6 : 1e3))),
    )
    .replace(/(?<=\d)(?:(?:st|nd|rd|th)|(?<=\/ ?\d{1,9})(?:ths|rds|nds))\b/gu, '')
    .replace(/^(?:no\.?|nr\.?|num\.?|number|#) ?:? ?(?=\d)/u, '')
    .replace(/^(?:there (?:are|is) )?(?:no|none|nil|nothing|nought)\b(?!.*\d)/u, '0')
    .replace(result, '')
    .replace(/^(\d+) ?\+ ?(?=\d+ ?\/ ?\d+$)/u, '$1 ')
    .replace(/(?<![\d.)] ?)\b(?:minus|negative) (?=[\d£$€])/u, '-')
    .replace(
      /^([+-]?) ?([£$€]) ?([+-]?) ?/u,
      (_all, before: string, sign: string, after: string) => `${before}${after}${sign}`,
    )
    .replace(/^([+-])([£$€])/u, '$2$1');
  const parts = partsOf(plain);
  return parts === null ? null : (quantityOf(parts) ?? saidTwice(plain));
}

/** If the text gives one number in two forms, as in "2/6 or 1/3", the last form counts. */
function saidTwice(plain: string): Quantity | null {
  const [first, second, ...more] = plain.split(/ or | i\.?e\.? | aka /u).map((one) => partsOf(one.trim()));
  if (first == null || second == null || more.length > 0) return null;
  const [a, b] = [quantityOf(first), quantityOf(second)];
  if (a === null || b === null || a.unit !== b.unit) return null;
  return a.value.n * b.value.d === b.value.n * a.value.d ? b : null;
}

function partsOf(plain: string): Part[] | null {
  const parts: Part[] = [];
  for (let at = 0; at < plain.length;) {
    if (plain[at] === ' ' || plain[at] === ',') {
      // A comma that doesn't group thousands may be a decimal comma or separate a list, so the text can't be read.
      if (plain[at] === ',' && /\d/u.test(plain[at - 1] ?? '') && /\d/u.test(plain[at + 1] ?? '')) return null;
      at++;
      continue;
    }
    number.lastIndex = at;
    const found = number.exec(plain);
    if (found !== null && /\d/u.test(found[0])) {
      parts.push({ kind: 'number', text: found[0].trim() });
      at += found[0].length;
      continue;
    }
    const named = unitAt(plain, at);
    if (named !== null) {
      parts.push({ kind: 'unit', unit: named.unit, isSign: /[£$€]/u.test(plain[at]!) });
      at = named.end;
      continue;
    }
    const word = /[^\s\d,£$€]+/uy;
    word.lastIndex = at;
    const text = word.exec(plain)?.[0];
    if (text === undefined) return null;
    // The dash of "3 - repeat prescriptions" is not a word.
    const isDash = /^[-:]$/u.test(text) && /\S $/u.test(plain.slice(0, at)) && plain[at + 1] === ' ';
    if (!isDash) parts.push({ kind: 'word', text: text.replace(/(?<![.;:!?])[.;:!?]+$/u, '') });
    at += text.length;
  }
  return parts;
}

/** Finds the longest unit that begins at this position. A unit has at most five words. */
function unitAt(plain: string, at: number): { unit: Unit; end: number } | null {
  const rest = /(?:[^\d+-]|[+-](?! ?[\d.]))*(?:[23](?!\d))?/uy;
  rest.lastIndex = at;
  const text = rest.exec(plain)![0];
  const ends = [...text.matchAll(/(?<=\S)(?=\s|$|[23]$|[,;])/gu)].map((match) => match.index).filter((end) => end > 0);
  for (const end of [...new Set([text.length, ...ends.reverse()])].sort((a, b) => b - a)) {
    const candidate = text.slice(0, end);
    if (candidate.split(' ').length > 5) continue;
    // In "14 boxes in all" and "4 m in total", "in" doesn't mean inches.
    if (/(?:^| )in$/u.test(candidate.trim()) && /[a-z]/u.test(text.slice(end))) continue;
    const unit = unitNamed(candidate.replace(/(?<![.,;!])[.,;!]+$/u, ''));
    if (unit !== null) return { unit, end: at + end };
  }
  const sign = /[£$€%°"]/u.exec(text[0] ?? '');
  return sign === null ? null : { unit: unitNamed(sign[0])!, end: at + 1 };
}

function quantityOf(parts: Part[]): Quantity | null {
  const words = parts.flatMap((part) => (part.kind === 'word' && part.text !== '' ? [part.text] : []));
  const known = parts.filter((part) => part.kind !== 'word');
  const numbers = known.filter((part) => part.kind === 'number');
  if (numbers.length === 0) return null;
  // "£3.65p" has one number with two units, pounds and pence.
  const pairs: { text: string; unit: Unit | null; part: Part }[] = [];
  let taken = -1;
  for (let i = 0; i < known.length; i++) {
    const part = known[i]!;
    if (part.kind === 'number') {
      const next = known[i + 1];
      const after = next?.kind === 'unit' && next.isSign && known[i + 2]?.kind === 'number' ? undefined : next;
      const before = known[i - 1];
      const isOwn = before?.kind === 'unit' && i - 1 > taken;
      if (!isOwn && after?.kind === 'unit') taken = i + 1;
      pairs.push({ text: part.text, unit: isOwn ? before.unit : after?.kind === 'unit' ? after.unit : null, part });
    }
  }
  if (known.filter((part) => part.kind === 'unit').length > numbers.length + 1) return null;
  if (pairs.length > 3 || words.some((word) => leavesOpen(word, pairs.length))) return null;
  const read = pairs.map((pair) => ({ ...pair, plain: readPlain(pair.text) }));
  if (read.some((pair) => pair.plain === null)) return null;
  const [first, ...more] = read;
  if (more.length === 0) {
    const { value, form, lowestTerms } = first!.plain!;
    const others = known.flatMap((part) => (part.kind === 'unit' && part.unit !== first!.unit ? [part.unit] : []));
    // In "£3.65p" the "p" belongs to the digits after the point, so pence isn't a further unit.
    const isPence = first!.unit === pounds && others.length === 1 && others[0] === pence;
    const places = placesOf(first!.text);
    return { value, form, lowestTerms, places, unit: first!.unit, others: isPence ? [] : others, words };
  }
  // Each part of a quantity has a smaller unit than the part before: hours then minutes, pounds then pence.
  let sum = { n: 0n, d: 1n };
  let previous: Unit | null = null;
  const sign = first!.plain!.value.n < 0n ? -1n : 1n;
  for (const { unit, plain, part } of read) {
    // In "£48 in total for 4" words separate the two numbers, so 4 isn't a number of pence.
    const before = parts[parts.indexOf(part) - 1];
    const isNext = before?.kind !== 'word' || before.text === 'and';
    // In "14h 30m" the "m" means minutes, not metres.
    const own: Unit | null =
      unit === metres && previous === hours ? minutes : (unit ?? (isNext ? smallerThan(previous) : null));
    if (own === null || (previous !== null && !isPartOf(own, previous))) return null;
    const n = (previous === null ? 1n : sign) * plain!.value.n * own.factor.n;
    const d = plain!.value.d * own.factor.d;
    sum = { n: sum.n * d + n * sum.d, d: sum.d * d };
    previous = own;
  }
  const { factor } = first!.unit!;
  return {
    value: { n: sum.n * factor.d, d: sum.d * factor.n },
    form: 'several',
    lowestTerms: true,
    places: 0,
    unit: first!.unit,
    others: [],
    words,
  };
}

/** Returns the unit that "£3 65" and "2 hours 30" leave out: pence or minutes. */
function smallerThan(unit: Unit | null): Unit | null {
  if (unit === pounds) return pence;
  return unit === hours ? minutes : null;
}

const isPartOf = (small: Unit, large: Unit): boolean =>
  small.dimension === large.dimension && small.factor.n * large.factor.d < large.factor.n * small.factor.d;

const leavesOpen = (word: string, numbers: number): boolean =>
  /^(?:or|not|no|and\/or)$/u.test(word) || (numbers > 1 && /^(?:between|to)$/u.test(word));

function placesOf(text: string): number {
  return /\.(\d*)$/u.exec(text)?.[1]?.length ?? 0;
}
