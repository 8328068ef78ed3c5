-- A sitting that begins only with a code that a supervisor, signed in, releases at that moment. A version from before this
-- one begins such a sitting without a code, until it is replaced.
alter table invitation add column start_code bool not null default false;
create table start_code (
  organisation_id int8 not null,
  invitation_id   uuid not null,
  -- A keyed hash: the code itself is stored nowhere.
  code_mac        bytea not null,
  released_by     uuid not null,
  released_at     timestamptz not null,
  expires_at      timestamptz not null,
  tries           int2 not null default 0,
  used_at         timestamptz,
  primary key (organisation_id, invitation_id),
  foreign key (organisation_id, invitation_id) references invitation on delete cascade
);
alter table start_code alter column organisation_id set (n_distinct = 1);

-- Who released the code that a sitting began with, by name, and when; null where it needed none.
alter table sitting add column released_by text, add column released_at timestamptz;
