/**
 * Writes an array as text without the driver's costly escaping. Values must be numbers, UUIDs, hashes or fixed words,
 * which need no escaping.
 */
export function arrayLiteral(values: readonly (number | string | null)[]): string {
  return `{${values.map((value) => value ?? 'null').join()}}`;
}

const uuidOid = 2950;
const elementLength = '00000010';

/**
 * Writes a uuid[] in PostgreSQL's binary format (array_recv), which PostgreSQL reads in a tenth of the time of text.
 */
export function uuidArray(ids: readonly string[]): Buffer {
  const head = Buffer.allocUnsafe(20);
  [ids.length === 0 ? 0 : 1, 0, uuidOid, ids.length, 1].forEach((field, i) => head.writeInt32BE(field, 4 * i));
  if (ids.length === 0) return head.subarray(0, 12);
  const bytes = Buffer.from(`${elementLength}${ids.join(elementLength).replaceAll('-', '')}`, 'hex');
  if (bytes.length !== 20 * ids.length || ids.some((id) => id.length !== 36)) throw new Error('not a UUID');
  return Buffer.concat([head, bytes]);
}

const between = '\x1e';

/** Joins texts into one parameter, which costs less than an escaped array. No text may contain control characters. */
export function joinedTexts(texts: readonly string[]): string {
  return texts.join(between);
}

/**
 * SQL that splits the parameter of `joinedTexts`. A single empty text becomes an array without elements, so the
 * statement must replace the null that `unnest` then yields.
 */
export function joinedTextsOf(parameter: `$${number}`, emptyAsNull: 'emptyAsNull' | null = null): string {
  return `string_to_array(${parameter}, E'\\x1e'${emptyAsNull === null ? '' : ", ''"})`;
}
