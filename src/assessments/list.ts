import type { Database, Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { shapeAt } from '../db/shape.ts';

/** The filters of GET /assessments as the feed reads them; times are microseconds since 1970. */
export type AssessmentFilter = {
  sinceUs: number | null;
  learnerRef: string | null;
  facets: number[] | null;
  assessedFromUs: number | null;
  assessedToUs: number | null;
  /** Null: both. */
  status: 'completed' | 'deleted' | null;
  groupIds: string[] | null;
  sort: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
};

/** One entry of a page, in the page's order. A body of null belongs to a tombstone; `exit` to a learner that left the requested groups. */
export type FeedRow = {
  position: number;
  assessment_id: string;
  learner_id: string;
  /** The shape that it is shown in (src/db/shape.ts). */
  shape: number;
  assessed_at: number;
  deleted: boolean;
  exit: boolean;
  group_set_id: string;
  learner: string | null;
  body: string | null;
  report_sha256: string | null;
};

/** `groupsVersion`: the organisation's, in the rows' own snapshot; 0 without rows. */
export type FeedPage = { rows: FeedRow[]; groupsVersion: number };

/** Arms of a merge; a longer list of keys is probed by a lateral join instead, which can't stop early but plans at once. */
const mostArms = 32;

/** Feed rows after the cursor that are looked through before a selective plan is tried: enough for any dense filter. */
const window = 4096;

/** Days that a merge over days may span. */
const mostDays = 400;

type Plan = { sql: string; name: string };

const fromOrganisation = 'f.organisation_id = $1';

/** Collects bound values and the names of the shapes that they stand in. */
class Shape {
  values: unknown[];
  #name: string[] = [];
  constructor(organisationId: number) {
    this.values = [organisationId];
  }
  bind(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
  note(part: string): void {
    this.#name.push(part);
  }
  get name(): string {
    return this.#name.join('.');
  }
}

/** The conditions beside the driver's own, on the narrow feed rows. */
function residual(
  shape: Shape,
  filter: AssessmentFilter,
  options: { facets: boolean; groupSets: string[] | null; learnerId: string | null },
): string {
  let sql = '';
  if (options.facets && filter.facets !== null) {
    shape.note('f');
    sql += ` and f.facet = any(${shape.bind(filter.facets)}::int2[])`;
  }
  if (filter.assessedFromUs !== null) {
    shape.note('af');
    sql += ` and f.assessed_at >= ${shape.bind(filter.assessedFromUs)}`;
  }
  if (filter.assessedToUs !== null) {
    shape.note('at');
    sql += ` and f.assessed_at <= ${shape.bind(filter.assessedToUs)}`;
  }
  if (filter.status !== null) {
    shape.note(filter.status);
    sql += filter.status === 'deleted' ? ' and f.deleted' : ' and not f.deleted';
  }
  if (options.groupSets !== null) {
    shape.note('gs');
    sql += ` and f.group_set_id = any(${shape.bind(options.groupSets)}::uuid[])`;
  }
  if (options.learnerId !== null) {
    shape.note('l');
    sql += ` and f.learner_id = ${shape.bind(options.learnerId)}`;
  }
  return sql;
}

const narrow = 'f.position, f.assessment_id, f.learner_id, f.assessed_at, f.deleted, f.group_set_id';

/** Between the parts of a row: a control character, which JSON never holds unescaped. */
const between = '\u001f';

/**
 * Wraps a stream of narrow rows: the page's limit, the bodies, and the groups' version in the same snapshot. A row
 * travels as one text, which costs driver and database a third less than ten columns (bench/pages.ts); a tombstone's
 * lacks the last two parts. "offset 0" keeps the planner from reading every body and joining them to the page.
 */
function wrap(stream: string, order: string, limit: string): string {
  return `
    select concat_ws('${between}', c.assessment_id, c.group_set_id, c.learner_id, c.deleted, ${shapeAt('c.position')}, c.position, c.assessed_at,
             v.groups_version, coalesce(a.report_sha256, ''), a.learner, a.body)
      from (select * from (${stream}) s order by ${order} limit ${limit}) c
      join feed v on v.organisation_id = $1
      left join lateral (
        select a.report_sha256, a.learner, a.body from assessment a where a.organisation_id = $1 and a.assessment_id = c.assessment_id offset 0) a on true
     order by ${order.replaceAll('s.', 'c.')}`;
}

type Walk = {
  organisationId: number;
  filter: AssessmentFilter;
  /** Exclusive; null at the start. */
  after: { value: number; id: string } | null;
  limit: number;
};

function direction(filter: AssessmentFilter) {
  const descending = filter.sort.startsWith('-');
  return { descending, by: filter.sort.endsWith('assessed_at') ? ('assessed_at' as const) : ('position' as const) };
}

/** The position bound of a walk in position order: positions are whole and unique, so "after" is one step further. */
function positionBound(shape: Shape, walk: Walk): string {
  if (direction(walk.filter).descending) {
    shape.note('desc');
    return ` and f.position <= ${shape.bind(walk.after === null ? Number.MAX_SAFE_INTEGER : walk.after.value - 1)}`;
  }
  return ` and f.position >= ${shape.bind(walk.after === null ? (walk.filter.sinceUs ?? 0) : walk.after.value + 1)}`;
}

/** A merge of ordered scans, one for each key. */
function merged(
  shape: Shape,
  keyColumn: string,
  type: string,
  keys: (number | string)[],
  bound: string,
  rest: string,
  order: string,
  limit: string,
): string {
  const scan = (key: string) =>
    `select ${narrow} from assessment_feed f where ${fromOrganisation} and f.${keyColumn} = ${key}${bound}${rest} order by ${order} limit ${limit}`;
  if (keys.length > mostArms) {
    shape.note(`${keyColumn}.lateral`);
    return `select x.* from unnest(${shape.bind(keys)}::${type}[]) as k(key), lateral (${scan('k.key')}) x`;
  }
  let arms = 1;
  while (arms < keys.length) arms *= 2;
  shape.note(`${keyColumn}.${arms}`);
  const list = shape.bind(Array.from({ length: arms }, (_, i) => keys[i] ?? null));
  // Each arm's key is a scalar of one bound array; arms without a key find nothing.
  return Array.from({ length: arms }, (_, i) => `(${scan(`(${list}::${type}[])[${i + 1}]`)})`).join(' union all ');
}

type Drive =
  | { by: 'position' }
  | { by: 'facet'; keys: number[] }
  | { by: 'group_set_id'; keys: string[] }
  | { by: 'assessed_day'; keys: number[] }
  | { by: 'learner'; learnerId: string };

function positionPlan(walk: Walk, drive: Drive, groupSets: string[] | null): { plan: Plan; values: unknown[] } {
  const { filter } = walk;
  const { descending } = direction(filter);
  const shape = new Shape(walk.organisationId);
  shape.note(drive.by);
  const limit = shape.bind(walk.limit);
  const bound = positionBound(shape, walk);
  const order = `f.position${descending ? ' desc' : ''}`;
  const rest = residual(shape, filter, {
    facets: drive.by !== 'facet',
    groupSets: drive.by === 'group_set_id' ? null : groupSets,
    learnerId: drive.by === 'learner' ? drive.learnerId : null,
  });
  let stream: string;
  if (drive.by === 'facet') stream = merged(shape, 'facet', 'int2', drive.keys, bound, rest, order, limit);
  else if (drive.by === 'group_set_id')
    stream = merged(shape, 'group_set_id', 'uuid', drive.keys, bound, rest, order, limit);
  else if (drive.by === 'assessed_day')
    stream = merged(shape, 'assessed_day', 'int4', drive.keys, bound, rest, order, limit);
  else
    stream = `select ${narrow} from assessment_feed f where ${fromOrganisation}${bound}${rest} order by ${order} limit ${limit}`;
  return {
    plan: { sql: wrap(stream, `s.position${descending ? ' desc' : ''}`, limit), name: `assessment.page.${shape.name}` },
    values: shape.values,
  };
}

/** The same page looked for in the next feed rows only. */
function windowPlan(walk: Walk, groupSets: string[] | null): { plan: Plan; values: unknown[] } {
  const { descending } = direction(walk.filter);
  const shape = new Shape(walk.organisationId);
  shape.note('window');
  const limit = shape.bind(walk.limit);
  const bound = positionBound(shape, walk);
  const rest = residual(shape, walk.filter, { facets: true, groupSets, learnerId: null });
  const order = `position${descending ? ' desc' : ''}`;
  const stream = `select ${narrow} from (select * from assessment_feed f where ${fromOrganisation}${bound} order by f.${order} limit ${window}) f where true${rest} order by f.${order} limit ${limit}`;
  return {
    plan: { sql: wrap(stream, `s.${order}`, limit), name: `assessment.page.${shape.name}` },
    values: shape.values,
  };
}

/**
 * A page in the order of assessed_at. `near` looks at the next rows in that order only; without it every row that fits
 * the filter is gathered and sorted, which is right for the filters that let few through.
 */
function assessedPlan(
  walk: Walk,
  groupSets: string[] | null,
  learnerId: string | null,
  near: boolean,
): { plan: Plan; values: unknown[] } {
  const { descending } = direction(walk.filter);
  const way = descending ? ' desc' : '';
  const shape = new Shape(walk.organisationId);
  shape.note(`${near ? 'near_assessed' : 'assessed'}${way.trim()}`);
  const limit = shape.bind(walk.limit);
  let bound = '';
  if (walk.after !== null) {
    shape.note('after');
    bound = ` and (f.assessed_at, f.assessment_id) ${descending ? '<' : '>'} (${shape.bind(walk.after.value)}::int8, ${shape.bind(walk.after.id)}::uuid)`;
  }
  const order = `f.assessed_at${way}, f.assessment_id${way}`;
  let from = 'assessment_feed f';
  if (near) {
    const { assessedFromUs, assessedToUs } = walk.filter;
    let range = bound;
    if (assessedFromUs !== null) range += ` and f.assessed_at >= ${shape.bind(assessedFromUs)}`;
    if (assessedToUs !== null) range += ` and f.assessed_at <= ${shape.bind(assessedToUs)}`;
    const { facets, status } = walk.filter;
    const every = facets === null && status === null && groupSets === null;
    if (every) shape.note('every');
    from = `(select f.learner_id, f.assessment_id from assessment f where ${fromOrganisation}${range} order by ${order} limit ${every ? limit : window}) d,
      lateral (select * from assessment_feed n where n.organisation_id = $1 and n.learner_id = d.learner_id and n.assessment_id = d.assessment_id offset 0) f`;
  }
  const rest = residual(shape, walk.filter, { facets: true, groupSets, learnerId });
  const stream = `select ${narrow} from ${from} where ${fromOrganisation}${bound}${rest} order by ${order} limit ${limit}`;
  return {
    plan: {
      sql: wrap(stream, `s.assessed_at${way}, s.assessment_id${way}`, limit),
      name: `assessment.page.${shape.name}`,
    },
    values: shape.values,
  };
}

/** Where the parts of fixed length begin in a row's text. */
const groupSetAt = 37,
  learnerAt = 74,
  deletedAt = 111,
  shownAs = 113;

/** Reads what `wrap` joined. */
function readRow(text: string): FeedRow & { groupsVersion: number } {
  const position = text.indexOf(between, shownAs) + 1;
  const assessedAt = text.indexOf(between, position) + 1;
  const version = text.indexOf(between, assessedAt) + 1;
  const sha256 = text.indexOf(between, version) + 1;
  const learner = text.indexOf(between, sha256) + 1;
  const body = text.indexOf(between, learner) + 1;
  const live = learner > 0;
  return {
    assessment_id: text.slice(0, groupSetAt - 1),
    group_set_id: text.slice(groupSetAt, learnerAt - 1),
    deleted: text[deletedAt] === 't',
    exit: false,
    learner_id: text.slice(learnerAt, deletedAt - 1),
    shape: Number(text.slice(shownAs, position - 1)),
    position: Number(text.slice(position, assessedAt - 1)),
    assessed_at: Number(text.slice(assessedAt, version - 1)),
    groupsVersion: Number(text.slice(version, sha256 - 1)),
    report_sha256: live && learner - 1 > sha256 ? text.slice(sha256, learner - 1) : null,
    learner: live ? text.slice(learner, body - 1) : null,
    body: live ? text.slice(body) : null,
  };
}

async function runPlan(tx: Tx, { plan, values }: { plan: Plan; values: unknown[] }): Promise<FeedPage> {
  const texts = await tx.query<[string]>({ ...statement(plan.name, plan.sql), arrays: true }, values);
  const rows = texts.map(([text]) => readRow(text));
  return { rows, groupsVersion: rows[0]?.groupsVersion ?? 0 };
}

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

/**
 * Learners that left one of the requested groups at or after `since`: their live assessments leave the scope unless the
 * learner is in one of the groups again, and what was deleted while they were away is a tombstone, even if they are
 * back. Both show in the set of groups that the feed row has: a live one's is the learner's, a deleted one's is that of
 * the deletion. The exit stands where the assessment stands: leaving gave it a new position. "Has an assessment after
 * the cursor" and "in none of the groups" are conditions inside the limited part.
 */
function exitPlan(walk: Walk, groupSets: string[], learnerId: string | null): { plan: Plan; values: unknown[] } {
  const shape = new Shape(walk.organisationId);
  shape.note('exit');
  const limit = shape.bind(walk.limit);
  const groups = shape.bind(walk.filter.groupIds);
  const since = shape.bind(walk.filter.sinceUs);
  const inScope = shape.bind(groupSets);
  const bound = positionBound(shape, walk);
  const rest = residual(shape, walk.filter, { facets: true, groupSets: null, learnerId });
  // "offset 0" keeps the planner from scanning the feed and looking for leavers, instead of the other way round.
  const stream = `
    select x.* from (
      select m.learner_id, min(m.left_position) as left_position from membership m
       where m.organisation_id = $1 and m.group_id = any(${groups}::uuid[]) and m.left_position >= ${since}
       group by m.learner_id) gone,
    lateral (select ${narrow} from assessment_feed f
       where ${fromOrganisation} and f.learner_id = gone.learner_id and f.position >= gone.left_position
         and f.group_set_id <> all(${inScope}::uuid[])${bound}${rest} offset 0) x
    order by x.position limit ${limit}`;
  return {
    plan: { sql: wrap(stream, 's.position', limit), name: `assessment.page.${shape.name}` },
    values: shape.values,
  };
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
        '00000000-0000-0000-0000-000000000000';
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
    const exits = (await runPlan(tx, exitPlan(walk, groupSets!, learnerId))).rows;
    for (const row of exits) row.exit = !row.deleted;
    return { ...page, rows: [...page.rows, ...exits].sort((a, b) => a.position - b.position).slice(0, limit) };
  });
}
