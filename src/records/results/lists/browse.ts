import type { Tx } from '../../../platform/db/database.ts';
import { statement } from '../../../platform/db/database.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { isVisibleLearner } from '../../../organisations/groups/visibility.ts';
import type { Counts, Drive, GroupSets, Look, ResultFilter, ResultPlace, ResultSort } from './browse-statements.ts';
import {
  canWalk,
  maxGathered,
  maxOf,
  maxOfMembers,
  maxSorted,
  pageOf,
  walkOf,
  windowEnd,
} from './browse-statements.ts';
import type { ResultContent } from '../body.ts';
import { contentOf } from '../body.ts';

/** A result as people see it in a list. */
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
  /** Who last amended it, when and why; null: nobody. */
  change: { at: Date; actor: string; reason: string } | null;
};

export type ResultPage = {
  rows: BrowsedResult[];
  /** Where the next page begins; null: there is none. */
  next: ResultPlace | null;
  /** The last page looked through so many and isn't full: what fits may still follow. */
  passed: boolean;
  /** Only results assessed at this time or later were sorted, because there are too many; null: all were. */
  sortedSinceUs: number | null;
};

const setsOfGroup = statement(
  'result.sets_of_groups',
  `
  select g.group_set_id from group_set_group g
    join group_set s on s.organisation_id = g.organisation_id and s.group_set_id = g.group_set_id
   where g.organisation_id = $1 and g.group_id = $2 and s.group_ids @> $3::uuid[] and ($4::uuid[] is null or s.group_ids && $4)`,
);
const setsOfSight = statement(
  'result.sets_of_sight',
  'select distinct group_set_id from group_set_group where organisation_id = $1 and group_id = any($2::uuid[])',
);
/** How many live results there are in these sets and facets, which the digest's cells say, and altogether. */
const inCells = statement(
  'result.in_cells',
  `
  select v.digest_n as total, coalesce((
      select sum(c.n) from digest_cell c where c.organisation_id = $1 and ($2::int2[] is null or c.facet = any($2))
         and ($3::uuid[] is null or c.group_set_id in (select unnest($3::uuid[])))), 0)::int8 as n
    from feed v where v.organisation_id = $1`,
);
const ofFeed = statement(
  'result.of_feed',
  'select digest_n as n, digest_n as total from feed where organisation_id = $1',
);
const inDays = statement(
  'result.in_days',
  `
  select count(*) as n from (select from assessment where organisation_id = $1 and assessed_at >= $2 and assessed_at < $3
     order by assessed_at, assessment_id limit ${maxGathered + 1}) d`,
);
const sinceChange = statement(
  'result.since_change',
  `
  select count(*) as n from (select from assessment_feed where organisation_id = $1 and position >= $2
     order by position limit ${maxGathered + 1}) f`,
);

/** The sets of groups that a learner in the filter's groups, and in sight, may hold; null: any. */
export async function groupSetsFor(
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

/** How many live results groups and levels let through, before anything else. */
export async function countInCells(
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

/** The driver that reads least, where what it gathers is little enough; what it was chosen by; and whether anything can fit. */
async function gathering(
  tx: Tx,
  look: Look,
  groupSets: GroupSets,
): Promise<{ drive: Drive | null; counts: Counts; isEmpty: boolean }> {
  const { organisationId, filter } = look;
  const { facets, assessedFromUs, assessedBeforeUs, changedSinceUs } = filter;
  const counted = async (name: typeof inDays, values: unknown[]) =>
    (await tx.query<{ n: number }>(name, [organisationId, ...values]))[0]!.n;
  const both = groupSets !== null && facets !== null;
  const [cells, inSets, inFacets, days, changes] = await Promise.all([
    countInCells(tx, organisationId, facets, groupSets),
    both ? countInCells(tx, organisationId, null, groupSets) : null,
    both ? countInCells(tx, organisationId, facets, null) : null,
    assessedFromUs === null && assessedBeforeUs === null
      ? null
      : counted(inDays, [assessedFromUs ?? 0, assessedBeforeUs ?? Number.MAX_SAFE_INTEGER]),
    changedSinceUs === null ? null : counted(sinceChange, [changedSinceUs]),
  ]);
  const counts: Counts = {
    cells: cells.n,
    total: cells.total,
    inSets: groupSets === null ? null : (inSets ?? cells).n,
    inFacets: facets === null ? null : (inFacets ?? cells).n,
  };
  const max = maxOf(look, groupSets, counts);
  const drives: { reads: number | null; gathers: number; max: number; drive: Drive }[] = [
    { reads: days, gathers: days ?? 0, max: max.times, drive: { by: 'days' } },
    { reads: changes, gathers: changes ?? 0, max: max.times, drive: { by: 'changes' } },
  ];
  const { cells: n, inSets: ofSets, inFacets: ofFacets, total } = counts;
  if (groupSets !== null) drives.push({ reads: ofSets, gathers: n, max: max.sets, drive: { by: 'sets', groupSets } });
  if (facets !== null)
    drives.push({ reads: ofFacets, gathers: ofFacets!, max: max.times, drive: { by: 'facets', facets } });
  if (groupSets === null && facets === null)
    drives.push({ reads: total, gathers: total, max: max.times, drive: { by: 'changes' } });
  const found = drives
    .filter((one) => one.reads !== null && one.gathers <= one.max)
    .sort((x, y) => x.reads! - y.reads!);
  return { drive: found[0]?.drive ?? null, counts, isEmpty: n === 0 };
}

async function endOf(tx: Tx, look: Look, by: 'assessed' | 'changed', max: number): Promise<ResultPlace | null> {
  const { name, text, values } = windowEnd(look, by, max);
  return (await tx.query<{ place: string[] }>(statement(name, text), values))[0]?.place ?? null;
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

/**
 * A page of live results in any order, within a snapshot: several statements read it. Where the filter lets little
 * through, all of it is sorted. Otherwise an index is followed; a page that has to pass over many ends short, and says so;
 * and an order that no index has sorts the latest assessed only, and says since when.
 */
export async function browseResults(tx: Tx, look: Look): Promise<ResultPage> {
  const groupSets = await groupSetsFor(tx, look.organisationId, look.filter);
  const { drive: gathered, counts, isEmpty } = await gathering(tx, look, groupSets);
  if (isEmpty) return { rows: [], next: null, passed: false, sortedSinceUs: null };
  let drive = gathered;
  if (drive === null && canWalk(look, groupSets)) drive = walkOf(look, counts);
  drive ??= { by: 'newest', end: await endOf(tx, { ...look, descending: true }, 'assessed', maxSorted) };
  const within = { groupSets, members: counts.inSets !== null && counts.inSets <= maxOfMembers };
  const { name, text, values } = pageOf({ ...look, limit: look.limit + 1 }, within, drive);
  const found = await tx.query<Row>(statement(name, text), values);
  const rows = found.slice(0, look.limit);
  const isFull = found.length > look.limit;
  const { sort } = look;
  // How far a walk has looked is of interest only where it has not filled the page.
  const end =
    drive.by === 'walk' && !isFull && (sort === 'assessed' || sort === 'changed')
      ? await endOf(tx, look, sort, drive.max)
      : null;
  return {
    rows: rows.map(browsed),
    next: isFull ? rows.at(-1)!.place : end,
    passed: end !== null,
    sortedSinceUs: drive.by === 'newest' && drive.end !== null ? Number(drive.end[0]) : null,
  };
}

/** The order of an export: what an index can't give for many goes by the date. */
export async function exportSort(tx: Tx, look: Look): Promise<{ sort: ResultSort; descending: boolean }> {
  const groupSets = await groupSetsFor(tx, look.organisationId, look.filter);
  const sorted = (await gathering(tx, look, groupSets)).drive !== null || canWalk(look, groupSets);
  return sorted ? look : { sort: 'assessed', descending: true };
}

/**
 * Every result that the filter lets through, in the order of the pages, some at a time. It is to be read within one
 * snapshot.
 */
export async function* everyResult(tx: Tx, look: Look): AsyncGenerator<BrowsedResult[]> {
  for (let after = look.after; ;) {
    const page = await browseResults(tx, { ...look, after });
    if (page.rows.length > 0) yield page.rows;
    if (page.next === null) return;
    after = page.next;
  }
}

/** One result with all that is shown of it. `content` is null where it was withdrawn. */
export type WholeResult = Omit<BrowsedResult, 'content' | 'change'> & {
  assessed_at: number;
  content: ResultContent | null;
};

const whole = statement(
  'result.whole',
  `
  select a.assessment_id, a.learner_id, a.source, a.report_sha256, a.assessed_at, a.body, f.position, f.group_set_id, l.ref, l.full_name
    from assessment a
    join assessment_feed f on f.organisation_id = a.organisation_id and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
    join learner l on l.organisation_id = a.organisation_id and l.learner_id = a.learner_id
   where a.organisation_id = $1 and a.assessment_id = $2 and ${isVisibleLearner('a.learner_id', '$3')}`,
);

/** One result, live or withdrawn, of a learner in sight. */
export async function findResult(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
  visibility: Visibility,
): Promise<WholeResult | undefined> {
  const [row] = await tx.query<Omit<WholeResult, 'content'> & { body: string | null }>(whole, [
    organisationId,
    assessmentId,
    visibility,
  ]);
  if (row === undefined) return undefined;
  const { body, ...rest } = row;
  return { ...rest, content: body === null ? null : contentOf(body, rest.assessed_at) };
}
