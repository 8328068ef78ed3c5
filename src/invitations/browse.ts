import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Sight } from '../groups/sight.ts';
import { inSight } from '../groups/sight.ts';
import { nilUuid } from '../uuid.ts';
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
    join learner l on l.organisation_id = i.organisation_id and l.learner_id = i.learner_id
    cross join lateral (
      select count(*) > 0 as begun, coalesce(bool_or(s.status = 'open'), false) as under_way,
             max(s.last_seen_at) filter (where s.status = 'open' and s.on_screen_since is null and s.stop is null) as paused_at
        from sitting s where s.organisation_id = i.organisation_id and s.invitation_id = i.invitation_id) s`;

/** What narrows the scan before any sitting is looked at. */
const before: Record<InvitationState, string> = {
  sent: "i.status = 'open' and i.expires_at > $2",
  opened: "i.status = 'open'",
  paused:
    "i.status = 'open' and i.invitation_id in (select o.invitation_id from sitting o where o.organisation_id = $1 and o.status = 'open')",
  used: "i.status = 'used'",
  expired: "i.status = 'open' and i.expires_at <= $2",
  cancelled: "i.status = 'withdrawn'",
};

/** With a sight, the list begins with the members: they are few, and invitations are many. */
function listOf(state: InvitationState | 'all', whose: 'all' | 'members') {
  const from =
    whose === 'all'
      ? 'invitation i'
      : `(select distinct m.learner_id from membership m
           where m.organisation_id = $1 and m.group_id = any($6::uuid[]) and m.left_position is null) m
         join invitation i on i.organisation_id = $1 and i.learner_id = m.learner_id`;
  const only = state === 'all' ? 'true' : `${before[state]} and ${stateOf()} = '${state}'`;
  return statement(
    `invitation.browse_${state}_${whose}`,
    `
  select ${seen} from ${from} ${around}
   where i.organisation_id = $1 and (i.created_at, i.invitation_id) < ($3, $4) and ${only}
   order by i.created_at desc, i.invitation_id desc limit $5`,
  );
}

const lists = new Map(
  (['all', ...invitationStates] as const).map((state) => [
    state,
    { all: listOf(state, 'all'), members: listOf(state, 'members') },
  ]),
);

const byIds = statement(
  'invitation.seen_by_ids',
  `
  select ${seen} from invitation i ${around}
   where i.organisation_id = $1 and i.invitation_id = any($3) and ${inSight('i.learner_id', '$4')}
   order by l.full_name, i.invitation_id`,
);
const ofRun = statement(
  'invitation.seen_of_run',
  `
  select r.row_no, ${seen} from invitation_run_row r
    join invitation i on i.organisation_id = r.organisation_id and i.invitation_id = r.invitation_id ${around}
   where r.organisation_id = $1 and r.run_id = $3 and r.row_no > $5 and i.status = 'open' and ${inSight('i.learner_id', '$4')}
   order by r.row_no limit $6`,
);

/** The newest first, in one state or in any, those made before `before`. */
export function browseInvitations(
  tx: Tx,
  organisationId: number,
  given: {
    state: InvitationState | null;
    before: Pick<Invitation, 'created_at' | 'invitation_id'> | null;
    sight: Sight;
    limit: number;
    now: Date;
  },
): Promise<SeenInvitation[]> {
  const { state, before: from, sight, limit, now } = given;
  const list = lists.get(state ?? 'all')!;
  const values = [organisationId, now, from?.created_at ?? 'infinity', from?.invitation_id ?? nilUuid, limit];
  return sight === null
    ? tx.query<SeenInvitation>(list.all, values)
    : tx.query<SeenInvitation>(list.members, [...values, sight]);
}

/** Those of the ids that are in sight, by name. */
export function findSeenInvitations(
  tx: Tx,
  organisationId: number,
  ids: readonly string[],
  sight: Sight,
  now: Date,
): Promise<SeenInvitation[]> {
  return tx.query<SeenInvitation>(byIds, [organisationId, now, ids, sight]);
}

/** The open invitations of a run, in the order of its rows. */
export function findInvitationsOfRun(
  tx: Tx,
  organisationId: number,
  given: { runId: string; after: number; limit: number; sight: Sight; now: Date },
): Promise<(SeenInvitation & { row_no: number })[]> {
  const { runId, after, limit, sight, now } = given;
  return tx.query(ofRun, [organisationId, now, runId, sight, after, limit]);
}
