import type { App } from '../platform/app.ts';
import { linkToken, readLinkToken } from '../platform/crypto/link-token.ts';
import type { SittingRow } from './store.ts';
import { findSitting } from './store.ts';

/** How long a result can be read by its own link: a year, so that it is at hand when the next courses begin. */
export const resultLinkMs = 365 * 24 * 3600_000;

/** The token of a link that shows one result, and lets nobody sit anything. */
export function resultToken(app: App, sitting: SittingRow): string {
  return linkToken(app.secrets, 'result', sitting.organisation_id, sitting.sitting_id);
}

/** The organisation that a result's link names; null for anything that this service didn't write. */
export function organisationOfResultToken(app: App, token: string): number | null {
  return readLinkToken(app.secrets, 'result', token)?.organisationId ?? null;
}

/** @returns null for a link that this service didn't make; `expired` once its year is over */
export async function openResultLink(app: App, token: string): Promise<SittingRow | 'expired' | null> {
  const linked = readLinkToken(app.secrets, 'result', token);
  if (linked === null) return null;
  const sitting = await findSitting(app.db, { organisation_id: linked.organisationId, sitting_id: linked.id });
  if (sitting === undefined || sitting.status !== 'completed') return null;
  return sitting.finished_at!.getTime() + resultLinkMs <= app.clock.nowMs() ? 'expired' : sitting;
}
