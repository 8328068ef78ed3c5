/**
 * An array as PostgreSQL reads it from text: a fraction of what the driver takes for the same array, because nothing is
 * escaped. For numbers, uuids, hashes and fixed words only.
 */
export function arrayLiteral(values: readonly (number | string | null)[]): string {
  return `{${values.map((value) => value ?? 'null').join()}}`;
}
