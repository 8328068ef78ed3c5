import { digitsForWords } from './numbers/number-words.ts';

const pictures = /\p{Extended_Pictographic}[\p{Emoji_Modifier}\ufe0f\u200d]*/gu;
const invisible = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/gu;

/** Converts a text to Unicode NFC with straight quotes and apostrophes, and removes invisible characters. */
export function straightQuotes(text: string): string {
  return text
    .normalize('NFC')
    .replace(invisible, '')
    .replace(/[\u2018\u2019\u201a\u201b\u02bc\u2032\u0060\u00b4\uff07]/gu, "'")
    .replace(/[\u201c\u201d\u201e\u201f\u2033\uff02]/gu, '"');
}

/**
 * Converts a text to one form for comparison: NFC, straight quotes, one kind of hyphen, single spaces and no invisible
 * characters. By default, letters become lower case.
 */
export function comparable(text: string, options: { case_sensitive?: boolean; ignore_spaces?: boolean } = {}): string {
  const out = straightQuotes(options.case_sensitive ? text : text.replace(pictures, ''))
    .replace(/[\u2010-\u2015]/gu, '-')
    .replace(/\u2026/gu, '...')
    .replace(/\s+/gu, options.ignore_spaces ? '' : ' ')
    .replace(/(?<! ) +(?=[.,!?;:](?:\s|$))/gu, '')
    .replace(/(?<! ) +,(?=[^\s\d])/gu, ', ')
    .replace(/(?<=\p{L})[,;:!?](?=\p{L})/gu, options.ignore_spaces || options.case_sensitive ? '$&' : '$& ')
    .replace(/(?<=\p{L}) ?' ?(?=(?:s|t|re|ve|ll|d|m)\b)/giu, "'")
    .replace(/(?<=s) '$/iu, "'")
    .replace(/(?<=\p{L}{2}s)'(?=\p{L}{3})/giu, "' ")
    .replace(/"([^"]*)"/gu, (_all, inside: string) => `"${inside.replace(/^ +|(?<! ) +$/gu, '')}"`)
    .trim();
  return options.case_sensitive ? out : out.toLowerCase();
}

const stops = /(?<![.,;:!])[.,;:!]+$/u;

/**
 * Removes quotes and brackets around the text, and full stops at its end.
 * @param keepStops true if the question measures the end of a sentence, so that full stops stay
 */
export function bare(text: string, keepStops: boolean): string {
  let out = text.trim();
  for (const [open, close] of ['""', "''", '()', '[]', '**'] as const) {
    if (out.length > 2 && out.startsWith(open!) && out.endsWith(close!) && !out.slice(1, -1).includes(open!))
      out = out.slice(1, -1).trim();
  }
  return keepStops ? out : out.replace(stops, '').trim();
}

/** Removes common endings of a word, so that "goes" equals "go" and "tins" equals "tin". */
export function stemOf(word: string): string {
  const plain = word.toLowerCase().replace(/'s?$/u, '');
  const stem = withoutEnding(plain);
  return stem.length > 3 && stem.endsWith('e') ? stem.slice(0, -1) : stem;
}

function withoutEnding(plain: string): string {
  if (plain.length > 4 && plain.endsWith('ies')) return `${plain.slice(0, -3)}y`;
  if (plain.length > 4 && /(?:[sxz]|ch|sh|o)es$/u.test(plain)) return plain.slice(0, -2);
  if (plain.length > 5 && plain.endsWith('ing')) return plain.slice(0, -3);
  if (plain.length > 4 && plain.endsWith('ed')) return plain.slice(0, -2);
  return plain.length > 2 && plain.endsWith('s') && !plain.endsWith('ss') ? plain.slice(0, -1) : plain;
}

/**
 * Removes number signs: "No. 7", "no 7", "number 7", "nr 7" and "#7" become "7". The "no" of "no one" and "no, 7"
 * stays.
 */
export function withoutNumberSign(text: string): string {
  return text.replace(/(?:(?<![\p{L}\d])(?:no\.?|nr\.?|num\.?|number)|[#№]) ?:? ?(?=\d)/giu, '');
}

export function wordsOf(text: string): string[] {
  // Number signs are removed first, because "no one" later becomes "no 1", in which "no" isn't a number sign.
  const plain = withoutNumberSign(comparable(text).replace(/["()[\]*]/gu, ' '));
  return digitsForWords(plain.replace(/\b(first|second|third|fourth|fifth|sixth|last|right|correct) one\b/gu, '$1'))
    .replace(/\b(?:no\.|number) (?=\d)/gu, '')
    .replace(/(\d),(?=\d{3})/gu, '$1')
    .replace(/(\d)(?:st|nd|rd|th)\b/gu, '$1')
    .replace(/(?<=\d)(?=[a-z])|(?<=[£$€])\s+(?=\d)/gu, (gap) => (gap === '' ? ' ' : ''))
    .replace(/(?<!\d)(\d+)\.00\b/gu, '$1')
    .split(/[\s,;:!?/-]+|\.(?=\s|$)|…/u)
    .map((word) => word.replace(/^'+|(?<!')'+$/gu, ''))
    .filter((word) => word !== '' && word !== '-');
}
