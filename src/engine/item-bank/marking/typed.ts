/**
 * Characters that another keyboard, an input method, a phone's correction or a paste puts where a British keyboard has
 * one of its own: they look the same, and no question measures which of them was sent. What has a meaning of its own
 * stays: fractions and powers in one character, dashes longer than a hyphen, quotes.
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

/** Full-width characters, ligatures, and the letters and digits of mathematics. */
const compatible = /[\uff01-\uff5e\ufb00-\ufb06\u{1d400}-\u{1d7ff}]/gu;

const digit = /^\p{Nd}$/u;

/** A digit of any script as one of ours: from nought to nine they stand in a row, which may follow another such row. */
function digitOf(character: string): string {
  const code = character.codePointAt(0)!;
  let zero = code;
  while (digit.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}

/** What a learner typed, in the characters that every reader of answers knows. */
export function typedText(text: string): string {
  if (/^[ -~]*$/.test(text) && !text.includes('  ')) return text.trim();
  const plain = text
    .replace(compatible, (character) => character.normalize('NFKC'))
    .replace(/[^\0-\x7f]/gu, (character) => (digit.test(character) ? digitOf(character) : character));
  return written.reduce((done, [pattern, character]) => done.replace(pattern, character), plain).trim();
}
