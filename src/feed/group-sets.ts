import { uuidArray } from '../platform/db/arrays.ts';
import { statement, type Tx } from '../platform/db/database.ts';
import { limits } from '../platform/config/limits.ts';
import type { Feed } from './position.ts';

/** The ID of a group set is the MD5 of its array of groups, so that equal sets are one row. */
const emptySet = `insert into group_set (organisation_id, group_set_id, group_ids)
  values ($1, md5('{}')::uuid, '{}') on conflict do nothing returning group_set_id`;

/** Every organisation needs the empty set, because new learners start in it. */
export async function insertEmptySet(tx: Tx, organisationId: number): Promise<void> {
  await tx.query(emptySet, [organisationId]);
}

/** CTEs that compute the group sets of the learners in $2 and insert new sets. `place`: the learner's index in $2. */
const held = `
  held as (
    select l.learner_id, l.place, coalesce(array_agg(m.group_id order by m.group_id) filter (where m.group_id is not null), '{}') as group_ids
      from unnest($2::uuid[]) with ordinality as l(learner_id, place)
      left join membership m on m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null
     group by l.learner_id, l.place),
  named as (select learner_id, place, group_ids, md5(group_ids::text)::uuid as group_set_id from held),
  made as (
    insert into group_set (organisation_id, group_set_id, group_ids)
    select distinct $1::int8, group_set_id, group_ids from named
    on conflict do nothing
    returning group_set_id, group_ids),
  linked as (
    insert into group_set_group (organisation_id, group_id, group_set_id)
    select $1, g.group_id, made.group_set_id from made, unnest(made.group_ids) as g(group_id))`;
const recompute = statement('group_set.recompute')`
  with ${held}
  update learner_feed f set group_set_id = n.group_set_id
    from named n
   where f.organisation_id = $1 and f.learner_id = n.learner_id and f.group_set_id <> n.group_set_id`;
const regroup = statement('group_set.regroup')`
  with ${held}
  update learner_feed f set group_set_id = n.group_set_id, position = $3 + ${limits.positionStepUs} * (n.place - 1)
    from named n
   where f.organisation_id = $1 and f.learner_id = n.learner_id`;

/** Computes each learner's group set again from the memberships. The caller holds the feed's lock. */
export async function recomputeSets(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(recompute, [organisationId, uuidArray(learnerIds)]);
}

/**
 * Gives distinct learners their present group sets and new positions. The function takes the positions before its first
 * `await`, so that the caller can take further positions without waiting.
 */
export async function regroupLearners(tx: Tx, feed: Feed, learnerIds: string[]): Promise<void> {
  const first = feed.next();
  feed.used(learnerIds.length);
  await tx.query(regroup, [feed.organisationId, uuidArray(learnerIds), first]);
}

const setsOf = statement('group_set.of_learners')`
  select learner_id, group_set_id from learner_feed where organisation_id = $1 and learner_id = any($2)`;

export async function groupSetsOf(tx: Tx, organisationId: number, learnerIds: string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ learner_id: string; group_set_id: string }>(setsOf, [
    organisationId,
    uuidArray(learnerIds),
  ]);
  return new Map(rows.map((row) => [row.learner_id, row.group_set_id]));
}

const groupsOf = statement('group_set.groups')`
  select group_set_id, group_ids from group_set where organisation_id = $1 and group_set_id = any($2)`;

/**
 * Returns a function that tests whether a learner is in a group; archived groups and teams count. The caller holds the
 * feed's lock.
 */
export async function groupsOfLearners(
  tx: Tx,
  organisationId: number,
  learnerIds: string[],
): Promise<(learnerId: string, groupId: string) => boolean> {
  const setOf = await groupSetsOf(tx, organisationId, learnerIds);
  const sets = await tx.query<{ group_set_id: string; group_ids: string[] }>(groupsOf, [
    organisationId,
    uuidArray([...new Set(setOf.values())]),
  ]);
  const members = new Map(sets.map((row) => [row.group_set_id, new Set(row.group_ids)]));
  return (learnerId, groupId) => members.get(setOf.get(learnerId)!)!.has(groupId);
}

const render = statement('group_set.render')`
  select s.group_set_id, s.group_ids, v.groups_version,
         coalesce(json_agg(json_build_object('id', g.group_id, 'ref', g.ref, 'name', g.name, 'type', g.type)
                  order by g.type collate "C", g.ref collate "C") filter (where g.active), '[]') as groups
    from group_set s
    join feed v on v.organisation_id = s.organisation_id
    left join learner_group g on g.organisation_id = s.organisation_id and g.group_id = any(s.group_ids)
   where s.organisation_id = $1 and s.group_set_id = any($2)
   group by s.organisation_id, s.group_set_id, s.group_ids, v.groups_version`;

export type RenderedSet = {
  /** The active groups as a JSON array of GroupSummary, sorted by type and ref. */
  json: string;
  /** All groups of the set, archived groups included. */
  groupIds: string[];
  version: number;
};

type SetRow = {
  group_set_id: string;
  group_ids: string[];
  groups_version: number;
  groups: { id: string; ref: string; name: string; type: string }[];
};

export async function renderSets(tx: Tx, organisationId: number, setIds: string[]): Promise<Map<string, RenderedSet>> {
  const rows = await tx.query<SetRow>(render, [organisationId, setIds]);
  return new Map(
    rows.map((row) => [
      row.group_set_id,
      { json: JSON.stringify(row.groups), groupIds: row.group_ids, version: row.groups_version },
    ]),
  );
}

/** Rows that show groups. `groupsVersion`: the groups_version in the snapshot of the rows. */
export type RowsWithSets<T> = { rows: T; groupsVersion: number; setIds: string[] };

/**
 * Caches rendered group sets for one groups_version. Each rename or archiving of a group changes the version (decision
 * 0001).
 */
export class SetCache {
  #organisations = new Map<number, { version: number; sets: Map<string, RenderedSet> }>();

  /**
   * Reads rows and renders their sets. If a group changes between the two reads, both reads are repeated: otherwise,
   * older rows would show the new name with their old `updated_at` (law 2, test/laws/order.test.ts).
   */
  async with<T>(
    tx: Tx,
    organisationId: number,
    read: () => Promise<RowsWithSets<T>>,
  ): Promise<{ rows: T; sets: Map<string, RenderedSet> }> {
    for (;;) {
      const { rows, groupsVersion, setIds } = await read();
      const sets = await this.#render(tx, organisationId, groupsVersion, setIds);
      if (sets !== null) return { rows, sets };
    }
  }

  async #render(
    tx: Tx,
    organisationId: number,
    version: number,
    setIds: string[],
  ): Promise<Map<string, RenderedSet> | null> {
    if (setIds.length === 0) return new Map();
    let known = this.#organisations.get(organisationId);
    if (known === undefined || known.version !== version || known.sets.size >= maxSets) {
      if (this.#organisations.size >= maxOrganisations) this.#organisations.clear();
      known = { version, sets: new Map() };
      this.#organisations.set(organisationId, known);
    }
    const { sets } = known;
    const missing = new Set<string>();
    for (const id of setIds) if (!sets.has(id)) missing.add(id);
    if (missing.size === 0) return sets;
    const rendered = await renderSets(tx, organisationId, [...missing]);
    if (!rendered.values().every((set) => set.version === version)) return null;
    for (const [id, set] of rendered) sets.set(id, set);
    return sets;
  }
}

const maxSets = 20_000;
const maxOrganisations = 1000;
