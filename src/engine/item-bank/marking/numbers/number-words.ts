import { isSlipOf } from '../slips.ts';
import lists from '../words.json' with { type: 'json' };

const small: Record<string, number> = Object.fromEntries(
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
    .split(' ')
    .map((word, n) => [word, n]),
);
const tens: Record<string, number> = Object.fromEntries(
  'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ').map((word, n) => [word, 20 + 10 * n]),
);
const names = [...Object.keys(small), ...Object.keys(tens), 'hundred', 'thousand'];
const misspelt: Record<string, string> = { fiveteen: 'fifteen' };
/** Caches corrected spellings, such as "thirteen" for "therteen". */
const mended = new Map<string, string>();
function withoutSlip(word: string): string {
  let out = mended.get(word);
  if (out === undefined) {
    const close = /^[a-z]{4,10}$/u.test(word) ? names.filter((name) => isSlipOf(word, name)) : [];
    out = misspelt[word] ?? (close.length === 1 ? close[0]! : word);
    if (mended.size < 10_000) mended.set(word, out);
  }
  return out;
}

const isSmall = (word: string) => Object.hasOwn(small, word);
const isTens = (word: string) => Object.hasOwn(tens, word);
const isNumber = (word: string) => isSmall(word) || isTens(word);

/**
 * Reads the number words that begin at index `at`, such as "one hundred and five". Returns null if no number begins
 * there.
 */
function readAt(words: readonly string[], at: number): { value: number; end: number } | null {
  const word = (i: number) => withoutSlip(words[i] ?? '');
  if (!isNumber(word(at)) && !(/^an?$/u.test(word(at)) && /^(hundred|thousand)$/u.test(word(at + 1)))) return null;
  let total = 0;
  let part = 0;
  let i = at;
  let last: 'none' | 'small' | 'tens' | 'scale' = 'none';
  for (; i < words.length; i++) {
    const one = word(i);
    if (
      isSmall(one) &&
      (last === 'none' || last === 'scale' || (last === 'tens' && small[one]! > 0 && small[one]! < 10))
    ) {
      part += small[one]!;
      last = 'small';
    } else if (isTens(one) && (last === 'none' || last === 'scale')) {
      part += tens[one]!;
      last = 'tens';
    } else if (one === 'hundred' && last !== 'scale' && part < 100) {
      part = (part === 0 ? 1 : part) * 100;
      last = 'scale';
    } else if (one === 'thousand' && total === 0) {
      total = (part === 0 ? 1 : part) * 1000;
      part = 0;
      last = 'scale';
    } else if (one === 'and' && last === 'scale' && isNumber(word(i + 1))) {
      continue;
    } else if (/^an?$/u.test(one) && i === at) {
      continue;
    } else break;
  }
  return { value: total + part, end: i };
}

export const ordinals: readonly string[] = lists.ordinals;
const ordinal = new RegExp(`\\bthe (${ordinals.join('|')})\\b(?! of\\b)`, 'giu');

/** "The eleventh" becomes 11. "A third" stays, because a third is a fraction. */
export const digitsForOrdinals = (text: string): string =>
  text.replace(ordinal, (_all, word: string) => String(ordinals.indexOf(word.toLowerCase()) + 1));

const joined = new RegExp(
  `\\b(${Object.keys(tens).join('|')})(${Object.keys(small).slice(1, 10).join('|')})\\b`,
  'giu',
);

/** Replaces number words by digits: "twenty-one cars" becomes "21 cars", and "three and a half" becomes "3 1/2". */
export function digitsForWords(text: string): string {
  const words = text
    .replace(/([a-z])-([a-z])/giu, '$1 $2')
    .replace(joined, '$1 $2')
    .split(' ');
  const out: string[] = [];
  for (let i = 0; i < words.length;) {
    const found = readAt(
      words.map((word) => word.toLowerCase()),
      i,
    );
    if (found === null) {
      out.push(words[i]!);
      i++;
    } else {
      out.push(String(found.value));
      i = found.end;
    }
  }
  return out
    .join(' ')
    .replace(
      /\b(\d+) point((?: \d)+)\b/giu,
      (_all, whole: string, places: string) => `${whole}.${places.replaceAll(' ', '')}`,
    )
    .replace(/^(\d{1,3}) over (\d{1,3})$/u, '$1/$2')
    .replace(fraction, (_all, whole: string | undefined, top: string | undefined, several?: string, one?: string) => {
      const bottom = bottoms[(several ?? one)!.toLowerCase()]!;
      return `${whole === undefined ? '' : `${whole} `}${top ?? 1}/${bottom}`;
    })
    .replace(/\b(\d+) and (?=\d+ ?\/ ?\d)/giu, '$1 ');
}

/** The denominators that words name: `one` has singular words ("third"), `several` plural words ("thirds"). */
const one: Record<string, number> = lists.fractions;
const several: Record<string, number> = Object.fromEntries(
  Object.entries(one).map(([name, n]) => [n === 2 ? 'halves' : `${name}s`, n]),
);
const bottoms: Record<string, number> = { ...one, ...several };
const fraction = new RegExp(
  `\\b(?:(\\d+) and )?(?:(\\d+) (${Object.keys(several).join('|')})|(?:an?|one|1) (${Object.keys(one).join('|')}))\\b`,
  'giu',
);
