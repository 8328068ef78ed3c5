-- What an invitation is for, why it was made within the gap that the organisation asks for between two assessments, and
-- when it was last mailed. Invitations by a version from before this one say nothing of it.
alter table invitation
  add column purpose       text check (purpose in ('initial', 'progress', 'end')),
  add column retake_reason text,
  add column mailed_at     timestamptz;
create index invitation_open on invitation (organisation_id, created_at desc, invitation_id desc) include (expires_at)
 where status = 'open';

-- The least days between two assessments of a learner in one subject; null: any.
alter table organisation add column retake_gap_days int2 check (retake_gap_days between 1 and 3650);

-- Many learners invited at once: read and checked first, and then written row by row in the background.
create table invitation_run (
  organisation_id int8 not null references organisation on delete cascade,
  run_id          uuid not null,
  status          text not null default 'draft' check (status in ('draft', 'running', 'waiting', 'cancelled', 'finished')),
  created_by      text not null,
  created_at      timestamptz not null,
  -- The team that everybody joins, and the groups outside which no learner may be touched; null: any.
  team_id         uuid,
  sight           uuid[],
  mails           bool not null default false,
  total           int4 not null,
  -- What the rows come to: faulty ones, learners that are there, open invitations that are given again, credits.
  faulty          int4 not null default 0,
  known           int4 not null default 0,
  open_already    int4 not null default 0,
  credits         int4 not null default 0,
  -- The last row that was dealt with.
  reached         int4 not null default 0,
  invited         int4 not null default 0,
  again           int4 not null default 0,
  refused         int4 not null default 0,
  started_at      timestamptz,
  finished_at     timestamptz,
  primary key (organisation_id, run_id)
);
create index invitation_run_newest on invitation_run (organisation_id, created_at desc, run_id desc);
create index invitation_run_open on invitation_run (created_at) where status in ('draft', 'running', 'waiting');
alter table invitation_run alter column organisation_id set (n_distinct = 1);

-- A row as it was given (cells) and as it was understood (ready), until it is dealt with: then only ids stay.
create table invitation_run_row (
  organisation_id int8 not null,
  run_id          uuid not null,
  row_no          int4 not null,
  cells           jsonb,
  ready           jsonb,
  faults          jsonb,
  outcome         text check (outcome in ('invited', 'again', 'refused')),
  learner_id      uuid,
  invitation_id   uuid,
  primary key (organisation_id, run_id, row_no),
  foreign key (organisation_id, run_id) references invitation_run on delete cascade
);
create index invitation_run_row_faults on invitation_run_row (organisation_id, run_id, row_no) where faults is not null;
create index invitation_run_row_ref on invitation_run_row (organisation_id, (cells ->> 'ref')) where cells is not null;
alter table invitation_run_row alter column organisation_id set (n_distinct = 1);
