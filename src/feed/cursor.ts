import type { Secrets } from '../platform/crypto/secrets.ts';

/**
 * Where a walk stands: the last record's sort value (a position or assessed_at, in microseconds) and id, and what the
 * walk's first page promised.
 */
export type Cursor = { value: number; id: string; throughUs: number };

/** What a cursor is bound to: it works nowhere else. */
export type CursorBinding = { organisationId: number; path: string; query: string };

const macBytes = 16;

function bound(binding: CursorBinding, text: string): string {
  return `${binding.organisationId}\n${binding.path}\n${binding.query}\n${text}`;
}

/** Opaque to clients, authenticated, and it never expires. */
export function writeCursor(secrets: Secrets, binding: CursorBinding, cursor: Cursor): string {
  const text = `${cursor.value}.${cursor.throughUs}.${cursor.id}`;
  return Buffer.concat([secrets.mac('cursor', bound(binding, text), macBytes), Buffer.from(text)]).toString(
    'base64url',
  );
}

/** @returns null for anything that wasn't written by this service under the same binding */
export function readCursor(secrets: Secrets, binding: CursorBinding, given: string): Cursor | null {
  if (given.length > 300 || !/^[A-Za-z0-9_-]+$/.test(given)) return null;
  const bytes = Buffer.from(given, 'base64url');
  const text = bytes.subarray(macBytes).toString('latin1');
  const match = /^(-?\d+)\.(\d+)\.([0-9a-f-]{36})$/.exec(text);
  if (match === null || bytes.toString('base64url') !== given) return null;
  if (!secrets.check('cursor', bound(binding, text), bytes.subarray(0, macBytes))) return null;
  return { value: Number(match[1]), throughUs: Number(match[2]), id: match[3]! };
}
