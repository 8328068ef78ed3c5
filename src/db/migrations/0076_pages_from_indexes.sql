-- What pages of the console look through, an index says by itself: learners in the order of names and references, and what else
-- a learner has been assessed at. Tables and their unique keys are as they were, so the version before goes on with them.
create index learner_by_name_covering on learner (organisation_id, folded_name(full_name) collate "C", learner_id)
  include (full_name) where full_name <> '';
drop index learner_by_name;
alter index learner_by_name_covering rename to learner_by_name;

create index learner_by_ref_covering on learner (organisation_id, coalesce(lower(ref collate "C"), '~'), learner_id)
  include (ref) where full_name <> '';
drop index learner_by_ref;
alter index learner_by_ref_covering rename to learner_by_ref;

create unique index assessment_feed_covering on assessment_feed (organisation_id, learner_id, assessment_id)
  include (assessed_at, facet, deleted);
alter table assessment_feed drop constraint assessment_feed_pkey,
  add constraint assessment_feed_pkey primary key using index assessment_feed_covering;

-- An erasure finds a person's waiting rows by name and by address, too.
create index invitation_run_row_name on invitation_run_row (organisation_id, lower(cells ->> 'full_name')) where cells is not null;
create index invitation_run_row_email on invitation_run_row (organisation_id, lower(cells ->> 'email')) where cells is not null;
