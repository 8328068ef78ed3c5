-- Who works with a team: a tutor sees the learners who are members of the team's group.
create table team_staff (
  organisation_id int8 not null,
  group_id        uuid not null,
  user_id         uuid not null,
  primary key (organisation_id, group_id, user_id),
  foreign key (organisation_id, group_id) references learner_group on delete cascade,
  foreign key (organisation_id, user_id) references user_membership on delete cascade
);
alter table team_staff alter column organisation_id set (n_distinct = 1);

create index team_staff_user on team_staff (organisation_id, user_id);
