import { payloadVersionAt } from '../../../platform/db/payload-version.ts';
import { StatementBuilder } from '../../../platform/db/statement-builder.ts';

/**
 * The statements of GET /assessments. Each combination of filters and access path has its own text
 * (docs/decisions/0002).
 */

export type AssessmentFilter = {
  sinceUs: number | null;
  /** A reference, and its hashes, by which the tombstones of erased learners are found. */
  learner: { ref: string; hashes: Buffer[] } | null;
  facets: number[] | null;
  assessedFromUs: number | null;
  assessedToUs: number | null;
  /** Null: results and tombstones. */
  status: 'completed' | 'deleted' | null;
  groupIds: readonly string[] | null;
  sort: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
};

export type PageRequest = {
  organisationId: number;
  filter: AssessmentFilter;
  after: { value: number; id: string } | null;
  /** The most rows to read: one more than the page shows, because the extra row proves that another page follows. */
  limit: number;
  /** The last position to read, in position order. Null: the page has no end. */
  to?: number | null;
};

/** How a page finds its rows. Every path gives the same page, but the paths differ in the rows that they read. */
export type AccessPath =
  /** Reads rows in the page's order. */
  | { by: 'position' }
  /** Reads a limited number of rows in the page's order. This path suits filters that match many rows. */
  | { by: 'window' }
  /** Merges ordered scans, one for each key. */
  | { by: 'facet'; keys: number[] }
  | { by: 'group_set_id'; keys: string[] }
  /**
   * Merges ordered scans, one for each day. If `keys` is null, the first rows of every day are collected and sorted.
   */
  | { by: 'assessed_day'; keys: number[] | null }
  /** Reads all results of the learners, and sorts the results. */
  | { by: 'learner'; keys: string[] };

/** The filter's groups and learner as conditions on database rows. */
export type PageScope = {
  /** Group sets of the matching rows. Null: every set matches. */
  groupSets: string[] | null;
  hasExits: boolean;
  /** Learners whose scope exits match. Null: every learner matches. */
  learnerIds: string[] | null;
};

/** Whether the filter has any condition besides the named conditions. */
export function hasOther(filter: AssessmentFilter, ...named: (keyof AssessmentFilter)[]): boolean {
  return Object.entries(filter).some(([name, value]) => value !== null && !(named as string[]).includes(name));
}

export function direction({ sort }: AssessmentFilter) {
  return { descending: sort.startsWith('-'), byAssessed: sort.endsWith('assessed_at') };
}

/** Where a page in position order begins. Positions are integers, so the next position is one more or one less. */
export function beginsAt({ filter, after }: PageRequest): number {
  if (direction(filter).descending) return after === null ? Number.MAX_SAFE_INTEGER : after.value - 1;
  return after === null ? (filter.sinceUs ?? 0) : after.value + 1;
}

export const dayOf = (us: number) => Math.trunc(us / 86_400_000_000);

/** How many rows a window has for each entry of the page. */
export const windowRows = 40;

/**
 * The most keys that are read with one scan each. A lateral join reads longer lists: it cannot stop early, but
 * PostgreSQL plans it quickly.
 */
export const maxMerged = 32;

const columns =
  'f.position, f.assessment_id, f.learner_id, f.assessed_at, f.deleted, f.group_set_id, false as exit, f.first_position';

function orderOf({ filter }: PageRequest, row: string): string {
  const { descending, byAssessed } = direction(filter);
  const way = descending ? ' desc' : '';
  return byAssessed ? `${row}.assessed_at${way}, ${row}.assessment_id${way}` : `${row}.position${way}`;
}

function condition(builder: StatementBuilder, note: string, value: unknown, text: (bound: string) => string): string {
  if (value === null) return '';
  builder.note(note);
  return ` and ${text(builder.bind(value))}`;
}

function assessedRange(builder: StatementBuilder, { filter }: PageRequest, row: string): string {
  return (
    condition(builder, 'af', filter.assessedFromUs, (us) => `${row}.assessed_at >= ${us}`) +
    condition(builder, 'at', filter.assessedToUs, (us) => `${row}.assessed_at <= ${us}`)
  );
}

function rangeOf(builder: StatementBuilder, page: PageRequest, row: string): string {
  const { descending, byAssessed } = direction(page.filter);
  const { after, to = null } = page;
  const [beyond, before] = descending ? ['<', '>'] : ['>', '<'];
  if (!byAssessed)
    return (
      ` and ${row}.position ${beyond}= ${builder.bind(beginsAt(page))}` +
      condition(builder, 'to', to, (position) => `${row}.position ${before}= ${position}`)
    );
  const place = `(${row}.assessed_at, ${row}.assessment_id) ${beyond}`;
  const id = after === null ? '' : `${builder.bind(after.id)}::uuid`;
  return (
    assessedRange(builder, page, row) +
    condition(builder, 'after', after?.value ?? null, (value) => `${place} (${value}::int8, ${id})`)
  );
}

/** The filter's conditions on a row. A scope exit has its own facet and time, but its status comes from the feed. */
function conditionsOf(builder: StatementBuilder, page: PageRequest, row: 'e' | 'f', by?: AccessPath['by']): string {
  const { facets, status } = page.filter;
  const range = direction(page.filter).byAssessed ? '' : assessedRange(builder, page, row);
  const levels = by === 'facet' ? null : facets;
  const sql = range + condition(builder, 'f', levels, (some) => `${row}.facet = any(${some}::int2[])`);
  if (status === null) return sql;
  builder.note(status);
  return `${sql} and ${status === 'deleted' ? 'f.deleted' : 'not f.deleted'}`;
}

/**
 * Makes one scan for each key. The number of scans is a power of two, so that there are few texts; surplus scans find
 * no rows.
 */
function scansOf(builder: StatementBuilder, list: string, keys: readonly unknown[], scan: (key: string) => string) {
  let scans = 1;
  while (scans < keys.length) scans *= 2;
  builder.note(scans);
  return Array.from({ length: scans }, (_, i) => scan(`(${list})[${i + 1}]`)).join(' union all ');
}

/** SQL for the page's rows without their texts. Rows of several scans are not sorted yet. */
function streamOf(builder: StatementBuilder, page: PageRequest, path: AccessPath, scope: PageScope, limit: string) {
  const range = rangeOf(builder, page, 'f');
  let wanted = `f.organisation_id = $1${range}${conditionsOf(builder, page, 'f', path.by)}`;
  // With "is true", PostgreSQL looks each row up in a hash table. "any" would compare each row with thousands of sets.
  const inSets = (sets: string) => `(f.group_set_id in (select unnest(${sets}::uuid[]))) is true`;
  wanted += condition(builder, 'gs', path.by === 'group_set_id' ? null : scope.groupSets, inSets);
  const scan = (from: string, more: string, row = 'f') =>
    `(select ${columns} from ${from} where ${wanted}${more} order by ${orderOf(page, row)} limit ${limit})`;
  const ofEach = (keys: string, column: string) => {
    builder.note('lateral');
    return `(select x.* from ${keys} k(key), lateral ${scan('assessment_feed f', ` and f.${column} = k.key`)} x order by ${orderOf(page, 'x')} limit ${limit})`;
  };
  if (path.by === 'position') return scan('assessment_feed f', '');
  if (path.by === 'learner')
    return scan('assessment_feed f', ` and f.learner_id = any(${builder.bind(path.keys)}::uuid[])`);
  if (path.by === 'window')
    return scan(windowOf(page, range, limit), '', direction(page.filter).byAssessed ? 'd' : 'f');
  if (path.keys === null) return ofEach(daysOf(builder, page), path.by);
  const list = `${builder.bind(path.keys)}::${keyTypes[path.by]}[]`;
  if (path.keys.length > maxMerged) return ofEach(`unnest(${list})`, path.by);
  return scansOf(builder, list, path.keys, (key) => scan('assessment_feed f', ` and f.${path.by} = ${key}`));
}

const keyTypes = { facet: 'int2', group_set_id: 'uuid', assessed_day: 'int4' };

/** The days between the filter's times. Days before the first result or after the last result are left out. */
function daysOf(builder: StatementBuilder, { filter }: PageRequest): string {
  builder.note('days');
  const [from, to] = [filter.assessedFromUs, filter.assessedToUs].map((us) =>
    builder.bind(us === null ? null : dayOf(us)),
  );
  const end = (of: 'min' | 'max') => `(select ${of}(assessed_day) from assessment_feed where organisation_id = $1)`;
  return `generate_series(greatest(${from}::int4, ${end('min')}), least(${to}::int4, ${end('max')}))`;
}

/** The next rows in the page's order. For assessed_at, the rows come from `assessment`, which has an index for it. */
function windowOf(page: PageRequest, range: string, limit: string): string {
  const rows = `f.organisation_id = $1${range} order by ${orderOf(page, 'f')} limit ${limit} * ${windowRows}`;
  if (!direction(page.filter).byAssessed) return `(select * from assessment_feed f where ${rows}) f`;
  return `(select f.learner_id, f.assessment_id, f.assessed_at from assessment f where ${rows}) d,
     lateral (select * from assessment_feed n where n.organisation_id = $1 and n.learner_id = d.learner_id and n.assessment_id = d.assessment_id offset 0) f`;
}

/**
 * Reads scope exits: results whose learner left a requested group and is in no requested group now, even if the result
 * was withdrawn later. src/feed/scope-exits.ts stores one exit for each group; a page shows a result's newest exit.
 */
function exitsOf(builder: StatementBuilder, page: PageRequest, learnerIds: string[] | null, limit: string): string {
  const groupIds = page.filter.groupIds!;
  builder.note(learnerIds === null ? 'exits' : 'exits_of_learner');
  const groups = `${builder.bind(groupIds)}::uuid[]`;
  const conditions = `${rangeOf(builder, page, 'e')}${conditionsOf(builder, page, 'e')}`;
  let newest = '';
  if (groupIds.length > 1) {
    builder.note('newest');
    newest = ` and not exists (select from scope_exit l
           where l.organisation_id = $1 and l.learner_id = e.learner_id and l.assessment_id = e.assessment_id
             and l.group_id = any(${groups}) and (l.position, l.group_id) > (e.position, e.group_id))`;
  }
  // The row's own group set is checked, because the requested groups can have thousands of group sets.
  const scan = (which: string) => `
    (select e.position, e.assessment_id, e.learner_id, e.assessed_at, f.deleted, f.group_set_id, not f.deleted as exit, null::int8 as first_position
       from scope_exit e, lateral (
         select n.deleted, n.group_set_id from assessment_feed n
          where n.organisation_id = $1 and n.learner_id = e.learner_id and n.assessment_id = e.assessment_id offset 0) f
      where e.organisation_id = $1 and ${which}${conditions}${newest}
        and not (select s.group_ids && ${groups} from group_set s where s.organisation_id = $1 and s.group_set_id = f.group_set_id)
      order by e.position limit ${limit})`;
  if (learnerIds !== null)
    return scan(`e.learner_id = any(${builder.bind(learnerIds)}::uuid[]) and e.group_id = any(${groups})`);
  return scansOf(builder, groups, groupIds, (key) => scan(`e.group_id = ${key}`));
}

/**
 * The statement of a page: first the rows without texts, then their texts. Texts are found by first position, because
 * neighbours share disk pages (docs/decisions/0002). "offset 0" keeps the planner from reading every text.
 */
export function pageStatement(page: PageRequest, path: AccessPath, scope: PageScope) {
  const builder = new StatementBuilder(page.organisationId);
  const { descending, byAssessed } = direction(page.filter);
  builder.note(path.by);
  if (byAssessed) builder.note('by_assessed');
  if (descending) builder.note('desc');
  const limit = builder.bind(page.limit);
  let rows = streamOf(builder, page, path, scope, limit);
  if (scope.hasExits) rows += ` union all ${exitsOf(builder, page, scope.learnerIds, limit)}`;
  const text = `
    select c.position, c.assessment_id, c.learner_id, c.assessed_at, c.deleted, c.exit, c.group_set_id,
           ${payloadVersionAt('c.position')} as shape, v.groups_version, a.report_sha256, a.learner, a.body
      from (select * from (${rows}) s order by ${orderOf(page, 's')} limit ${limit}) c
      join feed v on v.organisation_id = $1
      left join lateral (
        select a.report_sha256, a.learner, a.body from assessment a
         where a.organisation_id = $1 and a.first_position = c.first_position offset 0) a on true
     order by ${orderOf(page, 'c')}`;
  return { name: `assessment.page.${builder.name}`, text, values: builder.values };
}
