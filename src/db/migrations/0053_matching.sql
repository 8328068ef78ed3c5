-- What probable doubles are found by: short hashes of the name as it is written, as it sounds, and of the reference
-- without case and punctuation. Rows of before get theirs from housekeeping.
alter table learner
  add column name_key int8,
  add column near_key int8,
  add column ref_key  int8;

create index learner_name_key on learner (organisation_id, name_key, learner_id) where name_key is not null;
create index learner_near_key on learner (organisation_id, near_key, learner_id) where near_key is not null;
create index learner_ref_key on learner (organisation_id, ref_key, learner_id) where ref_key is not null;
create index learner_without_ref on learner (organisation_id, learner_id) where ref is null and full_name <> '';
create index learner_unkeyed on learner (organisation_id, learner_id) where name_key is null and full_name <> '';

-- Two learners of whom somebody has said that they are not the same person; the lower id first.
create table learner_distinct (
  organisation_id int8 not null,
  learner_id      uuid not null,
  other_id        uuid not null,
  at              timestamptz not null,
  actor           text not null,
  primary key (organisation_id, learner_id, other_id),
  foreign key (organisation_id, learner_id) references learner,
  foreign key (organisation_id, other_id) references learner,
  check (learner_id < other_id)
);
alter table learner_distinct alter column organisation_id set (n_distinct = 1);
create index learner_distinct_other on learner_distinct (organisation_id, other_id);
