import { type Tx, type Database, statement } from '../../../platform/db/database.ts';
import { type Visibility, isVisibleGroup } from '../../../organisations/groups/visibility.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import type { ResultContent } from '../body.ts';
import { browseResults } from './browse.ts';
import { type ResultPageStart, unfiltered } from './browse-statements.ts';
import { levelNames } from './filter-query.ts';

/** The distribution of groups' results over levels. The counts are sums of the digest's cells. */

export type GroupDistribution = {
  group_id: string;
  ref: string;
  name: string;
  active: boolean;
  counts: ReadonlyMap<number, number>;
};

const groupsOf = statement('result.spread_groups')`
  with place as materialized (
    select not p.active as is_old, lower(p.name) as name, p.group_id from learner_group p
     where p.organisation_id = $1 and p.group_id = $4 and ${isVisibleGroup('p.group_id', '$6')})
  select g.group_id, g.ref, g.name, g.active from learner_group g
   where g.organisation_id = $1 and ($2::text is null or g.type = $2) and ($3::uuid is null or g.group_id = $3)
     and ${isVisibleGroup('g.group_id', '$6')}
     and (not exists (select from place)
          or (not g.active, lower(g.name), g.group_id) > (select p.is_old, p.name, p.group_id from place p))
   order by not g.active, lower(g.name), g.group_id limit $5`;
// A group set is visible if it contains a visible group, because its learners are then members of that group.
const cells = statement('result.spread_cells')`
  select s.group_id, c.facet, sum(c.n)::int8 as n
    from unnest($2::uuid[]) as g(group_id)
    join group_set_group s on s.organisation_id = $1 and s.group_id = g.group_id
    join digest_cell c on c.organisation_id = $1 and c.group_set_id = s.group_set_id and c.n > 0
   where $3::uuid[] is null or exists (
     select from group_set seen where seen.organisation_id = $1 and seen.group_set_id = s.group_set_id and seen.group_ids && $3)
   group by 1, 2`;

/**
 * Reads groups in the order of their names, with the number of results in each subject and level.
 * @param after the last group of the previous page; an invisible group gives the first page
 */
export async function distributionOf(
  tx: Tx,
  organisationId: number,
  which: { type: string | null; groupId: string | null; visibility: Visibility },
  after: string | null,
  limit: number,
): Promise<GroupDistribution[]> {
  const { type, groupId, visibility } = which;
  const values = [organisationId, type, groupId, after, limit, visibility];
  const groups = await tx.query<Omit<GroupDistribution, 'counts'>>(groupsOf, values);
  const ids = groups.map((group) => group.group_id);
  const cellValues = [organisationId, ids, visibility];
  const found = await tx.query<{ group_id: string; facet: number; n: number }>(cells, cellValues);
  return groups.map((group) => ({
    ...group,
    counts: new Map(found.filter((one) => one.group_id === group.group_id).map((one) => [one.facet, one.n])),
  }));
}

export type DomainStrength = {
  name: string;
  results: number;
  /** The mean score; null if no result has a score. */
  score: number | null;
  statuses: ReadonlyMap<string, number>;
  /** The results in which the domain is weaker than the learner's others. */
  weaker: number;
};

/** Groups domains by name, in the order in which results list them. */
export function strengthsOf(results: readonly Pick<ResultContent, 'domains'>[]): DomainStrength[] {
  const byName = Map.groupBy(
    results.flatMap(({ domains }) => domains),
    ({ name }) => name,
  );
  return [...byName].map(([name, domains]) => {
    const scores = domains.flatMap(({ score_pct }) => score_pct ?? []);
    const statuses = Map.groupBy(
      domains.flatMap(({ status }) => status ?? []),
      (status) => status,
    );
    return {
      name,
      results: domains.length,
      score: scores.length === 0 ? null : Math.round(scores.reduce((sum, one) => sum + one, 0) / scores.length),
      statuses: new Map([...statuses].map(([status, { length }]) => [status, length])),
      weaker: domains.filter(({ compared }) => compared === 'weaker').length,
    };
  });
}

/** The page averages the domains of at most this many results of a group, over all subjects. */
const maxForDomains = 300;
/** The most pages of results that are read to find results for the averages. */
const maxLooks = 5;

/** The number of results at each level, in the order of `levelNames`. */
export const countsOf = ({ counts }: GroupDistribution, subject: number) =>
  levelNames.map((_, level) => counts.get(subject * 8 + level) ?? 0);
/** `isMore`: the group has further results, assessed earlier than these. */
type LatestOfGroup = { bySubject: ResultContent[][]; isMore: boolean };

/** Each learner's latest result in each subject; in a large group, only the most recently assessed results. */
export async function latestOf(
  db: Database,
  organisationId: number,
  groupId: string,
  visibility: Visibility,
  looks = maxLooks,
): Promise<LatestOfGroup> {
  // One query finds all subjects, because three queries would each read the results of all three subjects.
  const filter = { ...unfiltered, visibility, groupIds: [groupId], latest: true };
  const contents: ResultContent[] = [];
  const next = await db.snapshot(async (tx) => {
    let after: ResultPageStart | null = null;
    for (let n = 0; n < looks; n++) {
      const limit = maxForDomains - contents.length;
      const look = { organisationId, filter, sort: 'assessed', descending: true, after, limit } as const;
      const page = await browseResults(tx, look);
      contents.push(...page.rows.map(({ content }) => content));
      after = page.next;
      if (after === null || !page.isCutShort || contents.length === maxForDomains) break;
    }
    return after;
  });
  const bySubject = subjects.map((subject) => contents.filter((one) => one.subject === subject));
  return { bySubject, isMore: next !== null };
}
