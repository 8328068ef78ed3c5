import { type Tx, statement } from '../../platform/db/database.ts';
import { type Visibility, amongMembers, haveFewMembers } from '../../organisations/groups/visibility.ts';
import { waiting } from './browse.ts';
import { limits } from '../../platform/config/limits.ts';

/** Counts of invitations that learners have not begun, for the dashboard. */

const members = `
  select distinct m.learner_id from membership m
   where m.organisation_id = $1 and m.group_id = any($4::uuid[]) and m.left_position is null`;

const unbegun =
  'not exists (select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id offset 0)';

/** Builds the statement that counts waiting invitations. `from` starts at the teams' members or at all invitations. */
const invitations = (from: string) => {
  const counted = (more: string) => `
    (select count(*)::int4 from (
       select from ${from} i.organisation_id = $1 and ${more}
          and ${unbegun} and ($4::uuid[] is null or ${amongMembers('i.learner_id', '$4')}) limit $3) c)`;
  return `
  select ${counted(waiting.unopened)} as unopened, ${counted(waiting.ending)} as expiring`;
};
const everybodysInvitations = statement('today.invitations', invitations('invitation i where'));
const invitationsOfTeams = statement(
  'today.invitations_of_teams',
  invitations(`(${members}) t cross join lateral (
    select * from invitation o where o.organisation_id = $1 and o.learner_id = t.learner_id offset 0) i where`),
);

type Invitations = { unopened: number; expiring: number };

export async function countInvitations(
  tx: Tx,
  id: number,
  visibility: Visibility,
  nowMs: number,
): Promise<Invitations> {
  const values = [id, new Date(nowMs), limits.maxCounted + 1];
  const isFew = visibility !== null && (await haveFewMembers(tx, id, visibility));
  const rows = await tx.query<Invitations>(isFew ? invitationsOfTeams : everybodysInvitations, [...values, visibility]);
  return rows[0]!;
}
