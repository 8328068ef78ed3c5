import { statement, type Statement, type Tx } from '../../platform/db/database.ts';
import {
  amongMembers,
  isInEach,
  isVisibleLearner,
  startOfScan,
  type Visibility,
} from '../../organisations/groups/visibility.ts';
import { limits } from '../../platform/config/limits.ts';
import { nilUuid } from '../../platform/crypto/random.ts';
import type { Invitation } from './invitations.ts';

export const invitationStates = ['sent', 'opened', 'paused', 'used', 'expired', 'cancelled'] as const;
export type InvitationState = (typeof invitationStates)[number];

export type ListedInvitation = Invitation & {
  full_name: string;
  ref: string | null;
  has_email: boolean;
  begun: boolean;
  /** When the learner last used the paused sitting; null if no sitting is paused. */
  paused_at: Date | null;
  state: InvitationState;
};

/** SQL: the columns of a listed invitation. `$2` is the current time. */
const listed = `i.*, l.full_name, l.ref, l.email is not null as has_email, s.begun, s.paused_at, ${stateOf()} as state`;

/** An invitation is opened when a sitting begins, not when its link is opened, because mail programs open links too. */
function stateOf(): string {
  return `case when i.status = 'withdrawn' then 'cancelled' when i.status = 'used' then 'used'
               when s.paused_at is not null then 'paused' when s.under_way then 'opened'
               when i.expires_at <= $2 then 'expired' when s.begun then 'opened' else 'sent' end`;
}

const around = `
    join learner l on l.organisation_id = $1 and l.learner_id = i.learner_id
    cross join lateral (
      select count(*) > 0 as begun, coalesce(bool_or(s.status = 'open'), false) as under_way,
             max(s.last_seen_at) filter (where s.status = 'open' and s.on_screen_since is null and s.stop is null) as paused_at
        from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id) s`;

// SQL: whether an invitation has a sitting that meets the condition `more`. `offset 0` makes PostgreSQL check the
// invitations one by one. Otherwise a plan may read the sittings of all invitations.
const sittings = (more: string) =>
  `exists (select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id${more} offset 0)`;
const begun = sittings('');
const underWay = sittings(" and s.status = 'open'");
const paused = sittings(" and s.status = 'open' and s.on_screen_since is null and s.stop is null");
// With `is true`, PostgreSQL reads the open sittings once, and then looks up each invitation among them.
const withOpenSitting = `(i.invitation_id in (select unnest(array(
  select o.invitation_id from sitting o where o.organisation_id = $1 and o.status = 'open')))) is true`;

/**
 * SQL conditions on usable invitations of the last two months, for the dashboard and for lists. `unopened`: made some
 * days ago. `ending`: about to end.
 * Both callers also leave out invitations with a sitting. `$2` is the current time.
 */
export const waiting = {
  unopened: `i.status = 'open' and i.expires_at > $2 and i.created_at < ${fromNow(-limits.unopenedDays)} and ${recent()}`,
  ending: `i.status = 'open' and i.expires_at > $2 and i.expires_at < ${fromNow(limits.expiringDays)} and ${recent()}`,
};

function fromNow(days: number): string {
  return `$2::timestamptz + interval '${24 * days} hours'`;
}

function recent(): string {
  return `i.created_at > ${fromNow(-60)}`;
}

/** A list for each state, and two lists of sent invitations that need attention. */
export const invitationLists = [...invitationStates, 'unopened', 'ending'] as const;
export type InvitationList = (typeof invitationLists)[number];

/**
 * One ordered scan of invitations. `rows` is a condition that an index supports; `only` is checked for each invitation.
 * `$2` is the current time.
 */
type Walk = { name: string; key: 'created_at' | 'expires_at'; rows: string; only: string };

/**
 * Each list consists of one or more scans, shown one after the other. Expired invitations with an open sitting come
 * last.
 */
const walks: Record<InvitationList | 'all', Walk[]> = {
  all: [{ name: 'all', key: 'created_at', rows: 'true', only: 'true' }],
  sent: [{ name: 'sent', key: 'expires_at', rows: "i.status = 'open' and i.expires_at > $2", only: `not ${begun}` }],
  opened: [
    {
      name: 'opened',
      key: 'expires_at',
      rows: "i.status = 'open' and i.expires_at > $2",
      only: `${begun} and not ${paused}`,
    },
    {
      name: 'opened_after_end',
      key: 'expires_at',
      rows: `i.status = 'open' and i.expires_at <= $2 and ${withOpenSitting}`,
      only: `not ${paused}`,
    },
  ],
  paused: [{ name: 'paused', key: 'created_at', rows: `i.status = 'open' and ${withOpenSitting}`, only: paused }],
  used: [{ name: 'used', key: 'created_at', rows: "i.status = 'used'", only: 'true' }],
  expired: [
    { name: 'expired', key: 'expires_at', rows: "i.status = 'open' and i.expires_at <= $2", only: `not ${underWay}` },
  ],
  cancelled: [{ name: 'cancelled', key: 'created_at', rows: "i.status = 'withdrawn'", only: 'true' }],
  unopened: [{ name: 'unopened', key: 'created_at', rows: waiting.unopened, only: `not ${begun}` }],
  ending: [{ name: 'ending', key: 'expires_at', rows: waiting.ending, only: `not ${begun}` }],
};

/**
 * The most invitations that one scan of a page reads: for a person who sees all learners, for a tutor, and for a tutor
 * if `only` must be checked.
 * A tutor's scan may skip many invitations, because it reads only an index.
 */
const maxScanned = { all: 5000, tutor: 50_000, tutorChecked: 20_000 };
/** If a page has no rows, at most this many more scans follow. */
const maxFurtherScans = 2;

/** A page token: the ID of an invitation, and the time by which the list is ordered, in microseconds since 1970. */
export type InvitationToken = { us: string; invitation_id: string };
const beginning: InvitationToken = { us: '253402300799000000', invitation_id: nilUuid };

const usOf = (key: string) => `(extract(epoch from i.${key}) * 1000000)::int8::text`;
const inOrder = ({ key }: Walk) => `order by i.${key} desc, i.invitation_id desc`;

/** SQL: the invitations after the page token ($3 and $4). */
const afterToken = ({ key, rows }: Walk): string => `
    i.organisation_id = $1 and (i.${key}, i.invitation_id) < ('epoch'::timestamptz + $3::int8 * interval '1 microsecond', $4) and ${rows}`;

const scan = (walk: Walk): string => `
    select i.invitation_id, i.learner_id, i.${walk.key} from invitation i where ${afterToken(walk)} ${inOrder(walk)} limit $5::int4`;

/**
 * The source of a page. `all`: all invitations in order, filtered by visibility. `members`: the invitations of few
 * visible learners, sorted.
 */
type Source = 'all' | 'members';

const sources: Record<Source, (walk: Walk) => string> = {
  all: (walk) => `
    select i.* from (${scan(walk)}) i
     where $6::uuid[] is null or ${amongMembers('i.learner_id', '$6')} ${inOrder(walk)} offset 0`,
  members: (walk) => `
    select i.invitation_id, i.learner_id, i.${walk.key} from (
      select distinct m.learner_id from membership m
       where m.organisation_id = $1 and m.group_id = any($6::uuid[]) and m.left_position is null) m
      cross join lateral (
        select * from invitation o where o.organisation_id = $1 and o.learner_id = m.learner_id offset 0) i
     where $5::int4 is null and ${afterToken(walk)} ${inOrder(walk)} offset 0`,
};

function pageOf(walk: Walk, from: Source): Statement {
  return statement(`invitation.browse_${walk.name}_${from}`)`
  select ${listed}, ${usOf(walk.key)} as us
    from (select i.invitation_id from (${sources[from](walk)}) i 
           where (${walk.only}) is true and ${isVisibleLearner('i.learner_id', '$8')} and ${isInEach('i.learner_id', '$9')}
           ${inOrder(walk)} limit $7) found
    cross join lateral (select * from invitation n where n.organisation_id = $1 and n.invitation_id = found.invitation_id offset 0) i ${around}
   ${inOrder(walk)}`;
}

const endOf = (walk: Walk) =>
  statement(`invitation.looked_to_${walk.name}`)`
  select i.invitation_id, ${usOf(walk.key)} as us
    from (select i.* from (${scan(walk)}) i where $2::timestamptz is not null offset $5 - 1) i`;

const statements = new Map(
  Object.values(walks)
    .flat()
    .map((walk) => [walk.name, { all: pageOf(walk, 'all'), members: pageOf(walk, 'members'), end: endOf(walk) }]),
);

const byIds = statement('invitation.seen_by_ids')`
  select ${listed} from invitation i ${around}
   where i.organisation_id = $1 and i.invitation_id = any($3) and ${isVisibleLearner('i.learner_id', '$4')}
   order by l.full_name, i.invitation_id`;
const ofRun = statement('invitation.seen_of_run')`
  select r.row_no, ${listed} from invitation_run_row r
    join invitation i on i.organisation_id = $1 and i.invitation_id = r.invitation_id ${around}
   where r.organisation_id = $1 and r.run_id = $3 and r.row_no > $5 and i.status = 'open' and ${isVisibleLearner('i.learner_id', '$4')}
   order by r.row_no limit $6`;

export type InvitationPage = {
  rows: ListedInvitation[];
  next: InvitationToken | null;
  /** How many invitations were scanned, if the page is not full but more invitations may follow; else null. */
  scanned: number | null;
};

/** Lists invitations by their creation or their end, the latest first. */
export async function browseInvitations(
  tx: Tx,
  organisationId: number,
  options: {
    state: InvitationList | null;
    after: InvitationToken | null;
    visibility: Visibility;
    /** Only members of each of these groups. */
    groupIds?: readonly string[];
    limit: number;
    now: Date;
  },
): Promise<InvitationPage> {
  const { state, visibility, groupIds = [], limit, now } = options;
  const { start, isFew } = await startOfScan(tx, organisationId, visibility, groupIds);
  const found: (ListedInvitation & { us: string })[] = [];
  let end: InvitationToken | undefined;
  let scanned = 0;
  for (const { name, only } of walks[state ?? 'all']) {
    const { all, members, end: stop } = statements.get(name)!;
    const max = isFew
      ? null
      : start === null
        ? maxScanned.all
        : only === 'true'
          ? maxScanned.tutor
          : maxScanned.tutorChecked;
    let from = options.after ?? beginning;
    for (let further = 0; further <= maxFurtherScans; further++) {
      const scan = [organisationId, now, from.us, from.invitation_id, max];
      const more = [start, limit + 1 - found.length, visibility, groupIds];
      found.push(...(await tx.query<ListedInvitation & { us: string }>(isFew ? members : all, [...scan, ...more])));
      if (found.length > limit || max === null) break;
      [end] = await tx.query<InvitationToken>(stop, scan);
      if (end === undefined) break;
      scanned += max;
      if (found.length > 0) break;
      from = end;
    }
    if (found.length > limit || end !== undefined) break;
  }
  const rows = found.slice(0, limit);
  const isFull = found.length > limit;
  const last = rows.at(-1);
  return {
    rows,
    next: isFull ? { us: last!.us, invitation_id: last!.invitation_id } : (end ?? null),
    scanned: !isFull && end !== undefined ? scanned : null,
  };
}

/** Returns the given invitations whose learners are visible, sorted by the learner's name. */
export function findListedInvitations(
  tx: Tx,
  organisationId: number,
  ids: readonly string[],
  visibility: Visibility,
  now: Date,
): Promise<ListedInvitation[]> {
  return tx.query<ListedInvitation>(byIds, [organisationId, now, ids, visibility]);
}

/** The open invitations of a run, in the order of its rows. */
export function findInvitationsOfRun(
  tx: Tx,
  organisationId: number,
  options: { runId: string; after: number; limit: number; visibility: Visibility; now: Date },
): Promise<(ListedInvitation & { row_no: number })[]> {
  const { runId, after, limit, visibility, now } = options;
  return tx.query(ofRun, [organisationId, now, runId, visibility, after, limit]);
}
