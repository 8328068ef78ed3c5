-- A sitting under a cancelled invitation has no result (docs/decisions/0137). Those that were under way when theirs was cancelled
-- couldn't be gone on with, kept the learner from beginning the subject under another one, and were scored after 48 hours.
update sitting s
   set status = 'void', void_reason = 'cancelled', finished_at = s.last_seen_at, on_screen_since = null
  from invitation i
 where s.status = 'open' and i.organisation_id = s.organisation_id and i.invitation_id = s.invitation_id and i.status = 'withdrawn';
