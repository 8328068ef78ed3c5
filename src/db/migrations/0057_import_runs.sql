-- Results that somebody imports in the console: read and tried first, and then written batch by batch in the background.
create table import_run (
  organisation_id int8 not null references organisation on delete cascade,
  run_id          uuid not null,
  status          text not null default 'ready' check (status in ('ready', 'running', 'cancelled', 'finished')),
  created_by      text not null,
  created_at      timestamptz not null,
  dates           text not null check (dates in ('rfc3339', 'uk')),
  events          bool not null default false,
  -- What the trial came to, and what was wrong with the lines that it refused: places and what is expected, never what stood there.
  fresh           int4 not null,
  changed         int4 not null,
  same            int4 not null,
  faulty          int4 not null,
  faults          jsonb not null default '[]',
  -- What came of the run.
  imported        int4 not null default 0,
  updated         int4 not null default 0,
  unchanged       int4 not null default 0,
  rejected        int4 not null default 0,
  finished_at     timestamptz,
  primary key (organisation_id, run_id)
);
create index import_run_newest on import_run (organisation_id, created_at desc, run_id desc);
create index import_run_open on import_run (created_at) where status in ('ready', 'running');
alter table import_run alter column organisation_id set (n_distinct = 1);

-- Lines that are to be imported, until they are.
create table import_run_row (
  organisation_id int8 not null,
  run_id          uuid not null,
  row_no          int4 not null,
  record          text not null,
  primary key (organisation_id, run_id, row_no),
  foreign key (organisation_id, run_id) references import_run on delete cascade
);
alter table import_run_row alter column organisation_id set (n_distinct = 1);
