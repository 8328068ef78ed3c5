-- Who opened which page about which learner.
create table lookup (
  organisation_id bigint not null references organisation on delete cascade,
  learner_id uuid not null,
  at timestamptz not null,
  user_id uuid not null,
  page text not null,
  primary key (organisation_id, learner_id, at, user_id, page)
);
create index lookup_at on lookup (at);
