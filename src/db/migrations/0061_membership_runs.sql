-- Changes of many memberships, which go on in the background: learners who join a group, leave one, or both at once.
create table membership_run (
  organisation_id int8 not null references organisation on delete cascade,
  run_id          uuid not null,
  joins           uuid,
  leaves          uuid,
  learner_ids     uuid[] not null,
  reached         int4 not null default 0,
  changed         int4 not null default 0,
  created_by      text not null,
  created_at      timestamptz not null,
  finished_at     timestamptz,
  primary key (organisation_id, run_id),
  foreign key (organisation_id, joins) references learner_group on delete cascade,
  foreign key (organisation_id, leaves) references learner_group on delete cascade,
  check (joins is not null or leaves is not null)
);
alter table membership_run alter column organisation_id set (n_distinct = 1);
create index membership_run_open on membership_run (created_at) where finished_at is null;

-- A group's history, the newest first: who joined, and who left.
create index membership_joined on membership (organisation_id, group_id, joined_position);
create index membership_left on membership (organisation_id, group_id, left_position) where left_position is not null;
