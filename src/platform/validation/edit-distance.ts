/**
 * The restricted Damerau–Levenshtein distance: the number of insertions, deletions, substitutions and swaps of
 * neighbouring letters.
 */
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
