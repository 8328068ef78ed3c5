import { hash } from 'node:crypto';
import { StatementBuilder } from '../../../platform/db/statement-builder.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { amongMembers, isVisibleLearner } from '../../../organisations/groups/visibility.ts';
import { allFacets } from '../facet.ts';
import { lastChangeOf } from './history.ts';

/**
 * The statements behind the results as people look through them. A page is read in one of two ways: everything that fits
 * the filter is gathered by an index and sorted, where that is little; or an index is walked in the order that is wanted,
 * row by row, and the walk ends where the page is full or where it has looked through enough.
 */

export const resultSorts = ['assessed', 'changed', 'learner', 'subject', 'placement', 'flags', 'source'] as const;
export type ResultSort = (typeof resultSorts)[number];

/** What results are looked for; times are microseconds since 1970. */
export type ResultFilter = {
  visibility: Visibility;
  /** The learner is now a member of every one of them. */
  groupIds: readonly string[];
  /** Null: every subject and level. */
  facets: readonly number[] | null;
  flag: 'any' | 'borderline' | 'review' | null;
  source: 'sitting' | 'imported' | null;
  assessedFromUs: number | null;
  /** Exclusive. */
  assessedBeforeUs: number | null;
  changedSinceUs: number | null;
  /** Only each learner's latest result in its subject. */
  latest: boolean;
};

/** Lets every result through: what is asked for stands beside it. */
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

/** Where a page begins: the values of the sort's keys in the row before. */
export type ResultPlace = readonly (number | string)[];

// A stored body has these texts where the field is true and nowhere else: inside a string its quotes would be escaped.
const borderline = `a.body like '%"is_borderline":true%'`;
const review = `a.body like '%"needs_review":true%'`;
const flagged = { any: `(${borderline} or ${review})`, borderline, review };

/** What a sort goes by, with ties told apart; the last key is unique. */
const keys: Record<ResultSort, readonly [sql: string, type: string][]> = {
  assessed: [
    ['f.assessed_at', 'int8'],
    ['f.assessment_id', 'uuid'],
  ],
  changed: [['f.position', 'int8']],
  learner: [
    ['lower(l.full_name)', 'text'],
    ['f.assessment_id', 'uuid'],
  ],
  subject: [
    ['f.facet::int4', 'int4'],
    ['f.position', 'int8'],
  ],
  placement: [
    ['(((f.facet & 7) << 3) | (f.facet >> 3))', 'int4'],
    ['f.position', 'int8'],
  ],
  flags: [
    [`((${review})::int4 * 2 + (${borderline})::int4)`, 'int4'],
    ['f.position', 'int8'],
  ],
  source: [
    [`(a.source = 'sitting')::int4`, 'int4'],
    ['f.position', 'int8'],
  ],
};

/** How rows are found: by what index, and how far. */
export type Drive =
  | { by: 'sets'; groupSets: readonly string[] }
  | { by: 'facets'; facets: readonly number[] }
  | { by: 'days' }
  | { by: 'changes' }
  /** In the order of the sort, from the place on, past so many at most. */
  | { by: 'walk'; max: number }
  /** The latest assessed down to this one, to be sorted by something that no index has. */
  | { by: 'newest'; end: ResultPlace | null };

export type Look = {
  organisationId: number;
  filter: ResultFilter;
  sort: ResultSort;
  descending: boolean;
  after: ResultPlace | null;
  limit: number;
};

/** Group sets to which the filter's groups and the sight come down; null: every one. */
export type GroupSets = readonly string[] | null;
/** By group sets, and with `members` first by who is in the groups: it costs a look at all members, and then little. */
export type Within = { groupSets: GroupSets; members: boolean };

const feedOf = (source: string) => `
  lateral (select * from assessment_feed n where n.organisation_id = $1 and n.learner_id = ${source}.learner_id and n.assessment_id = ${source}.assessment_id offset 0) f`;
const assessmentOf = `
  lateral (select n.source, n.body, n.learner_id from assessment n where n.organisation_id = $1 and n.assessment_id = f.assessment_id offset 0) a`;

function range(builder: StatementBuilder, column: string, from: number | null, before: number | null): string {
  let sql = '';
  if (from !== null) sql += ` and ${column} >= ${builder.bind(from)}::int8`;
  if (before !== null) sql += ` and ${column} < ${builder.bind(before)}::int8`;
  return sql;
}

/** Conditions on the rows of a driver, whichever it is. */
function residual(builder: StatementBuilder, { filter }: Look, groupSets: GroupSets, drive: Drive['by']): string {
  let sql = 'not f.deleted';
  if (filter.facets !== null) sql += ` and f.facet = any(${builder.bind(filter.facets)}::int2[])`;
  if (groupSets !== null && drive !== 'sets')
    // Behind "is true" it stays a hash table that each row is looked up in.
    sql += ` and (f.group_set_id in (select unnest(${builder.bind(groupSets)}::uuid[]))) is true`;
  if (filter.visibility !== null) sql += ` and ${isVisibleLearner('f.learner_id', builder.bind(filter.visibility))}`;
  sql += range(builder, 'f.assessed_at', filter.assessedFromUs, filter.assessedBeforeUs);
  sql += range(builder, 'f.position', filter.changedSinceUs, null);
  if (filter.flag !== null) sql += ` and ${flagged[filter.flag]}`;
  if (filter.source !== null) sql += ` and a.source = '${filter.source}'`;
  if (filter.latest)
    // Behind "is true" it stays a look at the few results of one learner: as a join it would read everybody's.
    sql += ` and (not exists (
      select from assessment_feed later where later.organisation_id = $1 and later.learner_id = f.learner_id and not later.deleted
         and later.facet >> 3 = f.facet >> 3 and (later.assessed_at, later.assessment_id) > (f.assessed_at, f.assessment_id))) is true`;
  return sql;
}

/** Whether an index has the order of a sort, so that a walk can follow it. */
export function canWalk({ filter, sort }: Look, groupSets: GroupSets): boolean {
  if (sort === 'assessed' || sort === 'changed') return true;
  if (sort !== 'subject' && sort !== 'placement') return false;
  const { flag, source, assessedFromUs, assessedBeforeUs, changedSinceUs, latest } = filter;
  return (
    groupSets === null &&
    flag === null &&
    source === null &&
    assessedFromUs === null &&
    assessedBeforeUs === null &&
    changedSinceUs === null &&
    !latest
  );
}

const rankOf = { subject: (facet: number) => facet, placement: (facet: number) => ((facet & 7) << 3) | (facet >> 3) };

/** Conditions on a learner `d`, which let through whoever is in the filter's groups and in sight, or everybody. */
function among(builder: StatementBuilder, { filter }: Look, { members }: Within): string {
  if (!members) return 'true';
  const ids = [...filter.groupIds.map((id) => [id]), ...(filter.visibility === null ? [] : [filter.visibility])];
  return ids.map((some) => amongMembers('d.learner_id', `${builder.bind(some)}::uuid[]`)).join(' and ');
}

/** Rows of a driver, for the `from` of a page: `f` is a row of the feed. */
function driven(builder: StatementBuilder, look: Look, drive: Drive, within: Within): string {
  const { filter, sort, descending, after, limit } = look;
  const way = descending ? ' desc' : '';
  const beyond = descending ? '<' : '>';
  const bound = (columns: string, place: ResultPlace | null, compare: string) =>
    place === null
      ? ''
      : ` and (${columns}) ${compare} (${place.map((value, i) => `${builder.bind(value)}::${keys[sort][i]![1]}`).join(', ')})`;
  if (drive.by === 'sets')
    return `unnest(${builder.bind(drive.groupSets)}::uuid[]) s(id),
      lateral (select * from assessment_feed n where n.organisation_id = $1 and n.group_set_id = s.id${range(builder, 'n.position', filter.changedSinceUs, null)} offset 0) f`;
  if (drive.by === 'facets')
    return `unnest(${builder.bind(drive.facets)}::int2[]) s(id),
      lateral (select * from assessment_feed n where n.organisation_id = $1 and n.facet = s.id${range(builder, 'n.position', filter.changedSinceUs, null)} offset 0) f`;
  if (drive.by === 'changes')
    return `(select * from assessment_feed f where f.organisation_id = $1 and not f.deleted${range(builder, 'f.position', filter.changedSinceUs ?? 0, null)} order by f.position limit ${maxGathered}) f`;
  // What the index holds is enough, unless the filter asks for more.
  const columns = `learner_id, assessment_id, assessed_at, facet${needsBody(look) ? ', source, body' : ''}`;
  // No more rows than these are there, and with a limit a plan that was made for any values follows the index, too.
  const max = drive.by === 'days' ? maxGathered : drive.by === 'walk' ? drive.max : maxSorted;
  // What the index says is asked of all that is looked through, before the feed is looked into.
  const assessed = (more: string, order: string) => {
    const ofFacets = filter.facets === null ? 'true' : `d.facet = any(${builder.bind(filter.facets)}::int2[])`;
    return `(select * from (select ${columns} from assessment d where d.organisation_id = $1${range(builder, 'd.assessed_at', filter.assessedFromUs, filter.assessedBeforeUs)}${more} order by ${order} limit ${max}) d where ${ofFacets} and ${among(builder, look, within)}) a, ${feedOf('a')}`;
  };
  if (drive.by === 'days') return assessed('', 'd.assessed_at, d.assessment_id');
  if (drive.by === 'newest') {
    const end =
      drive.end === null
        ? ''
        : ` and (d.assessed_at, d.assessment_id) >= (${builder.bind(drive.end[0])}::int8, ${builder.bind(drive.end[1])}::uuid)`;
    return assessed(end, 'd.assessed_at desc, d.assessment_id desc');
  }
  if (sort === 'assessed') {
    const place = 'd.assessed_at, d.assessment_id';
    return assessed(bound(place, after, beyond), `d.assessed_at${way}, d.assessment_id${way}`);
  }
  if (sort === 'changed')
    return `(select * from assessment_feed f where f.organisation_id = $1${range(builder, 'f.position', filter.changedSinceUs, null)}${bound('f.position', after, beyond)} order by f.position${way} limit ${max}) f`;
  const rank = rankOf[sort as 'subject' | 'placement'];
  const facets = [...(filter.facets ?? allFacets)].sort((x, y) => (descending ? -1 : 1) * (rank(x) - rank(y)));
  const from =
    after === null
      ? facets
      : facets.filter((one) => (descending ? rank(one) <= Number(after[0]) : rank(one) >= Number(after[0])));
  const ranks = builder.bind(from.map(rank));
  const rest =
    after === null
      ? ''
      : ` and (s.rank <> ${builder.bind(after[0])}::int4 or n.position ${beyond} ${builder.bind(after[1])}::int8)`;
  return `unnest(${builder.bind(from)}::int2[], ${ranks}::int4[]) s(id, rank),
    lateral (select * from assessment_feed n where n.organisation_id = $1 and n.facet = s.id and not n.deleted${rest} order by n.position${way} limit ${limit}) f`;
}

/**
 * So many are gathered for a page, so many of the latest are sorted by what no index has, and so many are looked through
 * by a walk, at most.
 */
export const maxGathered = 5000;
export const maxSorted = 2000;
/** Of sets of groups, whose rows an index finds: before levels narrow them. */
const maxOfSets = 30_000;
/** Gathered where nothing is read beside each of them and no walk could follow an index instead. */
const maxGatheredPlain = 12_000;
/** Gathered where each is compared with what else its learner has. */
const maxCompared = 2000;
const maxWalked = { min: 3000, changed: 12_000, assessed: 40_000 };
/** A walk goes so far that about so many are met whom groups and levels let through. */
const maxMet = 1500;
/** With no more results than these in the groups, a walk asks first whether a learner is a member. */
export const maxOfMembers = 300_000;
/** Looked through where the whole of each result has to be read. */
const maxRead = 3000;

/**
 * How many live results there are: in groups and levels, in the groups, in the levels, and altogether; null where nothing is
 * asked for, or while not all are counted.
 */
export type Counts = { cells: number; inSets: number | null; inFacets: number | null; total: number };

/** How many may be gathered by days, changes or levels, and how many by sets of groups. */
export function maxOf(look: Look, groupSets: GroupSets, counts: Counts): { times: number; sets: number } {
  const times = look.filter.latest ? maxCompared : maxGathered;
  if ((counts.inSets ?? 0) > maxOfSets) return { times, sets: 0 };
  const isPlain = groupSets !== null && look.sort !== 'learner' && !needsBody(look) && !canWalk(look, groupSets);
  return { times, sets: isPlain && !look.filter.latest ? maxGatheredPlain : times };
}

/** How far a walk goes: the rarer what it looks for, the further, because what is passed over costs little. */
export function walkOf(look: Look, counts: Counts): Drive {
  if (needsBody(look)) return { by: 'walk', max: maxRead };
  const reaching = Math.ceil((maxMet * counts.total) / Math.max(1, counts.cells));
  const furthest = look.sort === 'assessed' ? maxWalked.assessed : maxWalked.changed;
  return { by: 'walk', max: Math.min(furthest, Math.max(maxWalked.min, reaching)) };
}

/** Whether more of a result is needed than the feed says. */
export const needsBody = ({ filter, sort }: Look) =>
  filter.flag !== null || filter.source !== null || sort === 'flags' || sort === 'source';

/** In a walk, the order of the index, so that nothing is sorted and reading ends with the page. */
function orderOf({ sort, descending }: Look, drive: Drive): string {
  const way = descending ? ' desc' : '';
  if (drive.by !== 'walk') return keys[sort].map((_, i) => `k${i}${way}`).join(', ');
  const columns = sort === 'assessed' ? ['a.assessed_at', 'a.assessment_id'] : keys[sort].map(([sql]) => sql);
  return columns.map((column) => column + way).join(', ');
}

/** A statement with its values. */
export type Asked = { name: string; text: string; values: unknown[] };

/** One page of results with what is shown of each, in the order of the sort. */
export function pageOf(look: Look, within: Within, drive: Drive): Asked {
  const { sort, descending, after, limit } = look;
  const way = descending ? ' desc' : '';
  const builder = new StatementBuilder(look.organisationId);
  const from = driven(builder, look, drive, within);
  const fromAssessments = drive.by === 'days' || drive.by === 'newest' || (drive.by === 'walk' && sort === 'assessed');
  const assessment = needsBody(look) && !fromAssessments ? `, ${assessmentOf}` : '';
  const learner = sort === 'learner' ? ', learner l' : '';
  let where = residual(builder, look, within.groupSets, drive.by);
  if (sort === 'learner') where += ' and l.organisation_id = $1 and l.learner_id = f.learner_id';
  // A walk begins after the place by itself.
  if (after !== null && drive.by !== 'walk') where += ` and ${beyondPlace(builder, look, after)}`;
  const order = (prefix: string) => keys[sort].map((_, i) => `${prefix}k${i}${way}`).join(', ');
  const inner = `
    select f.learner_id, f.assessment_id, f.position, f.assessed_at, f.facet, f.group_set_id, ${keys[sort].map(([sql], i) => `${sql} as k${i}`).join(', ')}
      from ${from}${assessment}${learner}
     where ${where}
     order by ${orderOf(look, drive)} limit ${limit}`;
  const text = `
    select c.learner_id, c.assessment_id, c.position, c.assessed_at, c.facet, c.group_set_id, ${placed(sort)},
           a.source, a.body, a.report_sha256, l.ref, l.full_name, h.at as change_at, h.actor as change_actor, h.reason as change_reason
      from (${inner}) c
      join lateral (select n.source, n.body, n.report_sha256 from assessment n where n.organisation_id = $1 and n.assessment_id = c.assessment_id offset 0) a on true
      join lateral (select n.ref, n.full_name from learner n where n.organisation_id = $1 and n.learner_id = c.learner_id offset 0) l on true
      left join lateral ${lastChangeOf('c.assessment_id')} h on true
     order by ${order('c.')}`;
  return { name: `result.browse.${hash('sha256', text, 'base64url').slice(0, 20)}`, text, values: builder.values };
}

/** What of the keys a place holds: an address must not hold a name. */
const placed = (sort: ResultSort) =>
  sort === 'learner'
    ? 'array[c.k1::text] as place'
    : `array[${keys[sort].map((_, i) => `c.k${i}::text`).join(', ')}] as place`;

/** A place whose learner is not in sight is the beginning: nobody learns from it where a name stands. */
function beyondPlace(builder: StatementBuilder, { filter, sort, descending }: Look, after: ResultPlace): string {
  const columns = keys[sort].map(([sql]) => sql).join(', ');
  const compare = descending ? '<' : '>';
  if (sort !== 'learner')
    return `(${columns}) ${compare} (${after.map((value, i) => `${builder.bind(value)}::${keys[sort][i]![1]}`).join(', ')})`;
  const id = builder.bind(after[0]);
  const seen =
    filter.visibility === null ? '' : ` and ${isVisibleLearner('q.learner_id', builder.bind(filter.visibility))}`;
  return `coalesce((${columns}) ${compare} ((select lower(p.full_name) from assessment q join learner p on p.organisation_id = $1 and p.learner_id = q.learner_id
     where q.organisation_id = $1 and q.assessment_id = ${id}::uuid${seen}), ${id}::uuid), true)`;
}

/** The types of the parts that a place of this sort has: uuid, int4 or int8. */
export const placeParts = (sort: ResultSort): string[] =>
  sort === 'learner' ? ['uuid'] : keys[sort].map(([, type]) => type);

/** The place up to which a walk looks through `most` rows; no row: there are fewer. */
export function windowEnd(look: Look, by: 'assessed' | 'changed', max: number): Asked {
  const { filter, after } = look;
  const descending = look.descending;
  const way = descending ? ' desc' : '';
  const compare = descending ? '<' : '>';
  const builder = new StatementBuilder(look.organisationId);
  const columns = by === 'assessed' ? 'f.assessed_at, f.assessment_id' : 'f.position';
  const parts = keys[by].map(([, type]) => type);
  const begin =
    after === null || look.sort !== by
      ? ''
      : ` and (${columns}) ${compare} (${after.map((value, i) => `${builder.bind(value)}::${parts[i]}`).join(', ')})`;
  const keyScope =
    by === 'assessed'
      ? range(builder, 'f.assessed_at', filter.assessedFromUs, filter.assessedBeforeUs)
      : range(builder, 'f.position', filter.changedSinceUs, null);
  const text = `select array[${keys[by].map(([sql]) => `${sql}::text`).join(', ')}] as place from ${by === 'assessed' ? 'assessment' : 'assessment_feed'} f
    where f.organisation_id = $1${keyScope}${begin} order by ${keys[by].map(([sql]) => sql + way).join(', ')} offset ${max - 1} limit 1`;
  return { name: `result.window.${hash('sha256', text, 'base64url').slice(0, 20)}`, text, values: builder.values };
}
