-- References that a learner had before, or had who was merged into the learner: they reach the learner for good. An
-- erasure leaves keyed hashes of them.
create table learner_alias (
  organisation_id int8 not null,
  alias_id        uuid not null,
  learner_id      uuid not null,
  ref             text,
  ref_hash        bytea,
  primary key (organisation_id, alias_id),
  foreign key (organisation_id, learner_id) references learner,
  check (num_nonnulls(ref, ref_hash) = 1)
);
alter table learner_alias alter column organisation_id set (n_distinct = 1);

create unique index learner_alias_ref on learner_alias (organisation_id, ref) where ref is not null;
create index learner_alias_ref_hash on learner_alias (organisation_id, ref_hash) where ref_hash is not null;
create index learner_alias_learner on learner_alias (organisation_id, learner_id);

-- The learner that somebody turned out to be.
alter table learner add column merged_into uuid;
create index learner_merged_into on learner (organisation_id, merged_into) where merged_into is not null;

alter table learner_change drop constraint learner_change_kind_check;
alter table learner_change add constraint learner_change_kind_check
  check (kind in ('renamed', 'referenced', 'erased', 'merged'));
