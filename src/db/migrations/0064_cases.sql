-- Requests of people about their data, and complaints, each with its clock.
create table data_case (
  organisation_id bigint not null references organisation on delete cascade,
  case_id uuid not null,
  kind text not null check (kind in ('access', 'erasure', 'rectification', 'objection', 'review', 'complaint')),
  learner_id uuid,
  about text,
  received_at timestamptz not null,
  due_at timestamptz not null,
  extended boolean not null default false,
  paused_since timestamptz,
  paused_ms bigint not null default 0,
  outcome text check (outcome in ('done', 'partly', 'refused', 'withdrawn')),
  opened_by text not null,
  closed_at timestamptz,
  primary key (organisation_id, case_id)
);
create index data_case_open on data_case (organisation_id, due_at, case_id) where closed_at is null;
create index data_case_closed on data_case (organisation_id, closed_at desc, case_id) where closed_at is not null;
create index data_case_learner on data_case (organisation_id, learner_id) where learner_id is not null;

-- What was done in a case, and said: the texts are free, and go with the person.
create table data_case_entry (
  organisation_id bigint not null,
  case_id uuid not null,
  entry_no integer not null,
  at timestamptz not null,
  actor text not null,
  kind text not null check (kind in ('opened', 'note', 'paused', 'resumed', 'extended', 'closed')),
  text text,
  primary key (organisation_id, case_id, entry_no),
  foreign key (organisation_id, case_id) references data_case on delete cascade
);
