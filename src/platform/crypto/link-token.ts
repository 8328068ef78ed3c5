import type { Purpose, Secrets } from './secrets.ts';
import { dashed } from './random.ts';

/** A token in a URL gives access to one object. Its MAC ensures that only the service can make tokens. */

const macBytes = 24;

export function linkToken(secrets: Secrets, purpose: Purpose, organisationId: number, id: string): string {
  const organisation = Buffer.alloc(6);
  organisation.writeUIntBE(organisationId, 0, 6);
  return Buffer.concat([
    organisation,
    Buffer.from(id.replaceAll('-', ''), 'hex'),
    secrets.mac(purpose, `${organisationId}:${id}`, macBytes),
  ]).toString('base64url');
}

/** @returns null if this service did not make the token for this purpose */
export function readLinkToken(
  secrets: Secrets,
  purpose: Purpose,
  token: string,
): { organisationId: number; id: string } | null {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== 6 + 16 + macBytes || bytes.toString('base64url') !== token) return null;
  const organisationId = bytes.readUIntBE(0, 6);
  const id = dashed(bytes.toString('hex', 6, 22));
  return secrets.check(purpose, `${organisationId}:${id}`, bytes.subarray(22)) ? { organisationId, id } : null;
}
