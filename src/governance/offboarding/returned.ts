import returned from './returned.json' with { type: 'json' };

/** Files by table; other tables are exported under their own names. */
export const files: Record<string, { file: string; says: string }> = returned.files;

/** Tables that are not exported, with the reason. */
export const leftOut: Record<string, string> = returned.leftOut;

/** Text columns with secrets. Columns of bytes hold hashes and encrypted values, and are never exported. */
const secret = /secret|token|password/;

export const isReturned = (column: string, type: string): boolean =>
  column !== 'organisation_id' && type !== 'bytea' && !secret.test(column);
