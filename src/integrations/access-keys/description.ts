import type { Tx } from '../../platform/db/database.ts';
import { parseLowerBound } from '../../feed/time.ts';
import { knownGroups } from '../../organisations/groups/groups.ts';
import { limits } from '../../platform/config/limits.ts';
import { parseNetworks } from '../../platform/validation/networks.ts';
import { isStorableText } from '../../platform/validation/personal-data.ts';
import { subjects } from '../../engine/scoring/levels.ts';
import { isUuid } from '../../platform/crypto/random.ts';

/** The description of a new key. An empty list means no restriction. */
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

type TextField = 'label' | 'purpose' | 'contact' | 'expires';
type ListField = 'networks' | 'groups' | 'subjects';
/** The description as text, from the command line or a form. */
type WrittenKey = Record<TextField, string> & Record<ListField, string[]> & { test: boolean };

export type KeyFault = { field: TextField | ListField; expected: string };

/** Reads a date-time with a zone, or a day, which stands for its midnight in UTC. */
function readEnd(text: string): Date | null {
  const us = parseLowerBound(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  return us === null ? null : new Date(us / 1000);
}

const lines = [
  ['label', limits.keyLabelChars],
  ['purpose', limits.keyPurposeChars],
  ['contact', limits.keyContactChars],
] as const;

/** @returns the description, or all faults in the order of the fields */
export async function readDescription(
  tx: Tx,
  organisationId: number,
  written: WrittenKey,
  nowMs: number,
): Promise<{ description: KeyDescription } | { faults: KeyFault[] }> {
  const faults: KeyFault[] = [];
  const fault = (field: KeyFault['field'], expected: string) => void faults.push({ field, expected });
  for (const [field, maxChars] of lines) {
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
    fault('groups', 'must be the IDs of groups of the organisation');
  const subjectNames = [...new Set(written.subjects)];
  if (!subjectNames.every((one) => (subjects as readonly string[]).includes(one)))
    fault('subjects', `must be one or more of ${subjects.join(', ')}`);
  if (faults.length > 0) return { faults };
  return {
    description: {
      label: written.label || null,
      purpose: written.purpose || null,
      contact: written.contact || null,
      kind: written.test ? 'test' : 'live',
      expiresAt,
      networks,
      groupIds,
      subjects: subjectNames,
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
