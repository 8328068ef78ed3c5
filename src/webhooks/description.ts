import type { Tx } from '../db/database.ts';
import { knownGroups } from '../groups/groups.ts';
import { limits } from '../limits.ts';
import { holdsNationalInsuranceNumber } from '../personal-data.ts';
import type { Settings } from '../settings.ts';
import { isUuid } from '../uuid.ts';
import { checkUrl } from './address.ts';
import { asUri } from './schema.ts';
import { eventTypes } from '../event-types.ts';

/** Where an endpoint is and what it is told of, as a form gives it. */
export type WrittenEndpoint = { url: string; eventTypes: string[]; groups: string[] };
export type EndpointDescription = { url: string; eventTypes: string[]; groupIds: string[] | null };

/** @returns the description, or what is wrong with each field */
export async function readEndpoint(
  tx: Tx,
  organisationId: number,
  written: WrittenEndpoint,
  settings: Settings,
): Promise<{ description: EndpointDescription } | { faults: Partial<Record<keyof WrittenEndpoint, string>> }> {
  const faults: Partial<Record<keyof WrittenEndpoint, string>> = {};
  const verdict = checkUrl(written.url, { allowNetworks: settings.webhookAllowNetworks });
  const url = verdict.ok ? asUri(written.url) : '';
  if (!verdict.ok || url.length > limits.webhookUrlChars || holdsNationalInsuranceNumber(written.url))
    faults.url = `Enter an https address that the public internet can reach, without credentials or fragment${verdict.ok ? '' : `: ${verdict.reason}`}.`;
  const types = [...new Set(written.eventTypes)];
  if (types.length === 0 || !types.every((one) => (eventTypes as readonly string[]).includes(one)))
    faults.eventTypes = 'Choose at least one kind of event.';
  const groupIds = [...new Set(written.groups.map((id) => id.toLowerCase()))];
  if (groupIds.length > limits.webhookGroups) faults.groups = `Choose at most ${limits.webhookGroups} groups.`;
  else if (
    !groupIds.every(isUuid) ||
    (groupIds.length > 0 && (await knownGroups(tx, organisationId, groupIds)).size < groupIds.length)
  )
    faults.groups = 'Choose groups of the organisation.';
  if (Object.keys(faults).length > 0) return { faults };
  return { description: { url, eventTypes: types, groupIds: groupIds.length === 0 ? null : groupIds } };
}
