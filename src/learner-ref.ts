import type { Secrets } from './secrets.ts';

/** What a reference of somebody erased is found by, in place of itself. */
export function hashOfRef(secrets: Secrets, organisationId: number, ref: string): Buffer {
  return secrets.mac('learner_ref', `${organisationId}\n${ref}`);
}

/** The same under every secret that is listed, the current one first. */
export function hashesOfRef(secrets: Secrets, organisationId: number, ref: string): Buffer[] {
  return secrets.macs('learner_ref', `${organisationId}\n${ref}`);
}
