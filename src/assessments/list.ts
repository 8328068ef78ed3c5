import type { Database, Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { reachedBy } from '../learner-ref.ts';
import { runPlan } from './page-rows.ts';
import { beginsAt, mostArms } from './page-sql.ts';
import type { Drive } from './plans.ts';
import { assessedPlan, positionPlan, window, windowPlan } from './plans.ts';
import type { AssessmentFilter, FeedPage, ListedPage, Walk } from './walk.ts';
import { direction } from './walk.ts';

/** Which plan reads a page: chosen by the filters and, where they don't tell, by what a look at the next rows gives. */

/**
 * Exits that a page may look through for each entry that it may hold. Most are told; those whose learner is in another of the
 * requested groups are not, and an exit that is passed over costs about an eighth of an entry.
 */
const exitsForEach = 8;

/** Days that a merge over days may span. */
const mostDays = 400;

const setsOf = 'select distinct group_set_id from group_set_group where organisation_id = $1 and group_id = any';
const setsOfGroups = statement('assessment.sets_of_groups', `${setsOf}($2)`);
/**
 * Where the next `window` rows of the feed end, in either direction; `ofMany`: only where the groups have more sets than are
 * merged, because a merge doesn't look for it.
 */
const windowEnd = (beyond: string, order: string, ofMany: string) => `
  select position from assessment_feed where organisation_id = $1 and position ${beyond} $2${ofMany} order by position${order} offset ${window - 1} limit 1`;
const ofMany = ` and (select count(*) from (${setsOf}($3)) s) > ${mostArms}`;
const windowUp = statement('assessment.window_up', windowEnd('>=', '', ''));
const windowDown = statement('assessment.window_down', windowEnd('<=', ' desc', ''));
const windowUpOfMany = statement('assessment.window_up_of_many', windowEnd('>=', '', ofMany));
const windowDownOfMany = statement('assessment.window_down_of_many', windowEnd('<=', ' desc', ofMany));
/** Where the first of the groups has so many exits ahead that one page doesn't look through more of them. */
const exitsAhead = statement(
  'assessment.exits_ahead',
  `
  select min(ahead.position) as position from unnest($2::uuid[]) as g(group_id), lateral (
    select e.position from scope_exit e where e.organisation_id = $1 and e.group_id = g.group_id and e.position >= $3
     order by e.position offset $4 limit 1) ahead`,
);
const dayRange = statement(
  'assessment.day_range',
  `
  select (select min(assessed_day) from assessment_feed where organisation_id = $1) as first,
         (select max(assessed_day) from assessment_feed where organisation_id = $1) as last`,
);
const learnerByRef = statement(
  'assessment.learner_by_ref',
  `
  select learner_id from ${reachedBy('array[$2::text]')} r
  union all
  select learner_id from learner where organisation_id = $1 and ref_hash = any($3)
  union all
  select learner_id from learner_alias where organisation_id = $1 and ref_hash = any($3)`,
);

/** The learner whom this reference reaches, and those whom it reached until they were erased. */
export async function findLearnerIds(
  tx: Tx,
  organisationId: number,
  { ref, hashes }: NonNullable<AssessmentFilter['learner']>,
): Promise<string[]> {
  const rows = await tx.query<{ learner_id: string }>(learnerByRef, [organisationId, ref, hashes]);
  return rows.map((row) => row.learner_id);
}

async function daysOf(tx: Tx, walk: Walk): Promise<number[] | null> {
  const { assessedFromUs: from, assessedToUs: to } = walk.filter;
  if (from === null && to === null) return null;
  const [range] = await tx.query<{ first: number | null; last: number | null }>(dayRange, [walk.organisationId]);
  if (range!.first === null) return [];
  const day = 86_400_000_000;
  const first = Math.max(range!.first, from === null ? range!.first : Math.floor(from / day));
  const last = Math.min(range!.last!, to === null ? range!.last! : Math.floor(to / day));
  if (last - first >= mostDays) return null;
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}

async function assessedPage(
  tx: Tx,
  walk: Walk,
  groupSets: string[] | null,
  learnerIds: string[] | null,
): Promise<FeedPage> {
  if (learnerIds !== null) return runPlan(tx, assessedPlan(walk, groupSets, learnerIds, false));
  const near = await runPlan(tx, assessedPlan(walk, groupSets, null, true));
  const { facets, status } = walk.filter;
  // Nothing but a range of assessed_at: what is near is all there is.
  if (near.rows.length === walk.limit || (facets === null && status === null && groupSets === null)) return near;
  return runPlan(tx, assessedPlan(walk, groupSets, null, false));
}

/** What a page by position is looked for with, found at once: the group sets, the learner, and how far to look. */
type Bounds = {
  groupSets: string[] | null;
  learnerIds: string[] | null;
  /**
   * Where the next rows of the feed end that are looked through first; null when they are all that is left, or when few
   * sets are merged.
   */
  windowUs: number | null;
  /** Where this page ends, full or not, because there are many exits that it may have to pass over; null: nowhere. */
  passedUs: number | null;
};

function windowOf(tx: Tx, walk: Walk): Promise<{ position: number }[]> {
  const { organisationId, filter } = walk;
  const { descending } = direction(filter);
  const values = [organisationId, beginsAt(walk)];
  if (filter.groupIds === null) return tx.query(descending ? windowDown : windowUp, values);
  return tx.query(descending ? windowDownOfMany : windowUpOfMany, [...values, filter.groupIds]);
}

/**
 * Sent all together, so they cost one round trip. A page without a cursor isn't ended early: a client that knows nothing but
 * `since` would ask for the same short one for ever.
 */
async function boundsOf(tx: Tx, walk: Walk): Promise<Bounds> {
  const { organisationId, filter } = walk;
  const { groupIds, learner } = filter;
  const { by } = direction(filter);
  const [sets, learnerIds, ahead, exits] = await Promise.all([
    groupIds === null ? null : tx.query<{ group_set_id: string }>(setsOfGroups, [organisationId, groupIds]),
    learner === null ? null : findLearnerIds(tx, organisationId, learner),
    by === 'assessed_at' || learner !== null ? null : windowOf(tx, walk),
    groupIds === null || walk.after === null || filter.sinceUs === null || learner !== null
      ? null
      : tx.query<{ position: number | null }>(exitsAhead, [
          organisationId,
          groupIds,
          beginsAt(walk),
          walk.limit * exitsForEach,
        ]),
  ]);
  return {
    groupSets: sets?.map((row) => row.group_set_id) ?? null,
    learnerIds,
    windowUs: ahead?.[0]?.position ?? null,
    passedUs: exits?.[0]?.position ?? null,
  };
}

async function positionPage(tx: Tx, walk: Walk, { groupSets, learnerIds, windowUs }: Bounds): Promise<FeedPage> {
  const { filter } = walk;
  const { groupIds } = filter;
  const exits = groupIds === null || filter.sinceUs === null ? null : { groupIds, learnerIds };
  if (learnerIds !== null) return runPlan(tx, positionPlan(walk, { by: 'learner', learnerIds }, groupSets, exits));
  if (groupSets !== null && groupSets.length <= mostArms)
    return runPlan(tx, positionPlan(walk, { by: 'group_set_id', keys: groupSets }, null, exits));
  const near = await runPlan(tx, windowPlan({ ...walk, to: nearer(walk, windowUs) }, groupSets, exits));
  if (near.rows.length === walk.limit || windowUs === null) return near;
  const days = await daysOf(tx, walk);
  if (days !== null && (groupSets === null || days.length <= mostArms))
    return runPlan(tx, positionPlan(walk, { by: 'assessed_day', keys: days }, groupSets, exits));
  if (groupSets !== null) return runPlan(tx, positionPlan(walk, { by: 'group_set_id', keys: groupSets }, null, exits));
  return runPlan(tx, positionPlan(walk, { by: 'position' }, groupSets));
}

/** The end that a walk meets first. */
function nearer(walk: Walk, endUs: number | null): number | null {
  if (endUs === null || walk.to === null) return endUs ?? walk.to;
  return Math.min(endUs, walk.to);
}

/** What one statement reads a page along, without anything being looked up before; null where that isn't enough. */
function alone(filter: AssessmentFilter): Drive | null {
  const { learner, facets, groupIds, assessedFromUs, assessedToUs } = filter;
  const narrowed = learner !== null || groupIds !== null || assessedFromUs !== null || assessedToUs !== null;
  if (narrowed || direction(filter).by !== 'position') return null;
  return facets === null ? { by: 'position' } : { by: 'facet', keys: facets };
}

/**
 * One page of the feed.
 * @param limit entries at most; ask for one more than the page to learn whether there are more
 */
export async function listAssessments(
  db: Database,
  organisationId: number,
  filter: AssessmentFilter,
  after: Walk['after'],
  limit: number,
): Promise<ListedPage> {
  if (alone(filter) !== null) return listWithin(db, organisationId, filter, after, limit);
  // Several statements make such a page; one snapshot keeps them from passing over a record that moves between them.
  return db.snapshot((tx) => listWithin(tx, organisationId, filter, after, limit));
}

/** The same within a snapshot that is open. */
export async function listWithin(
  tx: Tx,
  organisationId: number,
  filter: AssessmentFilter,
  after: Walk['after'],
  limit: number,
): Promise<ListedPage> {
  const walk: Walk = { organisationId, filter, after, to: null, limit };
  const drive = alone(filter);
  if (drive !== null) return { ...(await runPlan(tx, positionPlan(walk, drive, null))), passedUs: null };
  const bounds = await boundsOf(tx, walk);
  if (direction(filter).by === 'assessed_at')
    return { ...(await assessedPage(tx, walk, bounds.groupSets, bounds.learnerIds)), passedUs: null };
  const page = await positionPage(tx, { ...walk, to: bounds.passedUs }, bounds);
  return { ...page, passedUs: page.rows.length === limit ? null : bounds.passedUs };
}
