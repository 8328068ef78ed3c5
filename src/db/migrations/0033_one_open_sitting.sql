-- A learner has at most one open sitting in a subject: two invitations at once used to let two run, which shared questions.
-- Of such twins the one touched last goes on; the others are void, which costs the learner nothing.
lock table sitting in share row exclusive mode;
update sitting s
   set status = 'void', void_reason = 'second_sitting', finished_at = s.last_seen_at, on_screen_since = null
  from (select organisation_id, sitting_id,
               row_number() over (partition by organisation_id, learner_id, subject order by last_seen_at desc, sitting_id) as n
          from sitting where status = 'open') twin
 where twin.organisation_id = s.organisation_id and twin.sitting_id = s.sitting_id and twin.n > 1;
create unique index sitting_open_of_learner on sitting (organisation_id, learner_id, subject) where status = 'open';
