import { type Database, type Tx, statement } from '../../../platform/db/database.ts';
import { reachedBy } from '../../../organisations/learner-ref.ts';
import type { AccessPath, AssessmentFilter, PageRequest, PageScope } from './page-statements.ts';
import { beginsAt, dayOf, direction, maxMerged, pageStatement, windowRows, hasOther } from './page-statements.ts';

/** Reads a page of GET /assessments: resolves the filter, chooses an access path, and runs its statement. */

/** One entry of a page. A tombstone has no body. `exit`: the learner has left the requested groups. */
export type FeedRow = {
  position: number;
  assessment_id: string;
  learner_id: string;
  assessed_at: number;
  deleted: boolean;
  exit: boolean;
  group_set_id: string;
  /** The payload version (src/platform/db/payload-version.ts). */
  shape: number;
  groups_version: number;
  report_sha256: string | null;
  learner: string | null;
  body: string | null;
};

/** `passedUs`: the position at which a page ended before it was full, although more entries may follow; else null. */
export type ListedPage = { rows: FeedRow[]; passedUs: number | null };

/**
 * A page reads this many scope exits for each of its entries, because it skips exits of learners who are still in a
 * requested group.
 */
const exitsForEach = 8;

/** For up to this many days, a page is read by day without trying a window first. */
const fewDays = 16;
const maxDays = 400;

const setsOfGroups = statement('assessment.sets_of_groups')`
  select distinct group_set_id from group_set_group where organisation_id = $1 and group_id = any($2)`;
/** The first position at which one of the groups has more exits than a page reads. */
const exitsEnd = statement('assessment.exits_end')`
  select min(ahead.position) as position from unnest($2::uuid[]) as g(group_id), lateral (
    select e.position from scope_exit e where e.organisation_id = $1 and e.group_id = g.group_id and e.position >= $3
     order by e.position offset $4 limit 1) ahead`;
/** The position of the last row of a window; no row if fewer rows are left. */
const windowEnd = (name: string, beyond: string, way: string) =>
  statement(name)`
  select position from assessment_feed where organisation_id = $1 and position ${beyond} $2 order by position${way} offset $3::int8 * ${windowRows} - 1 limit 1`;
const windowEnds = {
  up: windowEnd('assessment.window_up', '>=', ''),
  down: windowEnd('assessment.window_down', '<=', ' desc'),
};
const learnerByRef = statement('assessment.learner_by_ref')`
  select learner_id from ${reachedBy('array[$2::text]')} r
  union all select learner_id from learner where organisation_id = $1 and ref_hash = any($3)
  union all select learner_id from learner_alias where organisation_id = $1 and ref_hash = any($3)`;

/** Finds the learner with this reference, and erased learners that had the reference. */
export async function findLearnerIds(
  tx: Tx,
  organisationId: number,
  { ref, hashes }: NonNullable<AssessmentFilter['learner']>,
): Promise<string[]> {
  const rows = await tx.query<{ learner_id: string }>(learnerByRef, [organisationId, ref, hashes]);
  return rows.map((row) => row.learner_id);
}

/** The access path of a filter that needs no earlier statement; null for any other filter. */
function directPath(filter: AssessmentFilter): AccessPath | null {
  const { facets } = filter;
  if (hasOther(filter, 'sinceUs', 'facets', 'status', 'sort') || direction(filter).byAssessed) return null;
  return facets === null ? { by: 'position' } : { by: 'facet', keys: facets };
}

function read(tx: Tx, page: PageRequest, path: AccessPath, scope: PageScope): Promise<FeedRow[]> {
  const { values, ...sql } = pageStatement(page, path, scope);
  return tx.query<FeedRow>(sql, values);
}

/** Finds the group sets and learners of a filter in one round trip. */
async function resolveScope(tx: Tx, page: PageRequest) {
  const { organisationId, filter, after, limit } = page;
  const { groupIds, learner, sinceUs } = filter;
  const hasExits = groupIds !== null && sinceUs !== null;
  const exitValues = [organisationId, groupIds, beginsAt(page), limit * exitsForEach];
  const [sets, learnerIds, exits] = await Promise.all([
    groupIds === null ? null : tx.query<{ group_set_id: string }>(setsOfGroups, [organisationId, groupIds]),
    learner === null ? null : findLearnerIds(tx, organisationId, learner),
    // A page without a cursor must not end early: a client that knows only `since` would read the same page for ever.
    !hasExits || after === null || learner !== null
      ? null
      : tx.query<{ position: number | null }>(exitsEnd, exitValues),
  ]);
  const groupSets = sets?.map((row) => row.group_set_id) ?? null;
  return { scope: { groupSets, hasExits, learnerIds }, passedUs: exits?.[0]?.position ?? null };
}

/** Reads a page from the next rows of the feed. @returns `isAll`: whether these rows contain the full page */
async function readWindow(tx: Tx, page: PageRequest, scope: PageScope): Promise<{ rows: FeedRow[]; isAll: boolean }> {
  const { organisationId, filter, to = null, limit } = page;
  const { descending, byAssessed } = direction(filter);
  let end: number | null = null;
  if (!byAssessed) {
    const ends = descending ? windowEnds.down : windowEnds.up;
    const [row] = await tx.query<{ position: number }>(ends, [organisationId, beginsAt(page), limit]);
    end = row?.position ?? null;
  }
  const rows = await read(tx, { ...page, to: end === null ? to : Math.min(end, to ?? end) }, { by: 'window' }, scope);
  const isOnlyRange =
    scope.groupSets === null &&
    !hasOther(filter, 'sinceUs', 'assessedFromUs', 'assessedToUs', 'learner', 'groupIds', 'sort');
  return { rows, isAll: rows.length === limit || (byAssessed ? isOnlyRange : end === null) };
}

function daysBetween(from: number | null, to: number | null): number[] | null {
  if (from === null || to === null || dayOf(to) - dayOf(from) > maxDays) return null;
  return Array.from({ length: Math.max(0, dayOf(to) - dayOf(from) + 1) }, (_, i) => dayOf(from) + i);
}

/** Reads a page whose filter has groups, a learner or times, or whose order is assessed_at. */
async function readNarrowed(tx: Tx, page: PageRequest, scope: PageScope): Promise<FeedRow[]> {
  const { groupSets, learnerIds } = scope;
  const { assessedFromUs: from, assessedToUs: to } = page.filter;
  const { byAssessed } = direction(page.filter);
  const by = (path: AccessPath) => read(tx, page, path, scope);
  if (learnerIds !== null) return by({ by: 'learner', keys: learnerIds });
  if (!byAssessed && groupSets !== null && groupSets.length <= maxMerged)
    return by({ by: 'group_set_id', keys: groupSets });
  const days = daysBetween(from, to);
  if (!byAssessed && days !== null && days.length <= fewDays) return by({ by: 'assessed_day', keys: days });
  const { rows, isAll } = await readWindow(tx, page, scope);
  if (isAll) return rows;
  if (byAssessed) return by({ by: 'position' });
  if (groupSets === null || from !== null || to !== null) return by({ by: 'assessed_day', keys: days });
  return by({ by: 'group_set_id', keys: groupSets });
}

/** Reads one page of the feed. Several statements share one snapshot, so that the page misses no record. */
export async function listAssessments(db: Database, request: PageRequest): Promise<ListedPage> {
  return directPath(request.filter) === null ? db.snapshot((tx) => listWithin(tx, request)) : listWithin(db, request);
}

export async function listWithin(tx: Tx, request: PageRequest): Promise<ListedPage> {
  const direct = directPath(request.filter);
  if (direct !== null) {
    const rows = await read(tx, request, direct, { groupSets: null, hasExits: false, learnerIds: null });
    return { rows, passedUs: null };
  }
  const { scope, passedUs } = await resolveScope(tx, request);
  const rows = await readNarrowed(tx, { ...request, to: passedUs }, scope);
  return { rows, passedUs: rows.length === request.limit ? null : passedUs };
}
