import type { Statement, Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { Visibility } from '../../organisations/groups/visibility.ts';
import { amongMembers, haveFewMembers, isVisibleLearner } from '../../organisations/groups/visibility.ts';
import { limits } from '../../platform/config/limits.ts';
import { nilUuid } from '../../platform/crypto/random.ts';
import type { Invitation } from './invitations.ts';

/** Invitations as people look at them: with their learner, and with how far the learner has come. */

export const invitationStates = ['sent', 'opened', 'paused', 'used', 'expired', 'cancelled'] as const;
export type InvitationState = (typeof invitationStates)[number];

/** An invitation with its learner and where its sittings stand. */
export type SeenInvitation = Invitation & {
  full_name: string;
  ref: string | null;
  has_email: boolean;
  /** Whether a sitting has begun under it. */
  begun: boolean;
  /** When the sitting that is under way was paused; null where none is. */
  paused_at: Date | null;
  state: InvitationState;
};

/** `$2`: now. */
const seen = `i.*, l.full_name, l.ref, l.email is not null as has_email, s.begun, s.paused_at, ${stateOf()} as state`;

/** Opened means begun: who only looks at the first page, or whose mail program does, has opened nothing. */
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

// Asked of each invitation, as far as a page goes: without the offset a plan may read the sittings of all of them instead.
const sittings = (more: string) =>
  `exists (select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id${more} offset 0)`;
const begun = sittings('');
const underWay = sittings(" and s.status = 'open'");
const paused = sittings(" and s.status = 'open' and s.on_screen_since is null and s.stop is null");
// Behind "is true" they are read once, and each invitation that is passed over is looked up among them.
const withOpenSitting = `(i.invitation_id in (select unnest(array(
  select o.invitation_id from sitting o where o.organisation_id = $1 and o.status = 'open')))) is true`;

/**
 * What the page of the day counts, and a list shows: invitations of the last two months that can still be used, made some
 * days ago or about to end. Those under which something has begun are left out of both. `$2`: now.
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

/** What can be listed: a state, or of those that are sent what somebody should look at. */
export const invitationLists = [...invitationStates, 'unopened', 'ending'] as const;
export type InvitationList = (typeof invitationLists)[number];

/**
 * One way through invitations, newest or latest end first: `rows` is what an index narrows them by, `only` is asked of each.
 * $2 is now.
 */
type Walk = { name: string; key: 'created_at' | 'expires_at'; rows: string; only: string };

/** One after the other; what is under way after its end comes behind all that has not ended. */
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
 * Invitations that one page looks through. What is behind a place is read in the index of its order alone, so a tutor's list
 * passes over many of others; where something is asked of each of theirs, over fewer.
 */
const looked = { everybodys: 5000, theirs: 50_000, theirsAsked: 20_000 };
/** How often a page looks further by itself while it has found none. */
const looksOn = 2;

/** Where a list goes on: the time that it is in the order of, in microseconds since 1970, and the id. */
export type InvitationPlace = { us: string; invitation_id: string };
const beginning: InvitationPlace = { us: '253402300799000000', invitation_id: nilUuid };

const usOf = (key: string) => `(extract(epoch from i.${key}) * 1000000)::int8::text`;
const inOrder = ({ key }: Walk) => `order by i.${key} desc, i.invitation_id desc`;

/** $3 and $4: the place. */
const behind = ({ key, rows }: Walk): string => `
    i.organisation_id = $1 and (i.${key}, i.invitation_id) < ('epoch'::timestamptz + $3::int8 * interval '1 microsecond', $4) and ${rows}`;

/** $5: how many are looked through. */
const through = (walk: Walk): string => `
    select i.invitation_id, i.learner_id, i.${walk.key} from invitation i where ${behind(walk)} ${inOrder(walk)} limit $5::int4`;

/**
 * Whose invitations a page comes out of: of everybody's in their order, those in sight, who are known before anything else is
 * asked; or of few members, whose invitations are looked up by the learner and sorted.
 */
type Within = 'all' | 'members';

const within: Record<Within, (walk: Walk) => string> = {
  all: (walk) => `
    select i.* from (${through(walk)}) i
     where $6::uuid[] is null or ${amongMembers('i.learner_id', '$6')} ${inOrder(walk)} offset 0`,
  members: (walk) => `
    select i.invitation_id, i.${walk.key} from (
      select distinct m.learner_id from membership m
       where m.organisation_id = $1 and m.group_id = any($6::uuid[]) and m.left_position is null) m
      cross join lateral (
        select * from invitation o where o.organisation_id = $1 and o.learner_id = m.learner_id offset 0) i
     where $5::int4 is null and ${behind(walk)} ${inOrder(walk)} offset 0`,
};

function pageOf(walk: Walk, from: Within): Statement {
  return statement(`invitation.browse_${walk.name}_${from}`)`
  select ${seen}, ${usOf(walk.key)} as us
    from (select i.invitation_id from (${within[from](walk)}) i where (${walk.only}) is true ${inOrder(walk)} limit $7) found
    cross join lateral (select * from invitation n where n.organisation_id = $1 and n.invitation_id = found.invitation_id offset 0) i ${around}
   ${inOrder(walk)}`;
}

const endOf = (walk: Walk) =>
  statement(`invitation.looked_to_${walk.name}`)`
  select i.invitation_id, ${usOf(walk.key)} as us
    from (select i.* from (${through(walk)}) i where $2::timestamptz is not null offset $5 - 1) i`;

const statements = new Map(
  Object.values(walks)
    .flat()
    .map((walk) => [walk.name, { all: pageOf(walk, 'all'), members: pageOf(walk, 'members'), end: endOf(walk) }]),
);

const byIds = statement('invitation.seen_by_ids')`
  select ${seen} from invitation i ${around}
   where i.organisation_id = $1 and i.invitation_id = any($3) and ${isVisibleLearner('i.learner_id', '$4')}
   order by l.full_name, i.invitation_id`;
const ofRun = statement('invitation.seen_of_run')`
  select r.row_no, ${seen} from invitation_run_row r
    join invitation i on i.organisation_id = $1 and i.invitation_id = r.invitation_id ${around}
   where r.organisation_id = $1 and r.run_id = $3 and r.row_no > $5 and i.status = 'open' and ${isVisibleLearner('i.learner_id', '$4')}
   order by r.row_no limit $6`;

export type InvitationPage = {
  rows: SeenInvitation[];
  next: InvitationPlace | null;
  /** So many were looked through for a page that isn't full, and more may follow; null where that was all. */
  passed: number | null;
};

/**
 * In one state or in any: the newest first, or where their end counts, the latest end first. Of a sight with few members,
 * theirs are sorted; otherwise the list is walked.
 */
export async function browseInvitations(
  tx: Tx,
  organisationId: number,
  given: {
    state: InvitationList | null;
    after: InvitationPlace | null;
    visibility: Visibility;
    limit: number;
    now: Date;
  },
): Promise<InvitationPage> {
  const { state, visibility, limit, now } = given;
  const isFew = visibility !== null && (await haveFewMembers(tx, organisationId, visibility));
  const found: (SeenInvitation & { us: string })[] = [];
  let end: InvitationPlace | undefined;
  let passed = 0;
  for (const { name, only } of walks[state ?? 'all']) {
    const { all, members, end: stop } = statements.get(name)!;
    const max = isFew
      ? null
      : visibility === null
        ? looked.everybodys
        : only === 'true'
          ? looked.theirs
          : looked.theirsAsked;
    let from = given.after ?? beginning;
    for (let looks = 0; looks <= looksOn; looks++) {
      const behind = [organisationId, now, from.us, from.invitation_id, max];
      const more = [visibility, limit + 1 - found.length];
      found.push(...(await tx.query<SeenInvitation & { us: string }>(isFew ? members : all, [...behind, ...more])));
      if (found.length > limit || max === null) break;
      [end] = await tx.query<InvitationPlace>(stop, behind);
      if (end === undefined) break;
      passed += max;
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
    passed: !isFull && end !== undefined ? passed : null,
  };
}

/** Those of the ids that are in sight, by name. */
export function findSeenInvitations(
  tx: Tx,
  organisationId: number,
  ids: readonly string[],
  visibility: Visibility,
  now: Date,
): Promise<SeenInvitation[]> {
  return tx.query<SeenInvitation>(byIds, [organisationId, now, ids, visibility]);
}

/** The open invitations of a run, in the order of its rows. */
export function findInvitationsOfRun(
  tx: Tx,
  organisationId: number,
  given: { runId: string; after: number; limit: number; visibility: Visibility; now: Date },
): Promise<(SeenInvitation & { row_no: number })[]> {
  const { runId, after, limit, visibility, now } = given;
  return tx.query(ofRun, [organisationId, now, runId, visibility, after, limit]);
}
