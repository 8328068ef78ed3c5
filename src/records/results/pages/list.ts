import type { Database, Tx } from '../../../platform/db/database.ts';
import { statement } from '../../../platform/db/database.ts';
import type { AssessmentFilter, PageRequest } from './filter.ts';
import { beginsAt, dayOf, direction, findLearnerIds } from './filter.ts';
import type { AccessPath, PageScope } from './page-statements.ts';
import { maxMerged, pageStatement, windowRows } from './page-statements.ts';

/** Reads a page of results: looks up what the filter names, chooses an access path, and runs its statement. */

/** One entry of a page. A body of null belongs to a tombstone; `exit`: the learner left the requested groups. */
export type FeedRow = {
  position: number;
  assessment_id: string;
  learner_id: string;
  assessed_at: number;
  deleted: boolean;
  exit: boolean;
  group_set_id: string;
  /** The payload version that it is shown in (src/platform/db/payload-version.ts). */
  shape: number;
  /** The organisation's, in the row's snapshot. */
  groups_version: number;
  report_sha256: string | null;
  learner: string | null;
  body: string | null;
};

/** `passedUs`: the position up to which this page looked, if more may follow although it is not full. */
export type ListedPage = { rows: FeedRow[]; passedUs: number | null };

/**
 * Exits that a page looks through for each of its entries. Most are shown. An exit whose learner is in another of the
 * requested groups is passed over, which costs about an eighth of an entry.
 */
const exitsForEach = 8;

/** So few days are read without a window, and so many are listed at most. */
const fewDays = 16;
const maxDays = 400;

const setsOfGroups = statement(
  'assessment.sets_of_groups',
  'select distinct group_set_id from group_set_group where organisation_id = $1 and group_id = any($2)',
);
/** The position at which one of the groups has more exits than one page looks through. */
const exitsEnd = statement(
  'assessment.exits_end',
  `
  select min(ahead.position) as position from unnest($2::uuid[]) as g(group_id), lateral (
    select e.position from scope_exit e where e.organisation_id = $1 and e.group_id = g.group_id and e.position >= $3
     order by e.position offset $4 limit 1) ahead`,
);
/** The position at which a window ends; no row: fewer rows are left. */
const windowEnd = (name: string, beyond: string, way: string) =>
  statement(
    name,
    `select position from assessment_feed where organisation_id = $1 and position ${beyond} $2 order by position${way} offset $3::int8 * ${windowRows} - 1 limit 1`,
  );
const windowEnds = {
  up: windowEnd('assessment.window_up', '>=', ''),
  down: windowEnd('assessment.window_down', '<=', ' desc'),
};

/** The access path that one statement reads a page by, without a look at the data; null: that is not enough. */
function directPath(filter: AssessmentFilter): AccessPath | null {
  const { learner, facets, groupIds, assessedFromUs, assessedToUs } = filter;
  const isNarrowed = learner !== null || groupIds !== null || assessedFromUs !== null || assessedToUs !== null;
  if (isNarrowed || direction(filter).byAssessed) return null;
  return facets === null ? { by: 'position' } : { by: 'facet', keys: facets };
}

function read(tx: Tx, page: PageRequest, path: AccessPath, scope: PageScope): Promise<FeedRow[]> {
  const { name, text, values } = pageStatement(page, path, scope);
  return tx.query<FeedRow>(statement(name, text), values);
}

/** What the filter names, found in one round trip. */
async function lookUp(tx: Tx, page: PageRequest) {
  const { organisationId, filter, after, limit } = page;
  const { groupIds, learner, sinceUs } = filter;
  const hasExits = groupIds !== null && sinceUs !== null;
  const [sets, learnerIds, exits] = await Promise.all([
    groupIds === null ? null : tx.query<{ group_set_id: string }>(setsOfGroups, [organisationId, groupIds]),
    learner === null ? null : findLearnerIds(tx, organisationId, learner),
    // A page without a cursor is not ended early: a client that knows only `since` would get the same page for ever.
    !hasExits || after === null || learner !== null
      ? null
      : tx.query<{ position: number | null }>(exitsEnd, [
          organisationId,
          groupIds,
          beginsAt(page),
          limit * exitsForEach,
        ]),
  ]);
  const groupSets = sets?.map((row) => row.group_set_id) ?? null;
  return { scope: { groupSets, hasExits, learnerIds }, passedUs: exits?.[0]?.position ?? null };
}

/** Reads the next rows of the feed. @returns whether they are all that the page can have */
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
  const isOnlyRange = filter.facets === null && filter.status === null && scope.groupSets === null;
  return { rows, isAll: rows.length === limit || (byAssessed ? isOnlyRange : end === null) };
}

/** The days from one time to another; null: one is missing, or the days are too many to be listed. */
function daysBetween(from: number | null, to: number | null): number[] | null {
  if (from === null || to === null || dayOf(to) - dayOf(from) > maxDays) return null;
  return Array.from({ length: Math.max(0, dayOf(to) - dayOf(from) + 1) }, (_, i) => dayOf(from) + i);
}

/** Reads a page whose filter names groups, a learner or times, or that is in the order of assessed_at. */
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

/** One page of the feed. */
export async function listAssessments(db: Database, request: PageRequest): Promise<ListedPage> {
  // If several statements make a page, one snapshot keeps them from passing over a record that moves between them.
  return directPath(request.filter) === null ? db.snapshot((tx) => listWithin(tx, request)) : listWithin(db, request);
}

/** The same within a snapshot that is open. */
export async function listWithin(tx: Tx, request: PageRequest): Promise<ListedPage> {
  const direct = directPath(request.filter);
  if (direct !== null) {
    const rows = await read(tx, request, direct, { groupSets: null, hasExits: false, learnerIds: null });
    return { rows, passedUs: null };
  }
  const { scope, passedUs } = await lookUp(tx, request);
  const rows = await readNarrowed(tx, { ...request, to: passedUs }, scope);
  return { rows, passedUs: rows.length === request.limit ? null : passedUs };
}
