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
        'It reads every result of the organisation, with its evidence, and every learner and group.',
        'It invites learners, changes groups and their members, and registers webhooks.',
        where,
      ],
    };
  const ofWhom = groupIds.length === 0 ? 'of every learner' : 'of those who are members of the groups below';
  const inWhat =
    subjects.length === 0 ? 'in every subject' : `in ${listed(subjects.map((one) => subjectWords[one] ?? one))} only`;
  return {
    groups,
    may: [
      `It reads results ${ofWhom}, ${inWhat}, with their evidence. Anything else does not exist for it.`,
      "A result shows the learner's name, reference and active groups.",
      groupIds.length === 0
        ? 'It reads the list of groups.'
        : 'It reads these groups, and is told when a learner leaves them, by the id of the result alone.',
      'It changes nothing.',
      where,
    ],
  };
}

/** Says which data a platform still has after its key is revoked. */
export function whatStays(key: { last_used_ms: number | null }): string {
  return key.last_used_ms === null
    ? 'It was never used, so nothing has left by it.'
    : `What was read with it, the last time at ${new Date(key.last_used_ms).toISOString()}, stays with whoever read it: ask them to delete what they must not keep.`;
}
