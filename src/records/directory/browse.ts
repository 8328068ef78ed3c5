import { lastAssessedOf } from '../results/last-assessed.ts';
import { type Statement, type Tx, statement } from '../../platform/db/database.ts';
import { type Visibility, amongMembers, isVisibleLearner } from '../../organisations/groups/visibility.ts';
import { isOpaqueRef } from '../../platform/validation/personal-data.ts';
import { type Subject, subjects } from '../../engine/scoring/levels.ts';
import { isUuid, nilUuid } from '../../platform/crypto/random.ts';
import { type InvitationState, newestInvitationState } from './invitation-state.ts';

export const learnerSorts = ['name', 'ref', 'changed'] as const;
export type LearnerSort = (typeof learnerSorts)[number];

/** The placements that a filter can name, each with its indexes in `levels` (src/records/results/facet.ts). */
export const placements = {
  below_level_1: [1, 2],
  below_entry: [1],
  entry: [2],
  level_1: [3],
  level_2: [4],
  level_3: [5],
  not_placed: [0],
} as const;

export type LearnerFilter = {
  /** The search text: words of a name, a learner's ID, or the beginning of a reference. */
  text: string | null;
  groupIds: readonly string[];
  /**
   * Only learners with a result in this subject. If `placement` is set, their newest result in it has this placement.
   */
  subject: Subject | null;
  placement: keyof typeof placements | null;
  /** The state of the learner's newest invitation. `none` selects learners without an invitation. */
  state: InvitationState | 'none' | null;
};

/** A page begins after this learner, or ends before this learner. Null: the first page. */
export type LearnerPageStart = { after: string } | { before: string } | null;

export type LearnerListed = {
  learner_id: string;
  ref: string | null;
  full_name: string;
  position: number;
  state: InvitationState | 'none';
  groups: string[];
  last_assessed_at: number | null;
  last_ids: string[] | null;
  last_bodies: string[] | null;
};

export type LearnerPage = {
  learners: LearnerListed[];
  previous: LearnerPageStart;
  next: LearnerPageStart;
  /**
   * `whole`: the page is complete. `looked`: the scan ended at its maximum, and more learners may match. `some`: the
   * search text matches too many learners, so the pages show only a part of these learners.
   */
  extent: 'whole' | 'scanned' | 'some';
  /** How many learners were scanned for this page, if more learners may match. */
  scanned: number;
};

/** A page scans at most this many learners, and a set of candidates has at most this size. */
export const maxScanned = 2000;
/** If groups have at most this many members, a page sorts all members. Otherwise it scans them in the page's order. */
const membersSorted = 3000;
/**
 * A scan of all learners checks the memberships of at most this many learners. If the page is then incomplete, a scan
 * of the members replaces it.
 */
const maxCheckedOneByOne = 500;
/**
 * If a set has at most this size, each learner's membership in a large group is checked separately. For a larger set,
 * the common members of two groups are read instead.
 */
const maxSetCheckedOneByOne = 500;
/** The most results that a page reads to decide whether only few learners have a placement. */
const resultsRead = 2 * maxScanned;

const textKey = {
  id: 'l.learner_id',
  type: 'text',
  from: `from learner l where l.organisation_id = $1 and l.full_name <> ''`,
  lowest: '',
  highest: '\u{10ffff}',
};
const keys: Record<LearnerSort, typeof textKey & { key: string }> = {
  name: { key: 'folded_name(l.full_name) collate "C"', ...textKey },
  ref: { key: `coalesce(lower(l.ref collate "C"), '~')`, ...textKey },
  changed: {
    key: 'f.position',
    id: 'f.learner_id',
    type: 'int8',
    from: 'from learner_feed f where f.organisation_id = $1 and not f.deleted',
    lowest: '0',
    highest: '9223372036854775807',
  },
};
const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** What a page scans: all learners, only members of the groups, or a set of candidates. */
type Source = 'all' | 'members' | 'set';

const conditions = `
  ($5::int4 is null and $6::int4[] is null or exists (
         select from (
           select distinct on (r.facet >> 3) r.facet from assessment_feed r
            where r.organisation_id = $1 and r.learner_id = l.learner_id and not r.deleted and ($5 is null or r.facet >> 3 = $5)
            order by r.facet >> 3, r.assessed_at desc, r.assessment_id desc) n
          where $6 is null or n.facet & 7 = any($6)))
  and ($7::text is null or case when $7 = 'none'
         then not exists (select from invitation i where i.organisation_id = $1 and i.learner_id = l.learner_id)
         else $7 = ${newestInvitationState('l.learner_id', '$8::timestamptz')} end)
  and ($9::text is null or l.learner_id = $11::uuid
        or exists (select from learner n where n.organisation_id = $1 and n.learner_id = l.learner_id
                      and (name_words(n.organisation_id, folded_name(n.full_name)) @@ (select name_query($1, folded_name($9)))
                           or starts_with(lower(n.ref collate "C"), $10::text)))
        or exists (select from learner_alias a where a.organisation_id = $1 and a.learner_id = l.learner_id and a.ref = $9))`;

/** A filter names at most one group and one team. Each adds its own condition to the statement. */
const maxGroups = 2;

/**
 * SQL that reads the visible learners after a key ($12) and ID ($13).
 * $2 is the visibility, $4 the groups, and $14 the limit or the set.
 */
function scanOf(by: LearnerSort, up: boolean, source: Source): string {
  const { key, id, type, from } = keys[by];
  const down = up ? '' : ' desc';
  // The tuple comparison alone cannot use an index that contains only the key, so the key is also compared alone.
  const rows = (more: string) => `
    select ${id}, ${key} as key ${from}
       and ${key} ${up ? '>=' : '<='} $12::${type} and (${key}, ${id}) ${up ? '>' : '<'} ($12::${type}, $13::uuid)
       and ${more}
     order by key${down}, ${id}${down}`;
  const isMember = Array.from(
    { length: maxGroups },
    (_, n) => `(cardinality($4::uuid[]) <= ${n} or ${amongMembers(id, `$4[${n + 1}:${n + 1}]`)})`,
  ).join(' and ');
  if (source === 'members')
    return `${rows(`($2::uuid[] is null or ${amongMembers(id, '$2')}) and ${isMember}`)} limit least($14::int4, ${maxScanned})`;
  const isSeen = `${isVisibleLearner('l.learner_id', '$2')}
       and (cardinality($4::uuid[]) = 0 or cardinality($4) = (
         select count(*) from membership m
          where m.organisation_id = $1 and m.learner_id = l.learner_id and m.group_id = any($4) and m.left_position is null))`;
  const next =
    source === 'all'
      ? `(${rows('true')} limit $14::int4) l where ${isSeen}`
      : `(select l.learner_id from unnest($14::uuid[]) l(learner_id) where ${isSeen} offset 0) seen
         cross join lateral (select ${id}, ${key} as key ${from} and ${id} = seen.learner_id offset 0) l
         where (l.key, l.learner_id) ${up ? '>' : '<'} ($12::${type}, $13::uuid)`;
  return `
    select l.* from ${next}
     order by l.key${down}, l.learner_id${down} limit ${maxScanned}`;
}

/**
 * A statement that returns up to $3 learners that meet the conditions. If the scan reaches its maximum first, the last
 * row is the last scanned learner with its key.
 */
function pageStatement(by: LearnerSort, up: boolean, source: Source): Statement {
  return statement(`records.page_by_${by}_${up ? 'up' : 'down'}_${source}`)`
    with seen as materialized (select l.*, row_number() over () as n from (${scanOf(by, up, source)}) l),
    met as materialized (select l.learner_id, l.n from seen l where ${conditions} limit $3)
    select learner_id, null as key, n from met
    union all
    select learner_id, key::text, n from seen where n = ${maxScanned} and (select count(*) from met) < $3
     order by n, key nulls first`;
}

const statements = new Map(
  learnerSorts.flatMap((by) =>
    [true, false].flatMap((up) =>
      (['all', 'members', 'set'] as const).map((source) => [`${source} ${by} ${up}`, pageStatement(by, up, source)]),
    ),
  ),
);

const places = Object.fromEntries(
  learnerSorts.map((by) => [
    by,
    statement(`records.place_by_${by}`)`
  select (${keys[by].key})::text as key, ${keys[by].id} ${keys[by].from} and ${keys[by].id} = $2 and ${isVisibleLearner(keys[by].id, '$3')}`,
  ]),
) as Record<LearnerSort, Statement>;

/** A statement that returns the IDs if there are at most `max`. If there are more, it returns one row without an ID. */
const few = (name: string, max: number, rows: string) =>
  statement(name)`
  with found as materialized (${rows} limit ${max + 1})
  select learner_id from found where (select count(*) from found) <= ${max}
  union all
  select null where (select count(*) from found) > ${max}`;
const membersOf = few(
  'records.members_of',
  membersSorted,
  'select learner_id from membership where organisation_id = $1 and group_id = any($2::uuid[]) and left_position is null',
);
// Two large groups may have few members in common. A scan in any order would read many learners to find these.
const membersOfBoth = few(
  'records.members_of_both',
  2 * membersSorted,
  `select m.learner_id from membership m
    where m.organisation_id = $1 and m.group_id = any($2::uuid[]) and m.left_position is null and ${amongMembers('m.learner_id', '$3')}`,
);
const invitedAs = few(
  'records.invited_as',
  maxScanned,
  'select learner_id from invitation where organisation_id = $1 and status = $2',
);
const placedAt = few(
  'records.placed_at',
  resultsRead,
  // A generic plan with one condition for all levels would read the full table if a level is empty. So each level has
  // its own index scan.
  `select n.learner_id from unnest($2::int2[]) as s(facet) cross join lateral (
    select f.learner_id from assessment_feed f where f.organisation_id = $1 and f.facet = s.facet and not f.deleted
     order by f.position limit ${resultsRead + 1}) n`,
);
const matchingText = statement('records.called_like')`
  (select l.learner_id ${textKey.from} and name_words(l.organisation_id, folded_name(l.full_name)) @@ name_query($1, folded_name($2)) limit ${maxScanned + 1})
  union all
  (select l.learner_id ${textKey.from} and ${keys.ref.key} >= $3 and ${keys.ref.key} < $3 || '~' limit ${maxScanned + 1})
  union all
  (select l.learner_id ${textKey.from} and l.learner_id = $4::uuid)
  union all
  (select a.learner_id from learner_alias a where a.organisation_id = $1 and a.ref = $5)`;

const listed = statement('records.listed')`
  select l.learner_id, l.ref, l.full_name, f.position, ${newestInvitationState('l.learner_id', '$3::timestamptz')} as state,
         coalesce((select array_agg(g.name order by g.type, g.name, g.group_id)
                     from membership m cross join lateral (
                       select * from learner_group n where n.organisation_id = $1 and n.group_id = m.group_id and n.active offset 0) g
                    where m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null), '{}') as groups,
         r.last_assessed_at, r.last_ids, r.last_bodies
    from unnest($2::uuid[]) with ordinality a(learner_id, n)
    join learner l on l.organisation_id = $1 and l.learner_id = a.learner_id
    join learner_feed f on f.organisation_id = $1 and f.learner_id = a.learner_id
    cross join lateral ${lastAssessedOf} r
   order by a.n`;

/** These learners as a list shows them, in the same order. */
export const listLearners = (tx: Tx, organisationId: number, ids: readonly string[], now: Date) =>
  tx.query<LearnerListed>(listed, [organisationId, ids, now]);

export const maxLearnersCounted = 10_000;
const counted = statement('records.count')`
  select count(*)::int4 as n from (select ${textKey.from} limit ${maxLearnersCounted + 1}) l`;

/** All learners of the organisation, counted up to one more than `maxLearnersCounted`. */
export const countLearners = async (tx: Tx, organisationId: number): Promise<number> =>
  (await tx.query<{ n: number }>(counted, [organisationId]))[0]!.n;

/** Learners' IDs, or null if there are too many to collect. */
type Candidates = string[] | null;

async function collect(tx: Tx, sql: Statement, values: unknown[]): Promise<Candidates> {
  const rows = await tx.query<{ learner_id: string | null }>(sql, values);
  const found = new Set(rows.map((row) => row.learner_id));
  return found.has(null) ? null : ([...found] as string[]);
}

const statusOf: Record<InvitationState, 'open' | 'used' | 'withdrawn'> = {
  invited: 'open',
  started: 'open',
  expired: 'open',
  finished: 'used',
  cancelled: 'withdrawn',
};

/**
 * IDs of groups: one group of the filter, or all visible groups. A listed learner is a member of at least one of them.
 */
type Membership = readonly string[];

/**
 * If a part of the filter matches few learners, collects a set that contains every matching learner. `isPartial`: the
 * set lacks learners, because too many match the text. `isMatched`: every learner in the set matches the text.
 * `unchecked`: memberships that are not checked yet.
 */
async function candidatesFor(
  tx: Tx,
  organisationId: number,
  memberships: readonly Membership[],
  { text, subject, placement, state }: LearnerFilter,
) {
  const levels = placement === null ? [0, 1, 2, 3, 4, 5] : placements[placement];
  const facets = subjects.flatMap((one, s) =>
    subject === null || one === subject ? levels.map((l) => s * 8 + l) : [],
  );
  const [members, invited, placed, matching] = await Promise.all([
    membersOfAll(tx, organisationId, memberships),
    state === null || state === 'none' ? null : collect(tx, invitedAs, [organisationId, statusOf[state]]),
    placement === null && subject === null ? null : collect(tx, placedAt, [organisationId, facets]),
    text === null
      ? []
      : tx.query<{ learner_id: string }>(matchingText, [organisationId, text, refOf(text), idOf(text), text]),
  ]);
  const sets = [members.set, invited, placed].filter((one) => one !== null);
  const isPartial = matching.length > maxScanned && sets.length === 0;
  const isMatched = text !== null && (isPartial || matching.length <= maxScanned);
  if (isMatched) sets.push([...new Set(matching.slice(0, maxScanned).map((row) => row.learner_id))]);
  return { set: inAll(sets), isPartial, isMatched, unchecked: members.unchecked };
}

function inAll([first, ...others]: readonly string[][]): Candidates {
  if (first === undefined) return null;
  const rest = others.map((one) => new Set(one));
  return first.filter((id) => rest.every((one) => one.has(id)));
}

/** Finds the learners that have all memberships, if one membership or a pair of memberships has few members. */
async function membersOfAll(tx: Tx, organisationId: number, memberships: readonly Membership[]) {
  const sets = await Promise.all(memberships.map((groups) => collect(tx, membersOf, [organisationId, groups])));
  const small = memberships.filter((_, n) => sets[n] !== null);
  const large = memberships.filter((_, n) => sets[n] === null);
  const collected = sets.filter((one) => one !== null);
  const set = inAll(collected);
  const [one, other] = [...large.slice(0, 1), ...small, ...large.slice(1)];
  const found = { set, unchecked: large };
  if (one === undefined || other === undefined || large.length === 0) return found;
  if (set !== null && set.length <= maxSetCheckedOneByOne) return found;
  const ofBoth = await collect(tx, membersOfBoth, [organisationId, one, other]);
  if (ofBoth === null) return found;
  return { set: inAll([ofBoth, ...collected]), unchecked: large.filter((each) => each !== one && each !== other) };
}

const idOf = (text: string): string | null => (isUuid(text) ? text.toLowerCase() : null);
const refOf = (text: string): string | null => (isOpaqueRef(text) ? text.toLowerCase() : null);
const learnerOf = (place: NonNullable<LearnerPageStart>): string => ('after' in place ? place.after : place.before);

type Anchor = { key: string; learner_id: string };
/**
 * The matches of one scan: at most one more than the page's limit. `end`: the last scanned learner, if more may match.
 */
type Scan = { found: { learner_id: string }[]; end: Anchor | undefined };
type Options = { limit: number; now: Date };

/**
 * Scans learners from an anchor. If a scan of all learners does not fill the page, a scan of the members replaces it.
 */
async function scanPage(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
  filter: LearnerFilter,
  { set, isMatched, unchecked }: Awaited<ReturnType<typeof candidatesFor>>,
  { by, up, anchor, limit, now }: Options & { by: LearnerSort; up: boolean; anchor: Anchor },
): Promise<Scan & { scanned: number }> {
  const { groupIds, subject, placement, state } = filter;
  const isNarrow = visibility !== null || groupIds.length > 0;
  const text = isMatched ? null : filter.text;
  const scan = async (source: Source, from: Anchor): Promise<Scan> => {
    const rows = await tx.query<{ learner_id: string; key: string | null }>(statements.get(`${source} ${by} ${up}`)!, [
      organisationId,
      source === 'set' && !unchecked.includes(visibility!) ? null : visibility,
      limit + 1,
      source === 'set' ? groupIds.filter((id) => unchecked.some(([one]) => one === id)) : groupIds,
      subject === null ? null : subjects.indexOf(subject),
      placement === null ? null : placements[placement],
      state,
      now,
      text,
      text === null ? null : refOf(text),
      text === null ? null : idOf(text),
      from.key,
      from.learner_id,
      { all: isNarrow ? maxCheckedOneByOne : maxScanned, members: null, set }[source],
    ]);
    const isEnd = (row: (typeof rows)[number]): row is Anchor => row.key !== null;
    return { found: rows.filter((row) => !isEnd(row)), end: rows.find(isEnd) };
  };
  const isPlain = [subject, placement, state, filter.text].every((one) => one === null);
  let source: Source = set !== null ? 'set' : isNarrow && !isPlain ? 'members' : 'all';
  let { found, end } = await scan(source, anchor);
  if (source === 'all' && isNarrow && found.length <= limit) {
    source = 'members';
    ({ found, end } = await scan(source, anchor));
  }
  let scanned = 0;
  // If a scan finds no match, a second scan continues from its end, so that fewer pages are empty.
  if (found.length === 0 && end !== undefined) {
    scanned += maxScanned;
    ({ found, end } = await scan(source, end));
  }
  return { found, end, scanned: end === undefined ? scanned : scanned + maxScanned };
}

/**
 * A page of the visible learners that match a filter. If the learner in `place` is unknown or invisible, the first page
 * is returned, so that no page reveals where an invisible learner is.
 */
export async function browseLearners(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
  filter: LearnerFilter,
  order: { by: LearnerSort; descending: boolean },
  place: LearnerPageStart,
  options: Options,
): Promise<LearnerPage> {
  const { by, descending } = order;
  const { limit, now } = options;
  const memberships = [...filter.groupIds.map((id) => [id]), ...(visibility === null ? [] : [visibility])];
  const [candidates, [anchor]] = await Promise.all([
    candidatesFor(tx, organisationId, memberships, filter),
    place === null ? [] : tx.query<Anchor>(places[by], [organisationId, learnerOf(place), visibility]),
  ]);
  const isBackwards = place !== null && 'before' in place && anchor !== undefined;
  const up = descending === isBackwards;
  const start = up ? { key: keys[by].lowest, learner_id: nilUuid } : { key: keys[by].highest, learner_id: highestId };
  const scanOptions = { by, up, anchor: anchor ?? start, limit, now };
  const { found, end, scanned } = await scanPage(tx, organisationId, visibility, filter, candidates, scanOptions);
  // If fewer learners than a page precede the learner in `place`, the first page is returned.
  if (isBackwards && found.length < limit && end === undefined)
    return browseLearners(tx, organisationId, visibility, filter, order, null, options);
  const shown = found.slice(0, limit).map((row) => row.learner_id);
  const last = found.length > limit ? shown.at(-1)! : (end?.learner_id ?? null);
  if (isBackwards) shown.reverse();
  const first = anchor === undefined ? null : (shown[0] ?? null);
  return {
    learners: await listLearners(tx, organisationId, shown, now),
    previous: before(isBackwards ? last : first),
    next: after(isBackwards ? (shown.at(-1) ?? anchor.learner_id) : last),
    extent: candidates.isPartial ? 'some' : end === undefined ? 'whole' : 'scanned',
    scanned,
  };
}

const before = (id: string | null): LearnerPageStart => (id === null ? null : { before: id });
const after = (id: string | null): LearnerPageStart => (id === null ? null : { after: id });
