import { hash } from 'node:crypto';
import { plainLetters, undecomposed, normalised } from '../../platform/validation/personal-data.ts';

/**
 * What learners who may be one person are found by, as whole numbers that an index holds: equal texts have equal ones, and
 * nobody reads a name out of them. 48 bits: two others of 100,000 are alike by chance once in 60,000 organisations.
 */
const keyOf = (text: string): number => Number.parseInt(hash('sha256', text).slice(0, 12), 16);

/**
 * Letters without marks, in lower case, as words; `Silva, Ana` in the order in which it is said. Apostrophes, of whatever
 * kind, stand inside a word: O’Brien is Obrien.
 */
function wordsOf(fullName: string): string[] {
  const comma = fullName.indexOf(',');
  const said = comma < 0 ? fullName : `${fullName.slice(comma + 1)} ${fullName.slice(0, comma)}`;
  const joined = said.replaceAll(/(?<=[\p{L}\p{M}])['\u2018\u2019\u02bb\u02bc\u2032`\u00b4\uff07](?=\p{L})/gu, '');
  const words = normalised(joined, 'NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(undecomposed, (letter) => plainLetters[letter]!)
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '');
  return words.length === 0 ? [fullName] : words;
}

/** How a word sounds, roughly: letters that are often taken for one another, without vowels but for the first letter. */
function soundOf(word: string): string {
  const alike = word
    .replaceAll('ph', 'f')
    .replaceAll(/c(?=[eiy])|z/g, 's')
    .replaceAll(/ck|c|q/g, 'k')
    .replaceAll('w', 'v')
    .replaceAll('y', 'i');
  return (alike[0]! + alike.slice(1).replaceAll(/[aeiouh]/g, '')).replaceAll(/(.)\1+/gu, '$1');
}

/** The same words, in whatever order, case, marks and punctuation. */
export const nameKey = (fullName: string): number => keyOf(wordsOf(fullName).sort().join(' '));

/** The same name, as a person types it again. Numbers in it count too. */
export const sameNameKey = (fullName: string): string =>
  [nameKey(fullName), ...(fullName.match(/\p{N}+/gu) ?? [])].join(' ');

/** The first and the last word sound alike, whatever stands between them. */
export function nearKey(fullName: string): number {
  const words = wordsOf(fullName).filter((word, _, all) => word.length > 1 || all.length <= 2);
  const ends = words.length > 1 ? [words[0]!, words.at(-1)!] : words.length === 1 ? words : [fullName];
  return keyOf(ends.map(soundOf).sort().join(' '));
}

/** The same letters and digits, whatever their case, what stands between them, and zeros before numbers. */
export const refKey = (ref: string): number =>
  keyOf(
    ref
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, ' ')
      .replaceAll(/(?<!\d)0+(?=\d)/g, '')
      .replaceAll(' ', ''),
  );
