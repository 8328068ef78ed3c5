import type { Tx } from '../../platform/db/database.ts';
import { findGroups } from '../../organisations/groups/groups.ts';
import { subjectNames } from '../../engine/scoring/levels.ts';

type Scope = { groupIds: readonly string[]; subjects: readonly string[]; networks: readonly string[] };

/** What a key may do and see, in sentences. */
export type ScopeInWords = { may: string[]; groups: { name: string; type: string; ref: string; active: boolean }[] };

/** The names of subjects as they appear within a sentence. */
const subjectWords: Record<string, string> = {
  ...subjectNames,
  digital: subjectNames.digital.toLowerCase(),
  maths: subjectNames.maths.toLowerCase(),
};

const listed = (words: readonly string[]) =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

export async function scopeInWords(tx: Tx, organisationId: number, scope: Scope): Promise<ScopeInWords> {
  const { groupIds, subjects, networks } = scope;
  const found = await findGroups(tx, organisationId, groupIds);
  const groups = found
    .map(({ name, type, ref, active }) => ({ name, type, ref, active }))
    .sort((a, b) => (`${a.type} ${a.ref}` < `${b.type} ${b.ref}` ? -1 : 1));
  const where =
    networks.length === 0
      ? 'It can be used from any network.'
      : `It can be used from ${networks.length === 1 ? 'the network' : 'the networks'} ${listed(networks)} only.`;
  if (groupIds.length === 0 && subjects.length === 0)
    return {
      groups,
      may: [
        'It reads all results, evidence packs, learners and groups of the organisation.',
        'It invites learners, changes groups and their members, and registers webhooks.',
        where,
      ],
    };
  const ofWhom = groupIds.length === 0 ? 'of every learner' : 'of members of the groups below';
  const inWhat =
    subjects.length === 0 ? 'in every subject' : `in ${listed(subjects.map((one) => subjectWords[one] ?? one))} only`;
  return {
    groups,
    may: [
      `It reads results ${ofWhom}, ${inWhat}, with their evidence packs. It sees no other data.`,
      "A result shows the learner's name, reference and active groups.",
      groupIds.length === 0
        ? 'It reads the list of groups.'
        : 'It reads these groups. When a learner leaves them, it gets only the ID of each result.',
      'It changes nothing.',
      where,
    ],
  };
}

/** Says which data a platform still has after its key is revoked. */
export function whatStays(key: { last_used_ms: number | null }): string {
  return key.last_used_ms === null
    ? 'The key was never used, so no data was read with it.'
    : `The platform keeps the data that it read, last at ${new Date(key.last_used_ms).toISOString()}. Ask the platform to delete data that it must not keep.`;
}
