/** How many letters have to be put in, left out, changed or swapped with their neighbour to make one word of the other. */
export function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = rows[i - 1]![j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      row[j] = Math.min(changed, rows[i - 1]![j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[one.length]![other.length]!;
}

/**
 * Whether somebody who meant the name wrote this: two neighbours swapped, one letter left out, capitals or underscores not kept;
 * in a name that few others can have, also other slips. `DATABASE_URLS` and `DATABASE_URI` are words of their own.
 */
export function isSlipOf(spelt: string, name: string): boolean {
  const apart = distance(spelt, name);
  if (name.endsWith('_FILE')) return apart <= 2;
  const sorted = (word: string) => [...word].sort().join('');
  return apart <= 1 && (spelt.length < name.length || sorted(spelt) === sorted(name));
}
