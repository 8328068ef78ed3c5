import { statement, type Tx } from '../../platform/db/database.ts';
import { haveFewMembers, type Visibility } from '../../organisations/groups/visibility.ts';

/**
 * The number of live results of each day, subject and level, for charts. The statements that store and empty results
 * also change the counts, under the feed's lock, so a chart never reads all results.
 */

/**
 * SQL: the day of an instant in microseconds, as days since 1970. Days are those of the United Kingdom, because an
 * import dates a result without a time at midnight there, which is the evening before in UTC.
 */
const dayOf = (us: string) =>
  `((to_timestamp(${us} / 1000000.0) at time zone 'Europe/London')::date - date '1970-01-01')`;

/** A CTE that counts the rows of `from`, which has assessed_at and facet. `sign`: `-` for results that are emptied. */
export const countingDays = (from: string, sign: '' | '-' = ''): string => `
  days_counted as (
    insert into result_day as d (organisation_id, day, facet, n)
    select $1, ${dayOf('assessed_at')}, facet, ${sign}count(*) from ${from} group by 2, 3
    on conflict (organisation_id, day, facet) do update set n = d.n + excluded.n)`;

const ofAll = statement('result.days')`
  select day, facet >> 3 as subject, sum(n)::int8 as n from result_day
   where organisation_id = $1 and day >= $2 group by 1, 2`;
// A day begins at most an hour before the day in UTC.
const ofMembers = statement('result.days_of_members')`
  select * from (
    select ${dayOf('f.assessed_at')} as day, f.facet >> 3 as subject, count(*) as n
      from (select distinct m.learner_id from membership m
             where m.organisation_id = $1 and m.group_id = any($3::uuid[]) and m.left_position is null) m
     cross join lateral (
       select o.assessed_at, o.facet from assessment_feed o
        where o.organisation_id = $1 and o.learner_id = m.learner_id and not o.deleted
          and o.assessed_at >= ($2 - 1) * 86400000000::int8 offset 0) f
     group by 1, 2) r where day >= $2`;

/** `subject`: its index in `subjects`. */
export type DayCount = { day: number; subject: number; n: number };

/** @param from days since 1970 @returns null if the visible groups have too many members to count their results */
export async function countDays(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
  from: number,
): Promise<DayCount[] | null> {
  if (visibility === null) return tx.query<DayCount>(ofAll, [organisationId, from]);
  if (!(await haveFewMembers(tx, organisationId, visibility))) return null;
  return tx.query<DayCount>(ofMembers, [organisationId, from, visibility]);
}
