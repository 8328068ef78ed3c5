import type { Database, Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { readExits } from './exits.ts';
import { runPlan } from './page-rows.ts';
import { mostArms } from './page-sql.ts';
import { assessedPlan, positionPlan, window, windowPlan } from './plans.ts';
import type { AssessmentFilter, FeedPage, Walk } from './walk.ts';
import { direction } from './walk.ts';
import { nilUuid } from '../uuid.ts';

/** Which plan reads a page: chosen by the filters and, where they don't tell, by what a look at the next rows gives. */

/** Days that a merge over days may span. */
const mostDays = 400;

const setsOfGroups = statement(
  'assessment.sets_of_groups',
  `
  select distinct group_set_id from group_set_group where organisation_id = $1 and group_id = any($2)`,
);
const countAfter = statement(
  'assessment.count_window',
  `
  select count(*) as count from (select from assessment_feed f where organisation_id = $1 and position >= $2 and position <= $3 limit ${window}) w`,
);
const dayRange = statement(
  'assessment.day_range',
  `
  select (select min(assessed_day) from assessment_feed where organisation_id = $1) as first,
         (select max(assessed_day) from assessment_feed where organisation_id = $1) as last`,
);
const learnerByRef = statement(
  'assessment.learner_by_ref',
  'select learner_id from learner where organisation_id = $1 and ref = $2',
);

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

async function selectivePage(tx: Tx, walk: Walk, groupSets: string[] | null): Promise<FeedPage> {
  const { filter } = walk;
  if (groupSets === null && filter.facets !== null && filter.assessedFromUs === null && filter.assessedToUs === null) {
    return runPlan(tx, positionPlan(walk, { by: 'facet', keys: filter.facets }, null));
  }
  if (groupSets !== null && groupSets.length <= mostArms) {
    return runPlan(tx, positionPlan(walk, { by: 'group_set_id', keys: groupSets }, null));
  }
  const near = await runPlan(tx, windowPlan(walk, groupSets));
  if (near.rows.length === walk.limit) return near;
  const { descending } = direction(filter);
  const from = descending ? 0 : walk.after === null ? (filter.sinceUs ?? 0) : walk.after.value + 1;
  const to = descending && walk.after !== null ? walk.after.value - 1 : Number.MAX_SAFE_INTEGER;
  const [counted] = await tx.query<{ count: number }>(countAfter, [walk.organisationId, from, to]);
  if (counted!.count < window) return near;
  const days = await daysOf(tx, walk);
  if (days !== null && (groupSets === null || days.length <= mostArms))
    return runPlan(tx, positionPlan(walk, { by: 'assessed_day', keys: days }, groupSets));
  if (groupSets !== null) return runPlan(tx, positionPlan(walk, { by: 'group_set_id', keys: groupSets }, null));
  return runPlan(tx, positionPlan(walk, { by: 'position' }, groupSets));
}

async function assessedPage(
  tx: Tx,
  walk: Walk,
  groupSets: string[] | null,
  learnerId: string | null,
): Promise<FeedPage> {
  if (learnerId !== null) return runPlan(tx, assessedPlan(walk, groupSets, learnerId, false));
  const near = await runPlan(tx, assessedPlan(walk, groupSets, null, true));
  const { facets, status } = walk.filter;
  // Nothing but a range of assessed_at: what is near is all there is.
  if (near.rows.length === walk.limit || (facets === null && status === null && groupSets === null)) return near;
  return runPlan(tx, assessedPlan(walk, groupSets, null, false));
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
): Promise<FeedPage> {
  const walk: Walk = { organisationId, filter, after, limit };
  const plain =
    filter.learnerRef === null &&
    filter.facets === null &&
    filter.groupIds === null &&
    filter.assessedFromUs === null &&
    filter.assessedToUs === null;
  if (plain && direction(filter).by === 'position') return runPlan(db, positionPlan(walk, { by: 'position' }, null));
  // Several statements make such a page; one snapshot keeps them from passing over a record that moves between them.
  return db.snapshot(async (tx) => {
    let learnerId: string | null = null;
    if (filter.learnerRef !== null) {
      learnerId =
        (await tx.query<{ learner_id: string }>(learnerByRef, [organisationId, filter.learnerRef]))[0]?.learner_id ??
        nilUuid;
    }
    const groupSets =
      filter.groupIds === null
        ? null
        : (await tx.query<{ group_set_id: string }>(setsOfGroups, [organisationId, filter.groupIds])).map(
            (row) => row.group_set_id,
          );
    let page: FeedPage;
    if (direction(filter).by === 'assessed_at') page = await assessedPage(tx, walk, groupSets, learnerId);
    else if (learnerId !== null) page = await runPlan(tx, positionPlan(walk, { by: 'learner', learnerId }, groupSets));
    else page = await selectivePage(tx, walk, groupSets);
    if (filter.groupIds === null || filter.sinceUs === null) return page;
    // What stands behind a full page's last row is for a later one: nothing is looked through twice.
    const to = page.rows.length === limit ? page.rows.at(-1)!.position : Number.MAX_SAFE_INTEGER;
    const exits = await readExits(tx, walk, { groupIds: filter.groupIds, learnerId, to });
    return { ...page, rows: [...page.rows, ...exits].sort((a, b) => a.position - b.position).slice(0, limit) };
  });
}
