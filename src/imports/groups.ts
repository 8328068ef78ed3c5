import { groupsOfLearners } from '../feed/group-sets.ts';
import type { Feed } from '../feed/position.ts';
import type { Work } from '../db/work.ts';
import { ensureGroups } from '../groups/create.ts';
import { joinGroups } from '../groups/members.ts';
import type { ReadyRecord } from './record.ts';

/** Each group once. */
export function distinctGroups(groups: ReadyRecord['groups']): ReadyRecord['groups'] {
  return [...new Map(groups.map((group) => [`${group.type} ${group.ref}`, group])).values()];
}

/** Joins learners to the groups of their records, and returns those whose groups changed. */
export async function importGroups(
  work: Work,
  feed: Feed,
  records: ReadyRecord[],
  learnerIds: string[],
  { actor }: { actor: string },
): Promise<string[]> {
  const groups = distinctGroups(records.flatMap((record) => record.groups));
  const rows = await ensureGroups(work, feed, groups, { autocreate: true });
  const idOf = new Map(rows.map(({ row }) => [`${row.type} ${row.ref}`, row.group_id]));
  // Nearly all are members already, and a set tells of all of a learner's groups at once.
  const isMember = await groupsOfLearners(work.tx, feed.organisationId, [...new Set(learnerIds)]);
  const pairs = new Map<string, { group_id: string; learner_id: string }>();
  for (const [i, record] of records.entries()) {
    for (const group of record.groups) {
      const pair = { group_id: idOf.get(`${group.type} ${group.ref}`)!, learner_id: learnerIds[i]! };
      if (isMember(pair.learner_id, pair.group_id)) continue;
      pairs.set(`${pair.group_id} ${pair.learner_id}`, pair);
    }
  }
  const joined = await joinGroups(work, feed, [...pairs.values()], actor);
  return [...new Set(joined.map((pair) => pair.learner_id))];
}
