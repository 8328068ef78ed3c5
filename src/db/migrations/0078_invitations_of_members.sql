-- concurrently
-- A walk over invitations looks their learners up among the members of a tutor's teams: the indexes of its orders say by
-- themselves whose an invitation is. The table is as it was, so the version before goes on with them.

drop index concurrently if exists invitation_created_covering;

create index concurrently invitation_created_covering on invitation (organisation_id, created_at desc, invitation_id desc) include (learner_id);

drop index concurrently if exists invitation_created;

alter index invitation_created_covering rename to invitation_created;

drop index concurrently if exists invitation_ending_covering;

create index concurrently invitation_ending_covering on invitation (organisation_id, expires_at desc, invitation_id desc)
  include (learner_id, created_at) where status = 'open';

drop index concurrently if exists invitation_ending;

alter index invitation_ending_covering rename to invitation_ending;
