import { hash } from 'node:crypto';
import { plainLetters, undecomposed, normalised } from '../../platform/validation/personal-data.ts';

/**
 * A key that finds possible duplicates of a learner: a hash of 48 bits, which does not reveal the name. In 60,000
 * organisations of 100,000 learners, about one pair of different texts has the same key by chance.
 */
const keyOf = (text: string): number => Number.parseInt(hash('sha256', text).slice(0, 12), 16);

/**
 * Words in lower case without accents: `Silva, Ana` becomes `ana silva`. An apostrophe joins its neighbours: `O’Brien`
 * becomes `obrien`.
 */
function wordsOf(fullName: string): string[] {
  const comma = fullName.indexOf(',');
  const ordered = comma < 0 ? fullName : `${fullName.slice(comma + 1)} ${fullName.slice(0, comma)}`;
  const joined = ordered.replaceAll(/(?<=[\p{L}\p{M}])['\u2018\u2019\u02bb\u02bc\u2032`\u00b4\uff07](?=\p{L})/gu, '');
  const words = normalised(joined, 'NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(undecomposed, (letter) => plainLetters[letter]!)
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '');
  return words.length === 0 ? [fullName] : words;
}

/**
 * A rough phonetic form of a word. Similar consonants become one letter, and vowels after the first letter are removed.
 */
function soundOf(word: string): string {
  const alike = word
    .replaceAll('ph', 'f')
    .replaceAll(/c(?=[eiy])|z/g, 's')
    .replaceAll(/ck|c|q/g, 'k')
    .replaceAll('w', 'v')
    .replaceAll('y', 'i');
  return (alike[0]! + alike.slice(1).replaceAll(/[aeiouh]/g, '')).replaceAll(/(.)\1+/gu, '$1');
}

/** Two names with the same words have the same key, whatever the order, case, accents and punctuation. */
export const nameKey = (fullName: string): number => keyOf(wordsOf(fullName).sort().join(' '));

/** Names with the same words and numbers have the same key, whatever their order, case, accents and punctuation. */
export const sameNameKey = (fullName: string): string =>
  [nameKey(fullName), ...(fullName.match(/\p{N}+/gu) ?? [])].join(' ');

/** Two names have the same key if their first words and their last words sound alike. */
export function nearKey(fullName: string): number {
  const words = wordsOf(fullName).filter((word, _, all) => word.length > 1 || all.length <= 2);
  const ends = words.length > 1 ? [words[0]!, words.at(-1)!] : words.length === 1 ? words : [fullName];
  return keyOf(ends.map(soundOf).sort().join(' '));
}

/**
 * Two references with the same letters and digits have the same key, whatever their case, separators and leading zeros.
 */
export const refKey = (ref: string): number =>
  keyOf(
    ref
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, ' ')
      .replaceAll(/(?<!\d)0+(?=\d)/g, '')
      .replaceAll(' ', ''),
  );
