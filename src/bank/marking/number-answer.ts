import type { Fraction } from '../number.ts';
import { atMost, difference, fractionOf } from '../number.ts';
import type { NumericKey } from '../schema.ts';
import type { Quantity } from './quantity.ts';
import { readQuantity } from './quantity.ts';
import { stemOf } from './text.ts';
import type { Unit } from './units.ts';
import { plainUnit, unitNamed } from './units.ts';

/** What stands around the box: its prefix and suffix, and the words of the question and of its label. */
export type Surroundings = { beside: readonly string[]; words: ReadonlySet<string>; text: string };

/** Words that may stand beside any number without changing what it says. */
const fillers = new Set(
  'about approximately approx around roughly exactly only just it is its it’s the a an in all altogether total each more left over answer equals of per and they there are were was cost costs pay pays get gets need needs at'.split(
    ' ',
  ),
);

/** Marks a typed number; `unreadable` where it can't be told what number is meant. */
export function markNumber(text: string, key: NumericKey, around: Surroundings): 'right' | 'wrong' | 'unreadable' {
  const read = readQuantity(text);
  if (read === null) return 'unreadable';
  const named = [...around.beside, ...(key.units ?? [])].filter((name) => name.trim() !== '');
  const keyUnit = named.map(unitNamed).find((unit) => unit !== null) ?? null;
  const own = new Set(named.flatMap((name) => name.split(' ')).map(plainUnit));
  const strange = read.words.filter(
    (word) => !fillers.has(word) && !own.has(plainUnit(word)) && !around.words.has(stemOf(word)),
  );
  if (strange.length > 0) return 'unreadable';
  const value = inUnitOf(read, key, keyUnit, around);
  if (value === 'other' || value === 'strange') return value === 'other' ? 'wrong' : 'unreadable';
  const unitRight = !key.unit_required || read.unit !== null || read.words.some((word) => own.has(plainUnit(word)));
  return near(value, key) && formRight(read, key) && unitRight ? 'right' : 'wrong';
}

function near(value: Fraction, key: NumericKey): boolean {
  return atMost(difference(value, fractionOf(key.value)), fractionOf(key.tolerance ?? '0'));
}

/** The typed value in the unit of the key; `other` where it measures something else, `strange` where that can't be told. */
function inUnitOf(
  read: Quantity,
  key: NumericKey,
  keyUnit: Unit | null,
  around: Surroundings,
): Fraction | 'other' | 'strange' {
  const { value, unit } = read;
  if (unit === null) {
    // "207,500" where the box counts in thousands.
    const thousands = keyUnit?.dimension === 'money' && keyUnit.factor.n >= 100_000n;
    const scaled = { n: value.n, d: value.d * 1000n };
    return thousands && near(scaled, key) ? scaled : value;
  }
  if (keyUnit === null) {
    const share = fractionOf(key.value);
    if (unit.dimension === 'percent' && atMost(share, { n: 1n, d: 1n })) return { n: value.n, d: value.d * 100n };
    return isMentioned(unit, around.text) ? value : 'strange';
  }
  if (unit.dimension === 'angle' && keyUnit.dimension === 'temperature') return value;
  if (unit.dimension !== keyUnit.dimension) return 'other';
  return { n: value.n * unit.factor.n * keyUnit.factor.d, d: value.d * unit.factor.d * keyUnit.factor.n };
}

function isMentioned(unit: Unit, text: string): boolean {
  return text
    .toLowerCase()
    .split(/[\s,()]+|(?<=[£$€%])|(?<=\d)(?=[a-z%°])/u)
    .some((word) => unitNamed(word) === unit);
}

function formRight(read: Quantity, key: NumericKey): boolean {
  const isFraction = read.form === 'fraction' || read.form === 'mixed';
  if (key.decimals !== undefined && read.places > key.decimals) return false;
  switch (key.form ?? 'any') {
    case 'fraction_simplest':
      return (isFraction && read.lowestTerms) || (read.form === 'whole' && !key.value.includes('/'));
    case 'decimal':
      return !isFraction;
    case 'whole':
      return read.form === 'whole';
    default:
      return true;
  }
}
