/** What became of an invitation, as the provider's people say it. */
export const invitationStates = ['invited', 'started', 'finished', 'expired', 'cancelled'] as const;
export type InvitationState = (typeof invitationStates)[number];

/**
 * The state of a row `i` of invitations, as an expression; the statement's $1 is the organisation. Whoever is in the middle of a sitting goes on with it after the
 * link's end, too.
 * @param now the parameter that holds the instant
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
 * The state of a learner's newest invitation, or `none`, as an expression; the statement's $1 is the organisation. The
 * newest is taken of all that the learner has, which are few: asked for one in order, the planner may walk everybody's.
 */
export const newestInvitationState = (learnerId: string, now: string): string => `
  coalesce((select ${stateOfInvitation(now)} from invitation i
             where i.organisation_id = $1 and i.invitation_id = (
               select (array_agg(n.invitation_id order by n.created_at desc, n.invitation_id desc))[1] from invitation n
                where n.organisation_id = $1 and n.learner_id = ${learnerId})), 'none')`;
