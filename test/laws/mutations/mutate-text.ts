/** Text of the source with other text in its place, for processes that run with changed code. */

export type Change = { file: string; from: string; to: string };

/** @throws where a text isn't there exactly once, so that a change can't go stale in silence */
export function replaced(given: unknown, changes: readonly Change[], name: string): string {
  let source = given === null || given === undefined ? '' : Buffer.from(given as Uint8Array).toString('utf8');
  for (const { file, from, to } of changes) {
    const found = [...source.matchAll(anyLayout(from))];
    if (found.length !== 1) throw new Error(`${name} no longer fits ${file}: ${from}`);
    source = source.replace(found[0]![0], () => to);
  }
  return source;
}

/** The text however a formatter lays out its white space. */
function anyLayout(text: string): RegExp {
  return new RegExp(
    text
      .split(/\s+/)
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('\\s+'),
    'g',
  );
}
