import type { Tx } from '../../../platform/db/database.ts';
import { statement } from '../../../platform/db/database.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { isVisibleGroup } from '../../../organisations/groups/visibility.ts';

/**
 * How the results of groups spread over levels. The digest's cells hold how many live results there are of each group set
 * and facet, so groups of any size are counted by adding up a few numbers.
 */

export type GroupDistribution = {
  group_id: string;
  ref: string;
  name: string;
  active: boolean;
  /** Results by facet. */
  counts: ReadonlyMap<number, number>;
};

const groupsOf = statement(
  'result.spread_groups',
  `
  with place as materialized (
    select not p.active as is_old, lower(p.name) as name, p.group_id from learner_group p
     where p.organisation_id = $1 and p.group_id = $4 and ${isVisibleGroup('p.group_id', '$6')})
  select g.group_id, g.ref, g.name, g.active from learner_group g
   where g.organisation_id = $1 and ($2::text is null or g.type = $2) and ($3::uuid is null or g.group_id = $3)
     and ${isVisibleGroup('g.group_id', '$6')}
     and (not exists (select from place)
          or (not g.active, lower(g.name), g.group_id) > (select p.is_old, p.name, p.group_id from place p))
   order by not g.active, lower(g.name), g.group_id limit $5`,
);
// Within sight are the sets that hold one of its groups: whoever has such a set is a member now.
const cells = statement(
  'result.spread_cells',
  `
  select s.group_id, c.facet, sum(c.n)::int8 as n
    from unnest($2::uuid[]) as g(group_id)
    join group_set_group s on s.organisation_id = $1 and s.group_id = g.group_id
    join digest_cell c on c.organisation_id = $1 and c.group_set_id = s.group_set_id and c.n > 0
   where $3::uuid[] is null or exists (
     select from group_set seen where seen.organisation_id = $1 and seen.group_set_id = s.group_set_id and seen.group_ids && $3)
   group by 1, 2`,
);

/**
 * Groups of a type, or one of them, in the order of their names, each with its results by subject and level.
 * @param after the group behind which the page begins; one that is not in sight is the beginning
 */
export async function distributionOf(
  tx: Tx,
  organisationId: number,
  which: { type: string | null; groupId: string | null; visibility: Visibility },
  after: string | null,
  limit: number,
): Promise<GroupDistribution[]> {
  const groups = await tx.query<Omit<GroupDistribution, 'counts'>>(groupsOf, [
    organisationId,
    which.type,
    which.groupId,
    after,
    limit,
    which.visibility,
  ]);
  const found = await tx.query<{ group_id: string; facet: number; n: number }>(cells, [
    organisationId,
    groups.map((group) => group.group_id),
    which.visibility,
  ]);
  return groups.map((group) => ({
    ...group,
    counts: new Map(found.filter((one) => one.group_id === group.group_id).map((one) => [one.facet, one.n])),
  }));
}

/** What is known of a domain over several results. */
export type DomainStrength = {
  name: string;
  results: number;
  /** The mean of the scores; null where none has one. */
  score: number | null;
  statuses: ReadonlyMap<string, number>;
};

/** Adds up domains by their names, in the order in which results name them. */
export function strengthsOf(
  results: readonly { domains: readonly { name: string; score_pct: number | null; status: string | null }[] }[],
): DomainStrength[] {
  const found = new Map<string, { scores: number[]; results: number; statuses: Map<string, number> }>();
  for (const { domains } of results)
    for (const { name, score_pct, status } of domains) {
      const one = found.get(name) ?? { scores: [], results: 0, statuses: new Map<string, number>() };
      found.set(name, one);
      one.results++;
      if (score_pct !== null) one.scores.push(score_pct);
      if (status !== null) one.statuses.set(status, (one.statuses.get(status) ?? 0) + 1);
    }
  return [...found].map(([name, { scores, results: n, statuses }]) => ({
    name,
    results: n,
    score: scores.length === 0 ? null : Math.round(scores.reduce((sum, one) => sum + one, 0) / scores.length),
    statuses,
  }));
}
