import { hash } from 'node:crypto';

/**
 * A block's hash covers a line for each row, with unit separators between the columns. `lineOf` and `rowLine` make the
 * same line.
 */

/** The columns of a row that the hash covers. A null column becomes empty text. */
export type SealedRow = {
  audit_id: number;
  at: Date;
  request_id: string;
  actor: string;
  action: string;
  resource: string | null;
  status: number | null;
  address: string | null;
  detail: string | null;
};

export const sealedColumns = `audit_id, at, request_id, actor, action, resource, status, encode(address, 'hex') as address, detail`;

const unit = '\x1f';

export const lineOf = `concat(audit_id, e'\\x1f', (extract(epoch from at) * 1000)::int8, e'\\x1f', request_id, e'\\x1f', actor,
  e'\\x1f', action, e'\\x1f', resource, e'\\x1f', status, e'\\x1f', encode(address, 'hex'), e'\\x1f', detail, e'\\n')`;

export function rowLine(row: SealedRow): string {
  const { audit_id, at, request_id, actor, action, resource, status, address, detail } = row;
  return `${[audit_id, at.getTime(), request_id, actor, action, resource, status, address, detail].map((one) => one ?? '').join(unit)}\n`;
}

/** SQL for a block's hash, which covers the previous hash, the number, the count of rows and their lines. */
export function hashOf(before: string, number: string, rows: string, lines: string): string {
  return `sha256(${before} || convert_to(concat('ars-audit-1', e'\\x1f', ${number}, e'\\x1f', ${rows}, e'\\n', ${lines}), 'UTF8'))`;
}

export function blockHash(before: Buffer, number: number, rows: number, lines: string): Buffer {
  const text = Buffer.from(`ars-audit-1${unit}${number}${unit}${rows}\n${lines}`);
  return hash('sha256', Buffer.concat([before, text]), 'buffer');
}
