/** How long a secret is at least. */
export const leastSecretChars = 32;

/** Whether these lines are one value that was broken into lines, as `openssl rand -base64 64` and `base64` write it. */
function isWrapped(lines: string[]): boolean {
  const width = lines[0]?.length ?? 0;
  const last = lines.length - 1;
  return (
    last > 0 &&
    (width === 64 || width === 76) &&
    lines.every((line, i) => /^[A-Za-z0-9+/]+={0,2}$/.test(line) && (i === last || line.length === width)) &&
    lines[last]!.length <= width &&
    lines[last]!.length % 4 === 0
  );
}

/**
 * The secrets of a list, separated by commas or lines. One may hold commas, or be all of the text with spaces or line ends of
 * its own, so a line and such a text count as a whole, too: what fits nothing is of no harm.
 * @throws Error with the second half of a sentence where a value is too short to be a secret
 */
export function secretsIn(text: string): string[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const wrapped = isWrapped(lines);
  const listed = lines.flatMap((line) => {
    const found = [...line.split(','), line].map((one) => one.trim()).filter((one) => one.length >= leastSecretChars);
    if (found.length === 0 && !wrapped)
      throw new Error(`must have at least ${leastSecretChars} characters in each of its values`);
    return found;
  });
  return [...new Set([...listed, ...(lines.length === 1 || wrapped ? [text] : [])])];
}
