import { statement, type Tx } from '../../platform/db/database.ts';
import { amongMembers, haveFewMembers, type Visibility } from '../../organisations/groups/visibility.ts';

/** How many of the invited learners began and finished, for the dashboard. */

const latest = `i.organisation_id = $1 and i.created_at > $2 and i.status <> 'withdrawn'`;

// `offset 0` makes PostgreSQL check the invitations one by one, not the sittings of all invitations.
const funnelOf = (name: string, from: string) =>
  statement(name)`
  select count(*) as invited, count(*) filter (where i.finished or i.begun) as begun,
         count(*) filter (where i.finished) as finished
    from (select i.status = 'used' as finished, i.status = 'open' and exists (
            select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id offset 0) as begun
            from (select i.invitation_id, i.status from ${from}
                   order by i.created_at desc, i.invitation_id desc limit $3) i) i`;
const ofAll = funnelOf(
  'invitation.funnel',
  `invitation i where ${latest} and ($4::uuid[] is null or ${amongMembers('i.learner_id', '$4')})`,
);
const ofMembers = funnelOf(
  'invitation.funnel_of_members',
  `(select distinct m.learner_id from membership m
     where m.organisation_id = $1 and m.group_id = any($4::uuid[]) and m.left_position is null) m
   cross join lateral (
     select * from invitation o where o.organisation_id = $1 and o.learner_id = m.learner_id offset 0) i where ${latest}`,
);

export type Funnel = { invited: number; begun: number; finished: number };

/** Counts the newest invitations since an instant, without cancelled ones. @param max the most that are counted */
export async function countFunnel(
  tx: Tx,
  organisationId: number,
  { visibility, since, max }: { visibility: Visibility; since: Date; max: number },
): Promise<Funnel> {
  const isFew = visibility !== null && (await haveFewMembers(tx, organisationId, visibility));
  return (await tx.query<Funnel>(isFew ? ofMembers : ofAll, [organisationId, since, max, visibility]))[0]!;
}
