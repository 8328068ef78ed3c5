import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';

/** The id of the set that holds no group: MD5 of the empty array, as for every other set. */
const emptySet = `insert into group_set (organisation_id, group_set_id, group_ids)
  values ($1, md5('{}')::uuid, '{}') on conflict do nothing returning group_set_id`;

/** Every organisation has the empty set from the start: learners begin in it. */
export async function insertEmptySet(tx: Tx, organisationId: number): Promise<void> {
  await tx.query(emptySet, [organisationId]);
}

const recompute = statement('group_set.recompute', `
  with held as (
    select l.learner_id, coalesce(array_agg(m.group_id order by m.group_id) filter (where m.group_id is not null), '{}') as group_ids
      from unnest($2::uuid[]) as l(learner_id)
      left join membership m on m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null
     group by l.learner_id),
  named as (select learner_id, group_ids, md5(group_ids::text)::uuid as group_set_id from held),
  made as (
    insert into group_set (organisation_id, group_set_id, group_ids)
    select distinct $1::int8, group_set_id, group_ids from named
    on conflict do nothing
    returning group_set_id, group_ids),
  linked as (
    insert into group_set_group (organisation_id, group_id, group_set_id)
    select $1, g.group_id, made.group_set_id from made, unnest(made.group_ids) as g(group_id))
  update learner_feed f set group_set_id = n.group_set_id
    from named n
   where f.organisation_id = $1 and f.learner_id = n.learner_id and f.group_set_id <> n.group_set_id`);

/** Points each learner to the set of groups that it now holds; the feed's lock is held. */
export async function recomputeSets(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(recompute, [organisationId, learnerIds]);
}

const render = statement('group_set.render', `
  select s.group_set_id, s.group_ids,
         coalesce(json_agg(json_build_object('id', g.group_id, 'ref', g.ref, 'name', g.name, 'type', g.type)
                  order by g.type collate "C", g.ref collate "C") filter (where g.active), '[]') as groups
    from group_set s
    left join learner_group g on g.organisation_id = s.organisation_id and g.group_id = any(s.group_ids)
   where s.organisation_id = $1 and s.group_set_id = any($2)
   group by s.organisation_id, s.group_set_id, s.group_ids`);

/** What a set of groups looks like in a payload. */
export type RenderedSet = {
  /** JSON array of GroupSummary: the active groups, by type and ref. */
  json: string;
  /** Every group of the set, archived ones too. */
  groupIds: string[];
};

type SetRow = { group_set_id: string; group_ids: string[]; groups: { id: string; ref: string; name: string; type: string }[] };

/** Renders sets, straight from the tables. */
export async function renderSets(tx: Tx, organisationId: number, setIds: string[]): Promise<Map<string, RenderedSet>> {
  const rows = await tx.query<SetRow>(render, [organisationId, setIds]);
  return new Map(rows.map((row) => [row.group_set_id, { json: JSON.stringify(row.groups), groupIds: row.group_ids }]));
}

/** Sets remembered by one process; a version that rises with every rename or archive keeps them from going stale. */
export class SetCache {
  #sets = new Map<string, RenderedSet>();

  /** @param version the organisation's groups_version, read no later than the rows that use the sets */
  async render(tx: Tx, organisationId: number, version: number, setIds: Iterable<string>): Promise<Map<string, RenderedSet>> {
    const found = new Map<string, RenderedSet>();
    const missing: string[] = [];
    for (const id of new Set(setIds)) {
      const set = this.#sets.get(`${organisationId}:${version}:${id}`);
      if (set === undefined) missing.push(id);
      else found.set(id, set);
    }
    if (missing.length > 0) {
      for (const [id, set] of await renderSets(tx, organisationId, missing)) {
        if (this.#sets.size >= 20_000) this.#sets.clear();
        this.#sets.set(`${organisationId}:${version}:${id}`, set);
        found.set(id, set);
      }
    }
    return found;
  }
}
