import { type Tx, statement } from '../../../platform/db/database.ts';
import { type Visibility, isVisibleLearner } from '../../../organisations/groups/visibility.ts';
import {
  type AccessPath,
  type Counts,
  type GroupSets,
  type ResultQuery,
  type ResultFilter,
  type ResultPageStart,
  type ResultSort,
  hasIndex,
  maxGathered,
  maxGatheredBy,
  maxOfMembers,
  maxSorted,
  pageOf,
  scanOf,
  scanEnd,
} from './browse-statements.ts';
import { type ResultContent, contentOf } from '../body.ts';

export type BrowsedResult = {
  assessment_id: string;
  learner_id: string;
  position: number;
  group_set_id: string;
  source: 'imported' | 'sitting';
  report_sha256: string | null;
  ref: string | null;
  full_name: string;
  content: ResultContent;
  change: { at: Date; actor: string; reason: string } | null;
};

export type ResultPage = {
  rows: BrowsedResult[];
  /** Where the next page begins; null on the last page. */
  next: ResultPageStart | null;
  /** The scan ended before the page was full. More results may match. */
  isCutShort: boolean;
  /** If too many results match, only those assessed at or after this time were sorted. Null: all were sorted. */
  sortedSinceUs: number | null;
};

const setsOfGroup = statement('result.sets_of_groups')`
  select g.group_set_id from group_set_group g
    join group_set s on s.organisation_id = g.organisation_id and s.group_set_id = g.group_set_id
   where g.organisation_id = $1 and g.group_id = $2 and s.group_ids @> $3::uuid[] and ($4::uuid[] is null or s.group_ids && $4)`;
const setsOfSight = statement('result.sets_of_sight')`
  select distinct group_set_id from group_set_group where organisation_id = $1 and group_id = any($2::uuid[])`;
const inCells = statement('result.in_cells')`
  select v.digest_n as total, coalesce((
      select sum(c.n) from digest_cell c where c.organisation_id = $1 and ($2::int2[] is null or c.facet = any($2))
         and ($3::uuid[] is null or c.group_set_id in (select unnest($3::uuid[])))), 0)::int8 as n
    from feed v where v.organisation_id = $1`;
const ofFeed = statement('result.of_feed')`
  select digest_n as n, digest_n as total from feed where organisation_id = $1`;
const inDays = statement('result.in_days')`
  select count(*) as n from (select from assessment where organisation_id = $1 and assessed_at >= $2 and assessed_at < $3
     order by assessed_at, assessment_id limit ${maxGathered + 1}) d`;
const sinceChange = statement('result.since_change')`
  select count(*) as n from (select from assessment_feed where organisation_id = $1 and position >= $2
     order by position limit ${maxGathered + 1}) f`;

async function groupSetsFor(
  tx: Tx,
  organisationId: number,
  { groupIds, visibility }: Pick<ResultFilter, 'groupIds' | 'visibility'>,
): Promise<GroupSets> {
  const [first] = groupIds;
  if (first === undefined && visibility === null) return null;
  const rows = await (first === undefined
    ? tx.query<{ group_set_id: string }>(setsOfSight, [organisationId, visibility])
    : tx.query<{ group_set_id: string }>(setsOfGroup, [organisationId, first, groupIds, visibility]));
  return rows.map((row) => row.group_set_id);
}

async function countInCells(
  tx: Tx,
  organisationId: number,
  facets: readonly number[] | null,
  groupSets: GroupSets,
): Promise<{ n: number; total: number }> {
  const [row] = await (facets === null && groupSets === null
    ? tx.query<{ n: number; total: number }>(ofFeed, [organisationId])
    : tx.query<{ n: number; total: number }>(inCells, [organisationId, facets, groupSets]));
  return row!;
}

/** Finds the access path that reads the fewest rows. `path` is null if every path reads too many rows. */
async function gathering(tx: Tx, look: ResultQuery, groupSets: GroupSets) {
  const { organisationId, filter } = look;
  const { facets, assessedFromUs, assessedBeforeUs, changedSinceUs } = filter;
  const count = async (sql: typeof inDays, values: unknown[]) =>
    (await tx.query<{ n: number }>(sql, [organisationId, ...values]))[0]!.n;
  const both = groupSets !== null && facets !== null;
  const [cells, inSets, inFacets, days, changes] = await Promise.all([
    countInCells(tx, organisationId, facets, groupSets),
    both ? countInCells(tx, organisationId, null, groupSets) : null,
    both ? countInCells(tx, organisationId, facets, null) : null,
    assessedFromUs === null && assessedBeforeUs === null
      ? null
      : count(inDays, [assessedFromUs ?? 0, assessedBeforeUs ?? Number.MAX_SAFE_INTEGER]),
    changedSinceUs === null ? null : count(sinceChange, [changedSinceUs]),
  ]);
  const counts: Counts = {
    cells: cells.n,
    total: cells.total,
    inSets: groupSets === null ? null : (inSets ?? cells).n,
    inFacets: facets === null ? null : (inFacets ?? cells).n,
  };
  const max = maxGatheredBy(look, groupSets, counts);
  const paths: { reads: number; path: AccessPath }[] = [];
  const add = (path: AccessPath, reads: number | null, gathers = reads ?? 0, most = max.times) => {
    if (reads !== null && gathers <= most) paths.push({ reads, path });
  };
  add({ by: 'days' }, days);
  add({ by: 'changes' }, changes);
  if (groupSets !== null) add({ by: 'sets', groupSets }, counts.inSets, counts.cells, max.sets);
  if (facets !== null) add({ by: 'facets', facets }, counts.inFacets);
  if (groupSets === null && facets === null) add({ by: 'changes' }, counts.total);
  paths.sort((x, y) => x.reads - y.reads);
  return { path: paths[0]?.path ?? null, counts };
}

async function endOf(
  tx: Tx,
  look: ResultQuery,
  by: 'assessed' | 'changed',
  max: number,
): Promise<ResultPageStart | null> {
  const { values, ...sql } = scanEnd(look, by, max);
  return (await tx.query<{ place: string[] }>(sql, values))[0]?.place ?? null;
}

type Row = Omit<BrowsedResult, 'content' | 'change'> & {
  assessed_at: number;
  body: string;
  place: string[];
  change_at: Date | null;
  change_actor: string;
  change_reason: string;
};

function browsed({ body, assessed_at, place: _, change_at, change_actor, change_reason, ...row }: Row): BrowsedResult {
  const change = change_at === null ? null : { at: change_at, actor: change_actor, reason: change_reason };
  return { ...row, content: contentOf(body, assessed_at), change };
}

/** Reads a page of live results in several statements, so `tx` must be one snapshot. */
export async function browseResults(tx: Tx, look: ResultQuery): Promise<ResultPage> {
  const groupSets = await groupSetsFor(tx, look.organisationId, look.filter);
  const { path: gathered, counts } = await gathering(tx, look, groupSets);
  if (counts.cells === 0) return { rows: [], next: null, isCutShort: false, sortedSinceUs: null };
  let path = gathered;
  if (path === null && hasIndex(look, groupSets)) path = scanOf(look, counts);
  path ??= { by: 'newest', end: await endOf(tx, { ...look, descending: true }, 'assessed', maxSorted) };
  const isMembersFirst = counts.inSets !== null && counts.inSets <= maxOfMembers;
  const { values, ...sql } = pageOf({ ...look, limit: look.limit + 1 }, { groupSets, isMembersFirst }, path);
  const found = await tx.query<Row>(sql, values);
  const rows = found.slice(0, look.limit);
  const isFull = found.length > look.limit;
  const { sort } = look;
  // If the scan filled the page, the scan ended at the page's last row. Otherwise a query finds its end.
  const end =
    path.by === 'walk' && !isFull && (sort === 'assessed' || sort === 'changed')
      ? await endOf(tx, look, sort, path.max)
      : null;
  return {
    rows: rows.map(browsed),
    next: isFull ? rows.at(-1)!.place : end,
    isCutShort: end !== null,
    sortedSinceUs: path.by === 'newest' && path.end !== null ? Number(path.end[0]) : null,
  };
}

/** The order of an export: by date if no index has the requested order and too many results match. */
export async function exportSort(tx: Tx, look: ResultQuery): Promise<{ sort: ResultSort; descending: boolean }> {
  const groupSets = await groupSetsFor(tx, look.organisationId, look.filter);
  const canSort = (await gathering(tx, look, groupSets)).path !== null || hasIndex(look, groupSets);
  return canSort ? look : { sort: 'assessed', descending: true };
}

/** Yields all matching results in pages. `tx` must be one snapshot. */
export async function* everyResult(tx: Tx, look: ResultQuery): AsyncGenerator<BrowsedResult[]> {
  let { after } = look;
  do {
    const page = await browseResults(tx, { ...look, after });
    if (page.rows.length > 0) yield page.rows;
    after = page.next;
  } while (after !== null);
}

/** One result with its details. `content` is null for a withdrawn result. */
export type ResultDetail = Omit<BrowsedResult, 'content' | 'change'> & {
  assessed_at: number;
  content: ResultContent | null;
};

const whole = statement('result.whole')`
  select a.assessment_id, a.learner_id, a.source, a.report_sha256, a.assessed_at, a.body, f.position, f.group_set_id, l.ref, l.full_name
    from assessment a
    join assessment_feed f on f.organisation_id = a.organisation_id and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
    join learner l on l.organisation_id = a.organisation_id and l.learner_id = a.learner_id
   where a.organisation_id = $1 and a.assessment_id = $2 and ${isVisibleLearner('a.learner_id', '$3')}`;

export async function findResult(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
  visibility: Visibility,
): Promise<ResultDetail | undefined> {
  type Row = Omit<ResultDetail, 'content'> & { body: string | null };
  const [row] = await tx.query<Row>(whole, [organisationId, assessmentId, visibility]);
  if (row === undefined) return undefined;
  const { body, ...rest } = row;
  return { ...rest, content: body === null ? null : contentOf(body, rest.assessed_at) };
}

/** How many results match. With some filters only an upper limit is known (`exact: false`). */
export async function maxRows(db: Tx, { organisationId, filter }: ResultQuery): Promise<{ n: number; exact: boolean }> {
  const { assessedFromUs, assessedBeforeUs, changedSinceUs, flag, source, latest } = filter;
  const others = [assessedFromUs, assessedBeforeUs, changedSinceUs, flag, source];
  const counted = await countInCells(db, organisationId, filter.facets, await groupSetsFor(db, organisationId, filter));
  return { n: counted.n, exact: others.every((one) => one === null) && !latest };
}
