/**
 * An array as PostgreSQL reads it from text: a fraction of what the driver takes for the same array, because nothing is
 * escaped. For numbers, uuids, hashes and fixed words only.
 */
export function arrayLiteral(values: readonly (number | string | null)[]): string {
  return `{${values.map((value) => value ?? 'null').join()}}`;
}

const uuidOid = 2950;

/**
 * A uuid[] in PostgreSQL's binary format (array_recv: dimensions, nulls, type; length and lower bound; each element after its
 * length), which takes a tenth of the time that reading it from text does: for long lists.
 */
export function uuidArray(ids: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(20 + 20 * ids.length);
  [ids.length === 0 ? 0 : 1, 0, uuidOid, ids.length, 1].forEach((field, i) => bytes.writeInt32BE(field, 4 * i));
  ids.forEach((id, i) => {
    const at = 20 + 20 * i;
    bytes.writeInt32BE(16, at);
    const hex = id.replaceAll('-', '');
    if (hex.length !== 32 || bytes.write(hex, at + 4, 'hex') !== 16) throw new Error('not a UUID');
  });
  return ids.length === 0 ? bytes.subarray(0, 12) : bytes;
}
