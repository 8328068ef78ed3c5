import type { Secrets } from '../platform/crypto/secrets.ts';

/**
 * `value` and `id`: the sort value (microseconds) and ID of a page's last record. `throughUs`: the X-Sync-Through of
 * the first page.
 */
export type Cursor = { value: number; id: string; throughUs: number };

export type CursorBinding = { organisationId: number; path: string; query: string };

const macBytes = 16;

function bound(binding: CursorBinding, text: string): string {
  return `${binding.organisationId}\n${binding.path}\n${binding.query}\n${text}`;
}

/**
 * A MAC binds the cursor to the organisation, path and query, so a client can't change it or use it elsewhere. Cursors
 * do not expire.
 */
export function writeCursor(secrets: Secrets, binding: CursorBinding, cursor: Cursor): string {
  const text = `${cursor.value}.${cursor.throughUs}.${cursor.id}`;
  return Buffer.concat([secrets.mac('cursor', bound(binding, text), macBytes), Buffer.from(text)]).toString(
    'base64url',
  );
}

/** @returns null unless this service wrote the token for the same organisation, path and query */
export function readCursor(secrets: Secrets, binding: CursorBinding, token: string): Cursor | null {
  if (token.length > 300 || !/^[A-Za-z0-9_-]+$/.test(token)) return null;
  const bytes = Buffer.from(token, 'base64url');
  const text = bytes.subarray(macBytes).toString('latin1');
  const match = /^(-?\d+)\.(\d+)\.([0-9a-f-]{36})$/.exec(text);
  if (match === null || bytes.toString('base64url') !== token) return null;
  if (!secrets.check('cursor', bound(binding, text), bytes.subarray(0, macBytes))) return null;
  return { value: Number(match[1]), throughUs: Number(match[2]), id: match[3]! };
}
