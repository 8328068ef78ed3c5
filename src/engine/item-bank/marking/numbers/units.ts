import type { Fraction } from '../../number.ts';
import units from './units.json' with { type: 'json' };

/** `factor`: the unit's size, measured in the first unit of its dimension. */
export type Unit = { dimension: string; factor: Fraction };

/** Maps each spelling of a unit, normalised by `plainUnit`, to the unit. */
const table = new Map<string, Unit>();
for (const { dimension, factor, names } of units) {
  const one = { dimension, factor: { n: BigInt(factor[0]!), d: BigInt(factor[1]!) } };
  for (const name of names) table.set(name, one);
}

/** The names of units that are words, in which a slip of spelling can be seen. */
export const unitNames: readonly string[] = [...table.keys()].filter((name) => /^[a-z]{4,}$/u.test(name));

/** Normalises the spelling of a unit: `M ^2`, `m²` and `m2.` become `m2`. */
export function plainUnit(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s.^-]/gu, '');
}

export function unitNamed(text: string): Unit | null {
  const plain = plainUnit(text);
  // A power may follow the full word, as in "metres²".
  const powered = /^(milli|centi|kilo)?met(?:re|er)s?([23])$/u.exec(plain);
  const short = { milli: 'mm', centi: 'cm', kilo: 'km' } as const;
  const name = powered === null ? plain : `${short[powered[1] as keyof typeof short] ?? 'm'}${powered[2]}`;
  return table.get(name) ?? null;
}
