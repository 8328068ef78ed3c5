import returned from './returned.json' with { type: 'json' };

/** The name and the description of each table's file. A table that is missing here is exported under its own name. */
export const files: Record<string, { file: string; says: string }> = returned.files;

/** Tables that are not exported, with the reason. */
export const leftOut: Record<string, string> = returned.leftOut;

/**
 * Text columns with these words in their names contain secrets. Columns of type `bytea` contain hashes and encrypted
 * values. Neither is exported.
 */
const secret = /secret|token|password/;

export const isReturned = (column: string, type: string): boolean =>
  column !== 'organisation_id' && type !== 'bytea' && !secret.test(column);
