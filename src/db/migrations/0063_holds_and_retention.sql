-- Who or what must be kept, whatever else is deleted: a learner, or (null) the whole organisation.
create table legal_hold (
  organisation_id bigint not null references organisation on delete cascade,
  hold_id uuid not null,
  learner_id uuid,
  reason text not null,
  placed_at timestamptz not null,
  placed_by text not null,
  ends_at timestamptz,
  released_at timestamptz,
  released_by text,
  primary key (organisation_id, hold_id)
);
create index legal_hold_open on legal_hold (organisation_id, learner_id) where released_at is null;

-- For how many months each kind of data is kept; a kind that isn't in it has the default of src/retention/kinds.ts.
create table retention_policy (
  organisation_id bigint not null references organisation on delete cascade,
  months jsonb not null,
  automatic boolean not null default false,
  next_at timestamptz,
  changed_at timestamptz not null,
  changed_by text not null,
  primary key (organisation_id)
);
create index retention_policy_next on retention_policy (next_at) where automatic;

-- One run over all that is due, or its rehearsal, which only counts. How far it has come is kept in the transaction of
-- each step.
create table retention_run (
  organisation_id bigint not null references organisation on delete cascade,
  run_id uuid not null,
  rehearsal boolean not null,
  months jsonb not null,
  created_at timestamptz not null,
  created_by text not null,
  kind text,
  reached uuid,
  tally jsonb not null default '{}',
  stopped_by text,
  finished_at timestamptz,
  primary key (organisation_id, run_id)
);
create index retention_run_open on retention_run (created_at) where finished_at is null;
create index retention_run_listed on retention_run (organisation_id, created_at);

-- An erasure takes the reasons of what an invitation cost, wherever in the ledger they stand.
create index credit_entry_invitation on credit_entry (organisation_id, invitation_id) where invitation_id is not null;
