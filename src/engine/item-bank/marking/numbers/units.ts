import type { Fraction } from '../../number.ts';
import units from './units.json' with { type: 'json' };

/** `factor`: its size in the dimension's first unit. */
export type Unit = { dimension: string; factor: Fraction };

/** Units by all spellings in the form of `plainUnit`. */
const table = new Map<string, Unit>();
for (const { dimension, factor, names } of units) {
  const one = { dimension, factor: { n: BigInt(factor[0]!), d: BigInt(factor[1]!) } };
  for (const name of names) table.set(name, one);
}

/** The form of a unit for comparison: `M ^2`, `m²` and `m2.` become `m2`. */
export function plainUnit(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s.^-]/gu, '');
}

export function unitNamed(text: string): Unit | null {
  const plain = plainUnit(text);
  // "metres²": the power after the word.
  const powered = /^(milli|centi|kilo)?met(?:re|er)s?([23])$/u.exec(plain);
  const short = { milli: 'mm', centi: 'cm', kilo: 'km' } as const;
  const name = powered === null ? plain : `${short[powered[1] as keyof typeof short] ?? 'm'}${powered[2]}`;
  return table.get(name) ?? null;
}
