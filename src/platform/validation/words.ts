const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** Whether each word of the search is the beginning of a word of the name. */
export function hasWords(called: string, text: string): boolean {
  const [words, wanted] = [wordsOf(called), wordsOf(text)];
  return wanted.length > 0 && wanted.every((one) => words.some((word) => word.startsWith(one)));
}
