import { type Tx, statement } from '../../platform/db/database.ts';
import { type Visibility, isVisibleLearner } from '../../organisations/groups/visibility.ts';
import type { Subject } from '../../engine/scoring/levels.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { type InvitationState, stateOfInvitation } from './invitation-state.ts';

export type LearnerHead = {
  learner_id: string;
  ref: string | null;
  /** Empty for a tombstone. */
  full_name: string;
  email: string | null;
  created_at: Date;
  position: number;
  merged_into: string | null;
};

export type RecordedResult = {
  assessment_id: string;
  deleted: boolean;
  assessed_at: number;
  position: number;
  source: 'imported' | 'sitting';
  /** The sitting's ScoredResult as JSON; null for imported results. */
  scored: string | null;
  body: string | null;
};

export type RecordedMembership = {
  group_id: string;
  type: string;
  ref: string;
  name: string;
  active: boolean;
  joined_position: number;
  left_position: number | null;
};

export type RecordedInvitation = {
  invitation_id: string;
  subjects: string[];
  created_at: Date;
  expires_at: Date;
  state: InvitationState;
  is_open: boolean;
  done: string[];
  /** When the learner last worked on an open sitting. */
  last_seen_at: Date | null;
};

export type RecordedChange = {
  at: Date;
  kind: string;
  actor: string;
  reason: string | null;
  /** The changed result; null if the learner was changed. */
  assessment_id: string | null;
  subject: Subject | null;
};

const head = statement('records.head')`
  select l.learner_id, l.ref, l.full_name, l.email, l.created_at, f.position, l.merged_into from learner l
    join learner_feed f on f.organisation_id = l.organisation_id and f.learner_id = l.learner_id
   where l.organisation_id = $1 and l.learner_id = $2 and ${isVisibleLearner('l.learner_id', '$3')}`;
const results = statement('records.results')`
  select f.assessment_id, f.deleted, f.assessed_at, f.position, a.source, a.body, s.result as scored
    from assessment_feed f
    join assessment a on a.organisation_id = $1 and a.assessment_id = f.assessment_id
    left join sitting s on a.source = 'sitting' and s.organisation_id = $1 and s.assessment_id = f.assessment_id
   where f.organisation_id = $1 and f.learner_id = $2 and ${isVisibleLearner('f.learner_id', '$3')}
   order by f.assessed_at desc, f.assessment_id desc limit $4`;
const memberships = statement('records.memberships')`
  select g.group_id, g.type, g.ref, g.name, g.active, m.joined_position, m.left_position
    from membership m join learner_group g on g.organisation_id = $1 and g.group_id = m.group_id
   where m.organisation_id = $1 and m.learner_id = $2 and ${isVisibleLearner('m.learner_id', '$3')}
   order by m.left_position desc nulls first, g.type, g.name, m.joined_position desc, g.group_id limit $4`;
const invitations = statement('records.invitations')`
  select i.invitation_id, i.subjects, i.created_at, i.expires_at, i.status = 'open' as is_open, ${stateOfInvitation('$5::timestamptz')} as state, s.done, s.last_seen_at
    from (select * from (
            select * from invitation i where i.organisation_id = $1 and i.learner_id = $2 and ${isVisibleLearner('i.learner_id', '$3')} offset 0) i
           order by i.created_at desc, i.invitation_id desc limit $4) i
    cross join lateral (
      select coalesce(array_agg(distinct s.subject) filter (where s.status = 'completed'), '{}') as done,
             max(s.last_seen_at) filter (where s.status = 'open') as last_seen_at
        from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id) s
   order by i.created_at desc, i.invitation_id desc`;
const changes = statement('records.changes')`
  select c.*, substring(a.body from '"subject":"(\\w+)"') as subject from (
    select at, case c.field when 'email' then 'contacted' else kind end as kind, actor, reason, null::uuid as assessment_id from learner_change c
     where c.organisation_id = $1 and c.learner_id = $2 and ${isVisibleLearner('c.learner_id', '$3')}
    union all
    select c.at, c.kind, c.actor, c.reason, c.assessment_id from assessment_feed f
      join assessment_change c on c.organisation_id = $1 and c.assessment_id = f.assessment_id
     where f.organisation_id = $1 and f.learner_id = $2 and ${isVisibleLearner('f.learner_id', '$3')}
     order by at desc, assessment_id limit $4) c
    left join assessment a on a.organisation_id = $1 and a.assessment_id = c.assessment_id
   order by c.at desc, c.assessment_id`;

/** Finds a visible learner or tombstone; undefined for any other ID. */
export async function findLearnerHead(tx: Tx, organisationId: number, visibility: Visibility, learnerId: string) {
  if (!isUuid(learnerId)) return undefined;
  return (await tx.query<LearnerHead>(head, [organisationId, learnerId.toLowerCase(), visibility]))[0];
}

/** A learner's results, memberships, invitations and changes: the newest `limit` of each. */
export async function readRecord(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
  learnerId: string,
  { limit, now }: { limit: number; now: Date },
) {
  const values = [organisationId, learnerId, visibility, limit];
  const [resultRows, membershipRows, invitationRows, changeRows] = await Promise.all([
    tx.query<RecordedResult>(results, values),
    tx.query<RecordedMembership>(memberships, values),
    tx.query<RecordedInvitation>(invitations, [...values, now]),
    tx.query<RecordedChange>(changes, values),
  ]);
  return { results: resultRows, memberships: membershipRows, invitations: invitationRows, changes: changeRows };
}

const liveResults = statement('records.live_results')`
  select count(*) as count from assessment_feed where organisation_id = $1 and learner_id = $2 and not deleted`;

export async function countLiveResults(tx: Tx, organisationId: number, learnerId: string): Promise<number> {
  return (await tx.query<{ count: number }>(liveResults, [organisationId, learnerId]))[0]!.count;
}
