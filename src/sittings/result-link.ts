import type { App } from '../platform/app.ts';
import { linkToken, readLinkToken } from '../platform/crypto/secrets.ts';
import { findSitting, type SittingRow } from './store.ts';

/** A result's link works for a year, so that the learner can still show the result when the next courses begin. */
export const resultLinkMs = 365 * 24 * 3600_000;

/** The token of a link that shows one result. It can't begin a sitting. */
export function resultToken(app: App, sitting: SittingRow): string {
  return linkToken(app.secrets, 'result', sitting.organisation_id, sitting.sitting_id);
}

/** @returns null for a token that this service didn't make */
export function organisationOfResultToken(app: App, token: string): number | null {
  return readLinkToken(app.secrets, 'result', token)?.organisationId ?? null;
}

/** @returns null for a link that this service didn't make */
export async function openResultLink(app: App, token: string): Promise<SittingRow | 'expired' | null> {
  const linked = readLinkToken(app.secrets, 'result', token);
  if (linked === null) return null;
  const sitting = await findSitting(app.db, { organisation_id: linked.organisationId, sitting_id: linked.id });
  if (sitting === undefined || sitting.status !== 'completed') return null;
  return sitting.finished_at!.getTime() + resultLinkMs <= app.clock.nowMs() ? 'expired' : sitting;
}
