/** Texts that cost the most of those who read them, each of about so many bytes. */
export const worstTexts = (bytes: number): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parts).map(([name, [before, part, after]]) => [
      name,
      before + part.repeat(Math.max(1, Math.floor((bytes - 8) / Buffer.byteLength(part)))) + after,
    ]),
  );

/** What a text begins with, what is repeated, and what it ends with. */
const parts: Record<string, [string, string, string]> = {
  numbers: ['', 'AB123456C ', ''],
  'numbers in pieces': ['', 'AB 12 34 56 ', 'C'],
  'numbers, glued': ['', 'AB123456C', ''],
  spaces: ['a:', ' ', 'y\u2028x'],
  'spaces and letters': ['', 'a ', '!'],
  tabs: ['AB123456', '\t', 'C'],
  hyphens: ['AB123456', '-', 'E'],
  dots: ['a', '.', '!'],
  'two marks in turn': ['1234567a', '\u0301\u0316', ''],
  'marks of Katakana in turn': ['1234567a', '\uff9e\u0301', ''],
  'look-alike letters': ['1234567', '\u0430', ''],
  ligatures: ['1234567', '\ufdfa', ''],
  emoji: ['', '👩‍', ''],
  'one letter': ['', 'a', '!'],
  'one digit': ['', '1', 'x'],
  percent: ['1234567', '%2525', ''],
  'line feeds': ['', '\n', 'x'],
  'carriage returns and line feeds': ['', '\r\n', 'x'],
  commas: ['', ',', 'x'],
  quotes: ['', '"', 'x'],
  'quotes and commas': ['', '"",', '"'],
  apostrophes: ['', "'", 'x'],
  groups: ['', 'a=', 'x'],
  'groups, listed': ['', 'cohort:a;', ''],
  equals: ['', 'a=b;', 'x'],
  tags: ['', '<a ', '>'],
  brackets: ['AB123456C', '[', ''],
  'nested lists': ['["AB123456C",', '[', ''],
  at: ['', 'a@', ''],
  'labels of a domain': ['a@', 'a-', '.'],
  colons: ['', ':', 'x'],
  slashes: ['https://a.example/', '/', '\n'],
  zeros: ['1.', '0', 'x'],
  nulls: ['', '\0', ''],
  names: ['', '__proto__.', ''],
};
