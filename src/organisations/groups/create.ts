import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError, errorTable } from '../../platform/errors/errors.ts';
import { limits } from '../../platform/config/limits.ts';
import { type Feed, lockFeed } from '../../feed/position.ts';
import type { GroupInput } from './schema.ts';
import { type GroupRow, countActiveGroups, findGroupsByKey, insertGroup } from './store.ts';
import { teamType } from './types.ts';

/** A group in a request. `at`: its index in the request. */
export type AskedGroup = GroupInput & { at?: number };

const keyOf = (group: { type: string; ref: string }) => `${group.type} ${group.ref}`;

/**
 * Finds or creates groups by type and reference. Under the feed's lock, concurrent requests can't exceed the limit or
 * create a group twice.
 * @throws ApiError group_autocreate_disabled, group_limit_exceeded
 */
export async function ensureGroups(
  work: UnitOfWork,
  feed: Feed,
  wanted: AskedGroup[],
  options: { autocreate: boolean },
): Promise<{ row: GroupRow; created: boolean }[]> {
  if (wanted.length === 0) return [];
  const found = new Map((await findGroupsByKey(work.tx, feed.organisationId, wanted)).map((row) => [keyOf(row), row]));
  const missing = wanted.filter((group) => !found.has(keyOf(group)));
  if (missing.length > 0 && !options.autocreate) {
    const { at } = missing[0]!;
    const [, message] = errorTable.group_autocreate_disabled;
    const place = at === undefined ? '$&' : `groups[${at}]`;
    throw new ApiError('group_autocreate_disabled', message.replace('A group in the request', place));
  }
  const counted = missing.filter((group) => group.type !== teamType).length;
  if (counted > 0 && (await countActiveGroups(work.tx, feed.organisationId)) + counted > limits.groupsPerOrganisation) {
    throw new ApiError('group_limit_exceeded');
  }
  const created = new Set<string>();
  for (const group of missing) {
    if (found.has(keyOf(group))) continue;
    const { type, ref, name } = group;
    const times = { created_at: new Date(work.nowMs), position: feed.next() };
    const row: GroupRow = { group_id: work.uuid(), type, ref, name, active: true, ...times };
    await insertGroup(work.tx, feed.organisationId, row);
    feed.used(1);
    found.set(keyOf(group), row);
    created.add(keyOf(group));
  }
  return wanted.map((group) => ({ row: found.get(keyOf(group))!, created: created.has(keyOf(group)) }));
}

/** Creates a group, or returns the existing group unchanged. */
export async function createGroup(
  work: UnitOfWork,
  organisationId: number,
  group: GroupInput,
): Promise<{ row: GroupRow; created: boolean }> {
  const feed = await lockFeed(work, organisationId);
  return (await ensureGroups(work, feed, [group], { autocreate: true }))[0]!;
}
