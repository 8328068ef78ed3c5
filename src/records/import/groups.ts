import { emitGroupsUpdated } from '../../feed/events/emit.ts';
import { groupsOfLearners } from '../../feed/group-sets.ts';
import type { Feed } from '../../feed/position.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ensureGroups } from '../../organisations/groups/create.ts';
import { joinGroups, pairsThatLeft } from '../../organisations/groups/members.ts';
import type { ReadyRecord } from './record.ts';

export function distinctGroups(groups: ReadyRecord['groups']): ReadyRecord['groups'] {
  return [...new Map(groups.map((group) => [`${group.type} ${group.ref}`, group])).values()];
}

/**
 * Adds learners to the groups of their records. If a record's result is already stored, its learner does not rejoin
 * groups that the learner has left.
 * @returns the learners that joined a group
 */
export async function importGroups(
  work: UnitOfWork,
  feed: Feed,
  records: ReadyRecord[],
  learners: { ids: string[]; refs: (string | null)[]; made: ReadonlySet<string> },
  stored: ReadonlyMap<string, unknown>,
  { actor, events }: { actor: string; events: boolean },
): Promise<string[]> {
  const groups = distinctGroups(records.flatMap((record) => record.groups));
  const rows = await ensureGroups(work, feed, groups, { autocreate: true });
  const idOf = new Map(rows.map(({ row }) => [`${row.type} ${row.ref}`, row.group_id]));
  // Most learners are members already. One lookup of a learner's group set is enough for all groups.
  const known = new Set(learners.ids).difference(learners.made);
  const isMember = await groupsOfLearners(work.tx, feed.organisationId, [...known]);
  const pairs = new Map<string, { group_id: string; learner_id: string; ref: string | null; isOld: boolean }>();
  for (const [i, record] of records.entries()) {
    for (const group of record.groups) {
      const pair = { group_id: idOf.get(`${group.type} ${group.ref}`)!, learner_id: learners.ids[i]! };
      if (known.has(pair.learner_id) && isMember(pair.learner_id, pair.group_id)) continue;
      const key = `${pair.group_id} ${pair.learner_id}`;
      const isOld = stored.has(record.assessmentId) && pairs.get(key)?.isOld !== false;
      pairs.set(key, { ...pair, ref: learners.refs[i]!, isOld });
    }
  }
  const old = [...pairs.values()].filter((pair) => pair.isOld);
  for (const { group_id, learner_id } of await pairsThatLeft(work.tx, feed.organisationId, old))
    pairs.delete(`${group_id} ${learner_id}`);
  const joined = await joinGroups(work, feed, [...pairs.values()], actor, learners.made);
  const joinedBy = Map.groupBy(joined, (pair) => pair.learner_id);
  if (events)
    await emitGroupsUpdated(
      work,
      feed.organisationId,
      [...joinedBy].flatMap(([learnerId, of]) => {
        const { ref } = pairs.get(`${of[0]!.group_id} ${learnerId}`)!;
        // The events of a new learner's results contain the groups. So, as in provisioning, a new learner gets no event
        // about groups.
        return ref === null || learners.made.has(learnerId)
          ? []
          : [{ learner_ref: ref, added: of.map((pair) => pair.group_id), removed: [] }];
      }),
    );
  return [...joinedBy.keys()];
}
