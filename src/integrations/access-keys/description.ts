import type { Tx } from '../../platform/db/database.ts';
import { parseLowerBound } from '../../feed/time.ts';
import { knownGroups } from '../../organisations/groups/groups.ts';
import { limits } from '../../platform/config/limits.ts';
import { parseNetworks } from '../../platform/validation/networks.ts';
import { isStorableText } from '../../platform/validation/personal-data.ts';
import { subjects } from '../../engine/scoring/levels.ts';
import { isUuid } from '../../platform/crypto/random.ts';

/** What an organisation says of a key when it is made. Empty lists are no bounds. */
export type KeyDescription = {
  label: string | null;
  purpose: string | null;
  contact: string | null;
  kind: 'live' | 'test';
  expiresAt: Date | null;
  networks: string[];
  groupIds: string[];
  subjects: string[];
};

/** The same as it is written at the command line or into a form. */
export type WrittenKey = {
  label: string;
  purpose: string;
  contact: string;
  test: boolean;
  expires: string;
  networks: string[];
  groups: string[];
  subjects: string[];
};

/** A field that isn't what was expected, and what was. */
export type KeyFault = { field: Exclude<keyof WrittenKey, 'test'>; expected: string };

/** A date-time with a zone, or a day, which begins at midnight UTC. */
export function readEnd(text: string): Date | null {
  const us = parseLowerBound(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  return us === null ? null : new Date(us / 1000);
}

const lines = {
  label: limits.keyLabelChars,
  purpose: limits.keyPurposeChars,
  contact: limits.keyContactChars,
} as const;

/** @returns the description, or every fault in it, in the order of the fields */
export async function readDescription(
  tx: Tx,
  organisationId: number,
  written: WrittenKey,
  nowMs: number,
): Promise<{ description: KeyDescription } | { faults: KeyFault[] }> {
  const faults: KeyFault[] = [];
  const fault = (field: KeyFault['field'], expected: string) => void faults.push({ field, expected });
  for (const [field, maxChars] of Object.entries(lines) as [keyof typeof lines, number][]) {
    const text = written[field];
    if (text !== '' && !isStorableText(text, maxChars))
      fault(field, `must be text of 1 to ${maxChars} characters on one line without a National Insurance number`);
  }
  const expiresAt = written.expires === '' ? null : readEnd(written.expires);
  if (written.expires !== '' && expiresAt === null)
    fault('expires', 'must be a day or a date-time with a zone, such as 2027-01-31 or 2027-01-31T09:00:00Z');
  else if (expiresAt !== null && expiresAt.getTime() <= nowMs) fault('expires', 'must lie in the future');
  const networks = readNetworks(written.networks, (expected) => fault('networks', expected));
  const groupIds = [...new Set(written.groups.map((id) => id.toLowerCase()))];
  if (groupIds.length > limits.keyGroups) fault('groups', `must be at most ${limits.keyGroups} groups`);
  else if (
    !groupIds.every(isUuid) ||
    (groupIds.length > 0 && (await knownGroups(tx, organisationId, groupIds)).size < groupIds.length)
  )
    fault('groups', 'must be the ids of groups of the organisation');
  const known = [...new Set(written.subjects)];
  if (!known.every((one) => (subjects as readonly string[]).includes(one)))
    fault('subjects', `must be one or more of ${subjects.join(', ')}`);
  if (faults.length > 0) return { faults };
  return {
    description: {
      label: written.label === '' ? null : written.label,
      purpose: written.purpose === '' ? null : written.purpose,
      contact: written.contact === '' ? null : written.contact,
      kind: written.test ? 'test' : 'live',
      expiresAt,
      networks,
      groupIds,
      subjects: known,
    },
  };
}

function readNetworks(written: string[], fault: (expected: string) => void): string[] {
  try {
    const networks = parseNetworks(written.join()).map(([first, length]) => `${first.toString()}/${length}`);
    if (networks.length > limits.keyNetworks) fault(`must be at most ${limits.keyNetworks} networks`);
    return [...new Set(networks)];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    fault('must be networks, such as 203.0.113.0/24 or 2001:db8::/32, without bits beyond the prefix');
    return [];
  }
}
