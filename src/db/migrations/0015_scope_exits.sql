-- Results that left a group's scope because their learner left the group, at the position that leaving gave them. They
-- stay there, whatever becomes of the result: a live one's go when the learner is back, a withdrawn one's move to its
-- tombstone. facet and assessed_at never change, so filters need nothing else.
create table scope_exit (
  organisation_id int8 not null,
  group_id        uuid not null,
  position        int8 not null,
  learner_id      uuid not null,
  assessment_id   uuid not null,
  assessed_at     int8 not null,
  facet           int2 not null,
  primary key (organisation_id, learner_id, assessment_id, group_id)
);
create unique index scope_exit_position on scope_exit (organisation_id, group_id, position);
alter table scope_exit alter column organisation_id set (n_distinct = 1);

-- Leaves that a version from before this table wrote, which go on writing while it serves: their exits are looked for by
-- learner, as they were.
alter table membership add column exits_stored boolean not null default false;
create index membership_left_before on membership (organisation_id, group_id, left_position) include (learner_id)
  where left_position is not null and not exits_stored;
drop index membership_left;
