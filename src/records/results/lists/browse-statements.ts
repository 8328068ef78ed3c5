import { hash } from 'node:crypto';
import { StatementBuilder } from '../../../platform/db/statement-builder.ts';
import { type Visibility, amongMembers, isVisibleLearner } from '../../../organisations/groups/visibility.ts';
import { allFacets } from '../facet.ts';
import { lastChangeOf } from './history.ts';

/**
 * The statements behind lists of results. If few results match a filter, one index finds all of them, and they are
 * sorted. Otherwise a scan follows an index in the list's order, until the page is full or a maximum is reached.
 */

export const resultSorts = ['assessed', 'changed', 'learner', 'subject', 'placement', 'flags', 'source'] as const;
export type ResultSort = (typeof resultSorts)[number];

export type ResultFilter = {
  visibility: Visibility;
  groupIds: readonly string[];
  facets: readonly number[] | null;
  flag: 'any' | 'borderline' | 'review' | null;
  source: 'sitting' | 'imported' | null;
  assessedFromUs: number | null;
  assessedBeforeUs: number | null;
  changedSinceUs: number | null;
  /** Only the latest result of each learner in each subject. */
  latest: boolean;
};

export const unfiltered: ResultFilter = {
  visibility: null,
  groupIds: [],
  facets: null,
  flag: null,
  source: null,
  assessedFromUs: null,
  assessedBeforeUs: null,
  changedSinceUs: null,
  latest: false,
};

/** Where a page begins: the sort keys of the last row of the previous page. */
export type ResultPageStart = readonly (number | string)[];

// A search for these texts finds only the fields, because quotes inside a string value are escaped. The probabilities
// are the last field. Two of them from 0.3 to below 0.7 mean the same as `isClose`, because all add up to 1.
const between = String.raw`":0\.[3-6]`;
const borderline = `(case when a.body like '%"level_probabilities":{%'
  then a.body ~ '"level_probabilities":\\{.*${between}.*${between}' else a.body like '%"is_borderline":true%' end)`;
const review = `a.body like '%"needs_review":true%'`;
const flagged = { any: `(${borderline} or ${review})`, borderline, review };

const position = ['f.position', 'int8'] as const;
const assessmentId = ['f.assessment_id', 'uuid'] as const;
/** The keys of each sort. The last key is unique. */
const keys: Record<ResultSort, readonly (readonly [sql: string, type: string])[]> = {
  assessed: [['f.assessed_at', 'int8'], assessmentId],
  changed: [position],
  learner: [['lower(l.full_name)', 'text'], assessmentId],
  subject: [['f.facet::int4', 'int4'], position],
  placement: [['(((f.facet & 7) << 3) | (f.facet >> 3))', 'int4'], position],
  flags: [[`((${review})::int4 * 2 + (${borderline})::int4)`, 'int4'], position],
  source: [[`(a.source = 'sitting')::int4`, 'int4'], position],
};

/** How a page finds its rows: the index that it uses, and how many rows it may read. */
export type AccessPath =
  | { by: 'sets'; groupSets: readonly string[] }
  | { by: 'facets'; facets: readonly number[] }
  | { by: 'days' }
  | { by: 'changes' }
  /** A scan in the order of the sort, over at most `max` rows. */
  | { by: 'walk'; max: number }
  /** The most recently assessed results, back to `end`. This path serves sorts that have no index. */
  | { by: 'newest'; end: ResultPageStart | null };

export type ResultQuery = {
  organisationId: number;
  filter: ResultFilter;
  sort: ResultSort;
  descending: boolean;
  after: ResultPageStart | null;
  limit: number;
};

/** The group sets of learners that are visible and in the filter's groups; null: every set. */
export type GroupSets = readonly string[] | null;
/**
 * The groups of a page. `isMembersFirst`: a scan first reads all members of the groups, and then compares each row with
 * the members.
 */
export type GroupScope = { groupSets: GroupSets; isMembersFirst: boolean };

const orderWay = ({ descending }: ResultQuery) => (descending ? ' desc' : '');
const columnsOf = (sort: ResultSort) => keys[sort].map(([sql]) => sql);

function beyond(builder: StatementBuilder, columns: string, sort: ResultSort, compare: string, place: ResultPageStart) {
  const values = place.map((value, i) => `${builder.bind(value)}::${keys[sort][i]![1]}`);
  return `(${columns}) ${compare} (${values.join(', ')})`;
}

function pageStart(builder: StatementBuilder, look: ResultQuery, columns: string): string {
  const { after, sort, descending } = look;
  return after === null ? '' : ` and ${beyond(builder, columns, sort, descending ? '<' : '>', after)}`;
}

function range(builder: StatementBuilder, column: string, from: number | null, before: number | null): string {
  let sql = '';
  if (from !== null) sql += ` and ${column} >= ${builder.bind(from)}::int8`;
  if (before !== null) sql += ` and ${column} < ${builder.bind(before)}::int8`;
  return sql;
}

const feedOf = (source: string) => `
  lateral (select * from assessment_feed n where n.organisation_id = $1 and n.learner_id = ${source}.learner_id and n.assessment_id = ${source}.assessment_id offset 0) f`;
const assessmentOf = `
  lateral (select n.source, n.body, n.learner_id from assessment n where n.organisation_id = $1 and n.assessment_id = f.assessment_id offset 0) a`;

function conditionsOf(
  builder: StatementBuilder,
  { filter }: ResultQuery,
  groupSets: GroupSets,
  path: AccessPath['by'],
) {
  let sql = 'not f.deleted';
  if (filter.facets !== null) sql += ` and f.facet = any(${builder.bind(filter.facets)}::int2[])`;
  if (groupSets !== null && path !== 'sets')
    // With "is true", PostgreSQL looks each row up in a hash table.
    sql += ` and (f.group_set_id in (select unnest(${builder.bind(groupSets)}::uuid[]))) is true`;
  if (filter.visibility !== null) sql += ` and ${isVisibleLearner('f.learner_id', builder.bind(filter.visibility))}`;
  sql += range(builder, 'f.assessed_at', filter.assessedFromUs, filter.assessedBeforeUs);
  sql += range(builder, 'f.position', filter.changedSinceUs, null);
  if (filter.flag !== null) sql += ` and ${flagged[filter.flag]}`;
  if (filter.source !== null) sql += ` and a.source = '${filter.source}'`;
  if (filter.latest)
    // With "is true", PostgreSQL looks up the results of one learner at a time. A join would read the results of all
    // learners.
    sql += ` and (not exists (
      select from assessment_feed later where later.organisation_id = $1 and later.learner_id = f.learner_id and not later.deleted
         and later.facet >> 3 = f.facet >> 3 and (later.assessed_at, later.assessment_id) > (f.assessed_at, f.assessment_id))) is true`;
  return sql;
}

export function hasIndex(look: ResultQuery, groupSets: GroupSets): boolean {
  const { filter, sort } = look;
  if (sort === 'assessed' || sort === 'changed') return true;
  if (sort !== 'subject' && sort !== 'placement') return false;
  const { assessedFromUs, assessedBeforeUs, changedSinceUs, latest } = filter;
  const hasRange = [assessedFromUs, assessedBeforeUs, changedSinceUs].some((us) => us !== null);
  return groupSets === null && !needsBody(look) && !hasRange && !latest;
}

const rankOf = { subject: (facet: number) => facet, placement: (facet: number) => ((facet & 7) << 3) | (facet >> 3) };

/** SQL: whether learner `d` is visible and in the filter's groups. If other parts of the statement check it: `true`. */
function isMember(builder: StatementBuilder, { filter }: ResultQuery, { isMembersFirst }: GroupScope): string {
  if (!isMembersFirst) return 'true';
  const lists = [...filter.groupIds.map((id) => [id]), ...(filter.visibility === null ? [] : [filter.visibility])];
  return lists.map((ids) => amongMembers('d.learner_id', `${builder.bind(ids)}::uuid[]`)).join(' and ');
}

/** The SQL for the `from` of a page, where `f` is a row of the feed that the path finds. */
function rowsOf(builder: StatementBuilder, look: ResultQuery, path: AccessPath, scope: GroupScope): string {
  const { filter, sort } = look;
  const way = orderWay(look);
  const changed = (column: string) => range(builder, column, filter.changedSinceUs, null);
  const gathered = (list: string, column: string) =>
    `unnest(${list}) s(id),
      lateral (select * from assessment_feed n where n.organisation_id = $1 and n.${column} = s.id${changed('n.position')} offset 0) f`;
  if (path.by === 'sets') return gathered(`${builder.bind(path.groupSets)}::uuid[]`, 'group_set_id');
  if (path.by === 'facets') return gathered(`${builder.bind(path.facets)}::int2[]`, 'facet');
  if (path.by === 'changes')
    return `(select * from assessment_feed f where f.organisation_id = $1 and not f.deleted${range(builder, 'f.position', filter.changedSinceUs ?? 0, null)} order by f.position limit ${maxGathered}) f`;
  // At most `max` rows match. The limit is needed so that a generic plan follows the index, too.
  const max = path.by === 'days' ? maxGathered : path.by === 'walk' ? path.max : maxSorted;
  // PostgreSQL checks conditions on the index's own columns before it reads the feed.
  const assessed = (more: string, order: string) => {
    const columns = `learner_id, assessment_id, assessed_at, facet${needsBody(look) ? ', source, body' : ''}`;
    const isOfFacets = filter.facets === null ? 'true' : `d.facet = any(${builder.bind(filter.facets)}::int2[])`;
    return `(select * from (select ${columns} from assessment d where d.organisation_id = $1${range(builder, 'd.assessed_at', filter.assessedFromUs, filter.assessedBeforeUs)}${more} order by ${order} limit ${max}) d where ${isOfFacets} and ${isMember(builder, look, scope)}) a, ${feedOf('a')}`;
  };
  const assessedKeys = 'd.assessed_at, d.assessment_id';
  if (path.by === 'days') return assessed('', assessedKeys);
  if (path.by === 'newest') {
    const end = path.end === null ? '' : ` and ${beyond(builder, assessedKeys, 'assessed', '>=', path.end)}`;
    return assessed(end, 'd.assessed_at desc, d.assessment_id desc');
  }
  if (sort === 'assessed')
    return assessed(pageStart(builder, look, assessedKeys), `d.assessed_at${way}, d.assessment_id${way}`);
  if (sort === 'changed')
    return `(select * from assessment_feed f where f.organisation_id = $1${changed('f.position')}${pageStart(builder, look, 'f.position')} order by f.position${way} limit ${max}) f`;
  return rankedRows(builder, look, rankOf[sort as 'subject' | 'placement']);
}

function rankedRows(builder: StatementBuilder, look: ResultQuery, rank: (facet: number) => number): string {
  const { filter, descending, after, limit } = look;
  const facets = (filter.facets ?? allFacets)
    .filter(
      (facet) => after === null || (descending ? rank(facet) <= Number(after[0]) : rank(facet) >= Number(after[0])),
    )
    .sort((x, y) => (descending ? -1 : 1) * (rank(x) - rank(y)));
  const ranks = builder.bind(facets.map(rank));
  const rest =
    after === null
      ? ''
      : ` and (s.rank <> ${builder.bind(after[0])}::int4 or n.position ${descending ? '<' : '>'} ${builder.bind(after[1])}::int8)`;
  return `unnest(${builder.bind(facets)}::int2[], ${ranks}::int4[]) s(id, rank),
    lateral (select * from assessment_feed n where n.organisation_id = $1 and n.facet = s.id and not n.deleted${rest} order by n.position${orderWay(look)} limit ${limit}) f`;
}

export const maxGathered = 5000;
/** If the sort has no index, only this many of the most recently assessed results are sorted. */
export const maxSorted = 2000;
/** If the group sets have more results than this, a page does not gather results by group set. */
const maxOfSets = 30_000;
/** The most results that a page gathers by group set, if it reads only the feed and no index has the order. */
const maxGatheredPlain = 12_000;
/** The most results that a page gathers if each result is compared with the learner's other results. */
const maxCompared = 2000;
/** The most results that a page scans if the scan reads the body of each result. */
const maxRead = 3000;
const maxScanned = { min: 3000, changed: 12_000, assessed: 40_000 };
/** A scan is long enough to find about this many results of the filter's groups and levels. */
const maxMet = 1500;
/** If groups have at most this many results, a scan reads their members first. */
export const maxOfMembers = 300_000;

/**
 * Numbers of live results: in the filter's groups and levels together, in its groups, in its levels, and in total.
 * Null: the filter does not name groups or levels.
 */
export type Counts = { cells: number; inSets: number | null; inFacets: number | null; total: number };

/** The most results that a page gathers. `sets`: by group sets. `times`: by days, changes or levels. */
export function maxGatheredBy(look: ResultQuery, groupSets: GroupSets, counts: Counts) {
  const times = look.filter.latest ? maxCompared : maxGathered;
  if ((counts.inSets ?? 0) > maxOfSets) return { times, sets: 0 };
  const isPlain = groupSets !== null && look.sort !== 'learner' && !needsBody(look) && !hasIndex(look, groupSets);
  return { times, sets: isPlain && !look.filter.latest ? maxGatheredPlain : times };
}

/** How many rows a scan reads. If few rows match, the scan reads more, because rows that do not match cost little. */
export function scanOf(look: ResultQuery, counts: Counts): AccessPath {
  if (needsBody(look)) return { by: 'walk', max: maxRead };
  const reaching = Math.ceil((maxMet * counts.total) / Math.max(1, counts.cells));
  const furthest = look.sort === 'assessed' ? maxScanned.assessed : maxScanned.changed;
  return { by: 'walk', max: Math.min(furthest, Math.max(maxScanned.min, reaching)) };
}

export const needsBody = ({ filter, sort }: ResultQuery) =>
  filter.flag !== null || filter.source !== null || sort === 'flags' || sort === 'source';

/** A scan is ordered by the columns of its index, so PostgreSQL does not sort and stops when the page is full. */
function orderOf(look: ResultQuery, path: AccessPath): string {
  const { sort } = look;
  if (path.by !== 'walk') return keys[sort].map((_, i) => `k${i}${orderWay(look)}`).join(', ');
  const columns = sort === 'assessed' ? ['a.assessed_at', 'a.assessment_id'] : columnsOf(sort);
  return columns.map((column) => column + orderWay(look)).join(', ');
}

function built(prefix: string, text: string, { values }: StatementBuilder) {
  return { name: `${prefix}.${hash('sha256', text, 'base64url').slice(0, 20)}`, text, values };
}

export function pageOf(look: ResultQuery, scope: GroupScope, path: AccessPath) {
  const { sort, after, limit } = look;
  const builder = new StatementBuilder(look.organisationId);
  const from = rowsOf(builder, look, path, scope);
  const fromAssessments = path.by === 'days' || path.by === 'newest' || (path.by === 'walk' && sort === 'assessed');
  const assessment = needsBody(look) && !fromAssessments ? `, ${assessmentOf}` : '';
  // With a plain join, PostgreSQL may follow the index of names through all learners of the organisation.
  const learner =
    sort === 'learner'
      ? ', lateral (select n.full_name from learner n where n.organisation_id = $1 and n.learner_id = f.learner_id offset 0) l'
      : '';
  let where = conditionsOf(builder, look, scope.groupSets, path.by);
  // A scan in index order already begins after the last row of the previous page.
  if (after !== null && path.by !== 'walk') where += ` and ${afterPlace(builder, look, after)}`;
  // A page token must not contain a name, so in the sort by learner it contains only the result's ID.
  const tokenKeys = sort === 'learner' ? [1] : [...keys[sort].keys()];
  const text = `
    select c.learner_id, c.assessment_id, c.position, c.assessed_at, c.facet, c.group_set_id, array[${tokenKeys.map((i) => `c.k${i}::text`).join(', ')}] as place,
           a.source, a.body, a.report_sha256, l.ref, l.full_name, h.at as change_at, h.actor as change_actor, h.reason as change_reason
      from (
    select f.learner_id, f.assessment_id, f.position, f.assessed_at, f.facet, f.group_set_id, ${columnsOf(sort)
      .map((sql, i) => `${sql} as k${i}`)
      .join(', ')}
      from ${from}${assessment}${learner}
     where ${where}
     order by ${orderOf(look, path)} limit ${limit}) c
      join lateral (select n.source, n.body, n.report_sha256 from assessment n where n.organisation_id = $1 and n.assessment_id = c.assessment_id offset 0) a on true
      join lateral (select n.ref, n.full_name from learner n where n.organisation_id = $1 and n.learner_id = c.learner_id offset 0) l on true
      left join lateral ${lastChangeOf('c.assessment_id')} h on true
     order by ${keys[sort].map((_, i) => `c.k${i}${orderWay(look)}`).join(', ')}`;
  return built('result.browse', text, builder);
}

/**
 * The condition that a row comes after the last row of the previous page. In the sort by learner, an invisible learner
 * gives the first page, because the page would otherwise reveal where the name is.
 */
function afterPlace(builder: StatementBuilder, { filter, sort, descending }: ResultQuery, after: ResultPageStart) {
  const columns = columnsOf(sort).join(', ');
  const compare = descending ? '<' : '>';
  if (sort !== 'learner') return beyond(builder, columns, sort, compare, after);
  const id = builder.bind(after[0]);
  const isSeen =
    filter.visibility === null ? '' : ` and ${isVisibleLearner('q.learner_id', builder.bind(filter.visibility))}`;
  return `coalesce((${columns}) ${compare} ((select lower(p.full_name) from assessment q join learner p on p.organisation_id = $1 and p.learner_id = q.learner_id
     where q.organisation_id = $1 and q.assessment_id = ${id}::uuid${isSeen}), ${id}::uuid), true)`;
}

export const pageStartTypes = (sort: ResultSort): string[] =>
  sort === 'learner' ? ['uuid'] : keys[sort].map(([, type]) => type);

/** Finds the place at which a scan of `max` rows ends. If fewer rows are left, there is no row. */
export function scanEnd(look: ResultQuery, by: 'assessed' | 'changed', max: number) {
  const { filter } = look;
  const builder = new StatementBuilder(look.organisationId);
  const begin = look.sort === by ? pageStart(builder, look, columnsOf(by).join(', ')) : '';
  const within =
    by === 'assessed'
      ? range(builder, 'f.assessed_at', filter.assessedFromUs, filter.assessedBeforeUs)
      : range(builder, 'f.position', filter.changedSinceUs, null);
  const place = columnsOf(by).map((sql) => `${sql}::text`);
  const order = columnsOf(by).map((sql) => sql + orderWay(look));
  const text = `select array[${place.join(', ')}] as place from ${by === 'assessed' ? 'assessment' : 'assessment_feed'} f
    where f.organisation_id = $1${within}${begin} order by ${order.join(', ')} offset ${max - 1} limit 1`;
  return built('result.window', text, builder);
}
