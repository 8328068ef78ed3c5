-- What a key is for, whom to ask about it, where it may be used from, and what it may see. Networks, groups and subjects
-- are fixed when the key is made; null is no bound. Of a key that has any of them the secret is hashed twice: a version
-- from before this one knows no bounds, and must take such a key for an unknown one.
alter table access_key
  add column purpose   text,
  add column contact   text,
  add column networks  cidr[] check (cardinality(networks) > 0),
  add column group_ids uuid[] check (cardinality(group_ids) > 0),
  add column subjects  text[] check (cardinality(subjects) > 0),
  add column replaces  text references access_key;

-- From which networks and by which clients a key was used lately. rate_window knows the time of its last use exactly; these
-- rows follow within seconds.
create table key_use (
  organisation_id int8 not null,
  key_id          text not null references access_key on delete cascade,
  network         text not null,
  client          text not null,
  first_at        timestamptz not null,
  last_at         timestamptz not null,
  primary key (organisation_id, key_id, network, client)
);
alter table key_use alter column organisation_id set (n_distinct = 1);
