import { lastAssessedOf } from '../results/last-assessed.ts';
import type { Statement, Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { Visibility } from '../../organisations/groups/visibility.ts';
import { amongMembers, isVisibleLearner } from '../../organisations/groups/visibility.ts';
import { isOpaqueRef } from '../../platform/validation/personal-data.ts';
import type { Subject } from '../../engine/scoring/levels.ts';
import { subjects } from '../../engine/scoring/levels.ts';
import { isUuid, nilUuid } from '../../platform/crypto/random.ts';
import type { InvitationState } from './invitation-state.ts';
import { newestInvitationState } from './invitation-state.ts';

/** Learners as the provider's people look for them: by parts of names, by references, and by what is known of them. */

export const learnerSorts = ['name', 'ref', 'changed'] as const;
export type LearnerSort = (typeof learnerSorts)[number];

/** What a learner's newest results can be placed at, by indexes of `levels` (src/records/results/facet.ts). */
export const placements = {
  below_level_1: [1, 2],
  below_entry: [1],
  entry: [2],
  level_1: [3],
  level_2: [4],
  level_3: [5],
  not_placed: [0],
} as const;
export type Placement = keyof typeof placements;

export type LearnerFilter = {
  /** What was typed: words of a name, a learner's id, or the beginning of a reference. */
  text: string | null;
  /** In all of these groups now. */
  groupIds: readonly string[];
  /** There is a result in it; with a placement, the newest one in it is placed there. */
  subject: Subject | null;
  placement: Placement | null;
  /** What became of the newest invitation; `none` where nobody has invited the learner. */
  state: InvitationState | 'none' | null;
};

/** Where a page stands: behind a learner, before one, or at the beginning. */
export type LearnerPlace = { after: string } | { before: string } | null;

export type LearnerOrder = { by: LearnerSort; descending: boolean };

export type LearnerListed = {
  learner_id: string;
  ref: string | null;
  full_name: string;
  position: number;
  state: InvitationState | 'none';
  groups: string[];
  last_assessed_at: number | null;
  last_bodies: string[] | null;
};

export type LearnerPage = {
  learners: LearnerListed[];
  previous: LearnerPlace;
  next: LearnerPlace;
  /**
   * All that meet the filter are found in their order; or a part of the learners was looked through; or too many names
   * are like that, and these are some of them.
   */
  extent: 'whole' | 'looked' | 'some';
  /** So many were looked through for this page, where more may follow. */
  passed: number;
};

/**
 * Learners that a page looks through, and that a set may have. What is rarer is collected by its own index; what is more
 * frequent is soon met by walking all learners in their order.
 */
export const looked = 2000;
/** Members of a group that are sorted; among more, the walk goes by the order. */
const membersSorted = 3000;
/** So many of everybody are asked, one by one, whether they are members; where that fills no page, members are read first. */
const passedOver = 500;
/** So many learners of a set are asked, one by one, whether they are members; of more, the members are read. */
const askedOneByOne = 500;
/** How often a walk that has found nobody goes on by itself. */
const walksOn = 1;
/** Results that are read to see whether the learners of a placement are few. */
const resultsRead = 2 * looked;

type Keyed = { key: string; id: string; type: string; from: string; lowest: string; highest: string };
const named = `from learner l where l.organisation_id = $1 and l.full_name <> ''`;
const aboveAllText = '\u{10ffff}';
const keys: Record<LearnerSort, Keyed> = {
  name: {
    key: 'folded_name(l.full_name) collate "C"',
    id: 'l.learner_id',
    type: 'text',
    from: named,
    lowest: '',
    highest: aboveAllText,
  },
  ref: {
    key: `coalesce(lower(l.ref collate "C"), '~')`,
    id: 'l.learner_id',
    type: 'text',
    from: named,
    lowest: '',
    highest: aboveAllText,
  },
  changed: {
    key: 'f.position',
    id: 'f.learner_id',
    type: 'int8',
    from: 'from learner_feed f where f.organisation_id = $1 and not f.deleted',
    lowest: '0',
    highest: '9223372036854775807',
  },
};
const aboveAllIds = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Out of whom a page comes: the next ones of everybody, the next members of groups, or a set. Whoever is looked at is in sight
 * and in the groups in each case; members are known before anything is read of the others.
 */
type Within = 'all' | 'members' | 'set';

/** The parameters of what stands behind a place: `bound` is how many are passed over, or the set. */
const given = { visibility: '$2', groups: '$4', key: '$12', id: '$13', bound: '$14' };

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

/** So many groups are asked for by whom they have, before anything is read of a learner: a filter has a group and a team. */
const groupsRead = 2;

/**
 * The learners behind a place in an order who are in sight and in the groups, as many as are looked at. What is passed over is
 * read in the order's index alone, so it says no more of a learner than the index holds.
 */
function behind(by: LearnerSort, up: boolean, within: Within): string {
  const { key, id, type, from } = keys[by];
  const { visibility, groups, bound } = given;
  const down = up ? '' : ' desc';
  // Where an index has the key alone, it needs the first of the two conditions.
  const rows = (more: string) => `
    select ${id}, ${key} as key ${from}
       and ${key} ${up ? '>=' : '<='} ${given.key}::${type} and (${key}, ${id}) ${up ? '>' : '<'} (${given.key}::${type}, ${given.id}::uuid)
       and ${more}
     order by key${down}, ${id}${down}`;
  const isMember = Array.from(
    { length: groupsRead },
    (_, n) => `(cardinality(${groups}::uuid[]) <= ${n} or ${amongMembers(id, `${groups}[${n + 1}:${n + 1}]`)})`,
  ).join(' and ');
  if (within === 'members')
    return `${rows(`(${visibility}::uuid[] is null or ${amongMembers(id, visibility)}) and ${isMember}`)} limit least(${bound}::int4, ${looked})`;
  const isSeen = `${isVisibleLearner('l.learner_id', visibility)}
       and (cardinality(${groups}::uuid[]) = 0 or cardinality(${groups}) = (
         select count(*) from membership m
          where m.organisation_id = $1 and m.learner_id = l.learner_id and m.group_id = any(${groups}) and m.left_position is null))`;
  const next =
    within === 'all'
      ? `(${rows('true')} limit ${bound}::int4) l where ${isSeen}`
      : `(select l.learner_id from unnest(${bound}::uuid[]) l(learner_id) where ${isSeen} offset 0) seen
         cross join lateral (${rows(`${id} = seen.learner_id`)} offset 0) l`;
  return `
    select l.* from ${next}
     order by l.key${down}, l.learner_id${down} limit ${looked}`;
}

/**
 * One more than a page of those who meet the conditions; where they are no more, the last one of all that are looked at
 * follows, with the key. Both parts read one walk, which goes no further than the page needs.
 */
function pageOf(by: LearnerSort, up: boolean, within: Within): Statement {
  return statement(
    `records.page_by_${by}_${up ? 'up' : 'down'}_${within}`,
    `
    with seen as materialized (select l.*, row_number() over () as n from (${behind(by, up, within)}) l),
    met as materialized (select l.learner_id, l.n from seen l where ${conditions} limit $3)
    select learner_id, null as key, n from met
    union all
    select learner_id, key::text, n from seen where n = ${looked} and (select count(*) from met) < $3
     order by n, key nulls first`,
  );
}

const inBoth = (make: (by: LearnerSort, up: boolean) => Statement): Record<string, Statement> =>
  Object.fromEntries(learnerSorts.flatMap((by) => [true, false].map((up) => [`${by} ${up}`, make(by, up)] as const)));
const statements: Record<Within, Record<string, Statement>> = {
  all: inBoth((by, up) => pageOf(by, up, 'all')),
  members: inBoth((by, up) => pageOf(by, up, 'members')),
  set: inBoth((by, up) => pageOf(by, up, 'set')),
};

const places = Object.fromEntries(
  learnerSorts.map((by) => [
    by,
    statement(
      `records.place_by_${by}`,
      `select (${keys[by].key})::text as key, ${keys[by].id} ${keys[by].from} and ${keys[by].id} = $2 and ${isVisibleLearner(keys[by].id, '$3')}`,
    ),
  ]),
) as Record<LearnerSort, Statement>;

/** Ids as far as they are few enough to be collected; where they are more, one row without an id. */
const few = (name: string, max: number, rows: string) =>
  statement(
    name,
    `
  with found as materialized (${rows} limit ${max + 1})
  select learner_id from found where (select count(*) from found) <= ${max}
  union all
  select null where (select count(*) from found) > ${max}`,
  );
const membersOf = few(
  'records.members_of',
  membersSorted,
  'select learner_id from membership where organisation_id = $1 and group_id = any($2::uuid[]) and left_position is null',
);
// Of two groups with many members each, those in both may be few, and far apart in every order.
const membersOfBoth = few(
  'records.members_of_both',
  2 * membersSorted,
  `select m.learner_id from membership m
    where m.organisation_id = $1 and m.group_id = any($2::uuid[]) and m.left_position is null and ${amongMembers('m.learner_id', '$3')}`,
);
const invitedAs = few(
  'records.invited_as',
  looked,
  'select learner_id from invitation where organisation_id = $1 and status = $2',
);
const placedAt = few(
  'records.placed_at',
  resultsRead,
  // Level by level, each by the index: as one condition, a generic plan reads the whole table for levels that nobody has.
  `select n.learner_id from unnest($2::int2[]) as s(facet) cross join lateral (
    select f.learner_id from assessment_feed f where f.organisation_id = $1 and f.facet = s.facet and not f.deleted
     order by f.position limit ${resultsRead + 1}) n`,
);
const calledLike = statement(
  'records.called_like',
  `
  (select l.learner_id ${named} and name_words(l.organisation_id, folded_name(l.full_name)) @@ name_query($1, folded_name($2)) limit ${looked + 1})
  union all
  (select l.learner_id ${named} and coalesce(lower(l.ref collate "C"), '~') >= $3 and coalesce(lower(l.ref collate "C"), '~') < $3 || '~' limit ${looked + 1})
  union all
  (select l.learner_id ${named} and l.learner_id = $4::uuid)
  union all
  (select a.learner_id from learner_alias a where a.organisation_id = $1 and a.ref = $5)`,
);

const listed = statement(
  'records.listed',
  `
  select l.learner_id, l.ref, l.full_name, f.position, ${newestInvitationState('l.learner_id', '$3::timestamptz')} as state,
         coalesce((select array_agg(g.name order by g.type, g.name, g.group_id)
                     from membership m cross join lateral (
                       select * from learner_group n where n.organisation_id = $1 and n.group_id = m.group_id and n.active offset 0) g
                    where m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null), '{}') as groups,
         r.last_assessed_at, r.last_bodies
    from unnest($2::uuid[]) with ordinality a(learner_id, n)
    join learner l on l.organisation_id = $1 and l.learner_id = a.learner_id
    join learner_feed f on f.organisation_id = $1 and f.learner_id = a.learner_id
    cross join lateral ${lastAssessedOf} r
   order by a.n`,
);

/** Ids by which a filter can begin, or null where they are too many to be collected. */
type Found = string[] | null;

async function ids(tx: Tx, sql: Statement, values: unknown[]): Promise<Found> {
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

/** A sight or a group whose members alone are listed. */
type Narrowing = readonly string[];

/**
 * A set of learners in which all that meet the filter are, where something in it is rare enough; `some` where it is not all;
 * `isCalled` where all of the set are called what was typed; `unproved`: whether they are members of these is still to be asked.
 */
async function setFor(
  tx: Tx,
  organisationId: number,
  narrowings: readonly Narrowing[],
  { text, subject, placement, state }: LearnerFilter,
): Promise<{ set: Found; some: boolean; isCalled: boolean; unproved: readonly Narrowing[] }> {
  const levels = placement === null ? [0, 1, 2, 3, 4, 5] : placements[placement];
  const facets = subjects.flatMap((one, s) =>
    subject === null || one === subject ? levels.map((l) => s * 8 + l) : [],
  );
  const [members, invited, placed, like] = await Promise.all([
    membersOfAll(tx, organisationId, narrowings),
    state === null || state === 'none' ? null : ids(tx, invitedAs, [organisationId, statusOf[state]]),
    placement === null && subject === null ? null : ids(tx, placedAt, [organisationId, facets]),
    text === null
      ? []
      : tx.query<{ learner_id: string }>(calledLike, [organisationId, text, refOf(text), idOf(text), text]),
  ]);
  const sets = [members.set, invited, placed].filter((one) => one !== null);
  const some = like.length > looked && sets.length === 0;
  const isCalled = text !== null && (some || like.length <= looked);
  if (isCalled) sets.push([...new Set(like.slice(0, looked).map((row) => row.learner_id))]);
  return { set: inAll(sets), some, isCalled, unproved: members.unproved };
}

/** Those who are in all of the sets; null of none. */
function inAll([first, ...others]: readonly string[][]): Found {
  if (first === undefined) return null;
  const rest = others.map((one) => new Set(one));
  return first.filter((id) => rest.every((one) => one.has(id)));
}

/** Members of all that narrow a list, where those of one or two of them are few. */
async function membersOfAll(
  tx: Tx,
  organisationId: number,
  narrowings: readonly Narrowing[],
): Promise<{ set: Found; unproved: readonly Narrowing[] }> {
  const sets = await Promise.all(narrowings.map((groupIds) => ids(tx, membersOf, [organisationId, groupIds])));
  const small = narrowings.filter((_, n) => sets[n] !== null);
  const large = narrowings.filter((_, n) => sets[n] === null);
  const known = sets.filter((one) => one !== null);
  const set = inAll(known);
  const [one, other] = [...large.slice(0, 1), ...small, ...large.slice(1)];
  if (one === undefined || other === undefined || large.length === 0 || (set !== null && set.length <= askedOneByOne))
    return { set, unproved: large };
  const ofBoth = await ids(tx, membersOfBoth, [organisationId, one, other]);
  if (ofBoth === null) return { set, unproved: large };
  return { set: inAll([ofBoth, ...known]), unproved: large.filter((each) => each !== one && each !== other) };
}

const idOf = (text: string): string | null => (isUuid(text) ? text.toLowerCase() : null);
const refOf = (text: string): string | null => (isOpaqueRef(text) ? text.toLowerCase() : null);
const learnerOf = (place: NonNullable<LearnerPlace>): string => ('after' in place ? place.after : place.before);

/**
 * A page of the learners in sight that meet a filter. A place whose learner isn't there, or isn't in sight, is the
 * beginning: nobody learns from it where somebody stands.
 */
export async function browseLearners(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
  filter: LearnerFilter,
  order: LearnerOrder,
  place: LearnerPlace,
  given: { limit: number; now: Date },
): Promise<LearnerPage> {
  const { by, descending } = order;
  const { groupIds, subject, placement, state, text } = filter;
  const narrowings = [...groupIds.map((groupId) => [groupId]), ...(visibility === null ? [] : [visibility])];
  const [{ set: rare, some, isCalled, unproved }, [anchor]] = await Promise.all([
    setFor(tx, organisationId, narrowings, filter),
    place === null ? [] : tx.query<Place>(places[by], [organisationId, learnerOf(place), visibility]),
  ]);
  const backwards = place !== null && 'before' in place && anchor !== undefined;
  const up = descending === backwards;
  const start = up ? { key: keys[by].lowest, learner_id: nilUuid } : { key: keys[by].highest, learner_id: aboveAllIds };
  const isNarrow = visibility !== null || groupIds.length > 0;
  const isPlain = [subject, placement, state, text].every((one) => one === null);
  const typed = isCalled ? null : text;
  const search = async (from: Place, within: Within) => {
    const bound = { all: isNarrow ? passedOver : looked, members: null, set: rare }[within];
    const rows = await tx.query<{ learner_id: string; key: string | null }>(statements[within][`${by} ${up}`]!, [
      organisationId,
      within === 'set' && !unproved.includes(visibility!) ? null : visibility,
      given.limit + 1,
      within === 'set' ? groupIds.filter((id) => unproved.some(([one]) => one === id)) : groupIds,
      subject === null ? null : subjects.indexOf(subject),
      placement === null ? null : placements[placement],
      state,
      given.now,
      typed,
      typed === null ? null : refOf(typed),
      typed === null ? null : idOf(typed),
      from.key,
      from.learner_id,
      bound,
    ]);
    const isEnd = (row: (typeof rows)[number]): row is Place => row.key !== null;
    return { found: rows.filter((row) => !isEnd(row)), end: rows.find(isEnd) };
  };
  const from = anchor ?? start;
  let passed = 0;
  let within: Within = rare !== null ? 'set' : isNarrow && !isPlain ? 'members' : 'all';
  let { found, end } = await search(from, within);
  if (within === 'all' && isNarrow && found.length <= given.limit) {
    within = 'members';
    ({ found, end } = await search(from, within));
  }
  for (let n = 0; n < walksOn && found.length === 0 && end !== undefined; n++) {
    passed += looked;
    ({ found, end } = await search(end, within));
  }
  if (end !== undefined) passed += looked;
  const isFull = found.length > given.limit;
  // Fewer stand before this place than fill a page: the first page shows them, and goes on.
  if (backwards && found.length < given.limit && end === undefined)
    return browseLearners(tx, organisationId, visibility, filter, order, null, given);
  const shown = found.slice(0, given.limit).map((row) => row.learner_id);
  const goesOn = isFull ? shown.at(-1)! : (end?.learner_id ?? null);
  if (backwards) shown.reverse();
  return {
    learners: await tx.query<LearnerListed>(listed, [organisationId, shown, given.now]),
    previous: backwards ? before(goesOn) : before(anchor === undefined ? null : (shown[0] ?? null)),
    next: backwards ? after(shown.at(-1) ?? anchor!.learner_id) : after(goesOn),
    extent: some ? 'some' : end === undefined ? 'whole' : 'looked',
    passed,
  };
}

/** A place in an order, as the statements have it. */
type Place = { key: string; learner_id: string };

const before = (id: string | null): LearnerPlace => (id === null ? null : { before: id });
const after = (id: string | null): LearnerPlace => (id === null ? null : { after: id });
