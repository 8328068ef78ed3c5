/**
 * Characters of other keyboards or phones that look like a character of a British keyboard, with their replacements.
 * Fractions, powers, dashes and quotes are not replaced, because they have a meaning of their own.
 */
const written: readonly [RegExp, string][] = [
  [/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, ''],
  [/[\u2010-\u2012\u2043\u2212\ufe63]/gu, '-'],
  [/[\u2044\u2215]/gu, '/'],
  [/[\u02d0\u2236\ua789]/gu, ':'],
  [/(?<=\d)[\u00b7\u066b](?=\d)/gu, '.'],
  [/[\u060c\u066c]/gu, ','],
  [/[\u20a4\uffe1]/gu, '£'],
  [/\s+/gu, ' '],
];

/** Full-width characters, ligatures and mathematical characters, which NFKC replaces by letters or digits. */
const compatible = /[\uff01-\uff5e\ufb00-\ufb06\u{1d400}-\u{1d7ff}]/gu;

const digit = /^\p{Nd}$/u;

/** Returns the ASCII digit for a digit of any script. In Unicode, the ten digits of a script follow one another. */
function digitOf(character: string): string {
  const code = character.codePointAt(0)!;
  let zero = code;
  while (digit.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}

/** Rewrites a typed text with the characters of a British keyboard. */
export function typedText(text: string): string {
  if (/^[ -~]*$/.test(text) && !text.includes('  ')) return text.trim();
  const plain = text
    .replace(compatible, (character) => character.normalize('NFKC'))
    .replace(/[^\0-\x7f]/gu, (character) => (digit.test(character) ? digitOf(character) : character));
  return written.reduce((done, [pattern, character]) => done.replace(pattern, character), plain).trim();
}
