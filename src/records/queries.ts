import { type Tx, statement } from '../platform/db/database.ts';

/** A statement as a function: `Values` are its parameters in the order of `$1`, `$2` and so on. */
export function query<Values extends readonly unknown[], Row = unknown>(name: string, text: string) {
  const sql = statement(name, text);
  return (tx: Tx, ...values: Values): Promise<Row[]> => tx.query<Row>(sql, values);
}
