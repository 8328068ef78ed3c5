export const invitationStates = ['invited', 'started', 'finished', 'expired', 'cancelled'] as const;
export type InvitationState = (typeof invitationStates)[number];

/**
 * SQL: the state of an invitation `i`; $1 is the organisation. An open sitting can be continued after its link has
 * expired, so the invitation stays `started`.
 */
export const stateOfInvitation = (now: string): string => `
  case i.status
    when 'used' then 'finished'
    when 'withdrawn' then 'cancelled'
    else case
      when exists (
        select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id and s.status = 'open')
        then 'started'
      when i.expires_at <= ${now} then 'expired'
      when exists (
        select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id and s.status = 'completed')
        then 'started'
      else 'invited' end end`;

/**
 * SQL: the state of a learner's newest invitation, or `none`; $1 is the organisation. The SQL sorts all of the
 * learner's invitations, because with `order by … limit 1` the planner may scan the invitations of all learners.
 */
export const newestInvitationState = (learnerId: string, now: string): string => `
  coalesce((select ${stateOfInvitation(now)} from invitation i
             where i.organisation_id = $1 and i.invitation_id = (
               select (array_agg(n.invitation_id order by n.created_at desc, n.invitation_id desc))[1] from invitation n
                where n.organisation_id = $1 and n.learner_id = ${learnerId})), 'none')`;
