import { LRUCache } from 'lru-cache';
import type { App } from '../../platform/app.ts';
import { readOrganisation } from '../../organisations/organisations.ts';

export type Help = { organisation: string; contact: string | null };

/** A new contact is shown within this time. */
const keptMs = 60_000;

const kept = new WeakMap<App, LRUCache<number, Help & { atMs: number }>>();

function keptOf(app: App): LRUCache<number, Help & { atMs: number }> {
  let found = kept.get(app);
  if (found === undefined) kept.set(app, (found = new LRUCache({ max: 10_000 })));
  return found;
}

/** Every page shows the contact, so it is cached for a minute. */
export async function helpOf(app: App, organisationId: number): Promise<Help> {
  const known = keptOf(app).get(organisationId);
  const nowMs = app.clock.nowMs();
  if (known !== undefined && Math.abs(nowMs - known.atMs) < keptMs) return known;
  const { name, contact } = await readOrganisation(app.db, organisationId);
  const read = { organisation: name, contact, atMs: nowMs };
  keptOf(app).set(organisationId, read);
  return read;
}

/** Without a query, for pages that say that the database cannot be reached. */
export function knownHelp(app: App, organisationId: number): Help | null {
  return keptOf(app).get(organisationId) ?? null;
}
