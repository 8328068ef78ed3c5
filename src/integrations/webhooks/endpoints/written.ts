import { knownGroups } from '../../../organisations/groups/groups.ts';
import { holdsNationalInsuranceNumber } from '../../../platform/validation/personal-data.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { checkUrl } from '../../../platform/validation/networks.ts';
import { asUri } from '../schema.ts';
import type { EndpointInput } from './endpoints.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { App } from '../../../platform/app.ts';
import { eventTypes } from '../../../platform/validation/event-types.ts';

/** A webhook endpoint as a person writes it. */

export type WrittenEndpoint = { url: string; eventTypes: string[]; groups: string[] };

type EndpointFaults = Partial<Record<keyof WrittenEndpoint, string>>;

export async function readEndpoint(
  app: App,
  organisationId: number,
  { url: address, eventTypes: chosen, groups }: WrittenEndpoint,
): Promise<{ description: EndpointInput } | { faults: EndpointFaults }> {
  const faults: EndpointFaults = {};
  const verdict = checkUrl(address, { allowNetworks: app.settings.webhookAllowNetworks });
  const url = verdict.ok ? asUri(address) : '';
  if (!verdict.ok || url.length > limits.webhookUrlChars || holdsNationalInsuranceNumber(address))
    faults.url = `Enter an https URL that the public internet can reach, without credentials or fragment${verdict.ok ? '' : `: ${verdict.reason}`}.`;
  const types = [...new Set(chosen)];
  if (types.length === 0 || !types.every((one) => (eventTypes as readonly string[]).includes(one)))
    faults.eventTypes = 'Choose at least one kind of event.';
  const groupIds = [...new Set(groups.map((id) => id.toLowerCase()))];
  if (groupIds.length > limits.webhookGroups) faults.groups = `Choose at most ${limits.webhookGroups} groups.`;
  else if (
    !groupIds.every(isUuid) ||
    (groupIds.length > 0 && (await knownGroups(app.db, organisationId, groupIds)).size < groupIds.length)
  )
    faults.groups = 'A chosen group does not exist. Choose groups of the organisation.';
  if (Object.keys(faults).length > 0) return { faults };
  return { description: { url, eventTypes: types, groupIds: groupIds.length === 0 ? null : groupIds } };
}
