-- What a mirror compares itself with (docs/decisions/0061): of each record a token, and of all live records how many they
-- are and the sums of their tokens' words, for each group set and facet, and for the organisation as a whole.
alter table assessment_feed add column token int8;

create table digest_cell (
  organisation_id int8 not null,
  group_set_id    uuid not null,
  facet           int2 not null,
  n               int8 not null,
  s1              int8 not null,
  s2              int8 not null,
  primary key (organisation_id, group_set_id, facet)
) with (fillfactor = 50);
alter table digest_cell alter column organisation_id set (n_distinct = 1);

-- Learners up to this one are counted. What is here already is counted in slices once no older process serves.
alter table feed
  add column digest_n       int8 not null default 0,
  add column digest_w1      int8 not null default 0,
  add column digest_w2      int8 not null default 0,
  add column digest_through uuid not null default '00000000-0000-0000-0000-000000000000';
