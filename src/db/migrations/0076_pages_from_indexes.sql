-- concurrently
-- Pages of the console look through indexes that say everything by themselves: learners in the order of names and references,
-- and what else a learner has been assessed at. Tables and their unique keys are as they were, so the version before goes on.

drop index concurrently if exists learner_by_name_covering;

create index concurrently learner_by_name_covering on learner (organisation_id, folded_name(full_name) collate "C", learner_id)
  include (full_name) where full_name <> '';

drop index concurrently if exists learner_by_name;

alter index learner_by_name_covering rename to learner_by_name;

drop index concurrently if exists learner_by_ref_covering;

create index concurrently learner_by_ref_covering on learner (organisation_id, coalesce(lower(ref collate "C"), '~'), learner_id)
  include (ref) where full_name <> '';

drop index concurrently if exists learner_by_ref;

alter index learner_by_ref_covering rename to learner_by_ref;

drop index concurrently if exists assessment_feed_covering;

create unique index concurrently assessment_feed_covering on assessment_feed (organisation_id, learner_id, assessment_id)
  include (assessed_at, facet, deleted);

-- The exchange takes a moment; nobody may wait behind this for longer, so it asks again and again.
do $$
begin
  for attempt in 1..300 loop
    begin
      set local lock_timeout = '200ms';
      alter table assessment_feed drop constraint assessment_feed_pkey,
        add constraint assessment_feed_pkey primary key using index assessment_feed_covering;
      return;
    exception when lock_not_available or deadlock_detected then
      perform pg_sleep(0.2);
    end;
  end loop;
  raise lock_not_available using message = 'a transaction that has read results goes on for too long';
end $$;

-- An erasure finds a person's waiting rows by name and by address, too.
drop index concurrently if exists invitation_run_row_name;

create index concurrently invitation_run_row_name on invitation_run_row (organisation_id, lower(cells ->> 'full_name')) where cells is not null;

drop index concurrently if exists invitation_run_row_email;

create index concurrently invitation_run_row_email on invitation_run_row (organisation_id, lower(cells ->> 'email')) where cells is not null;
