-- What a call asked for and what it was sent: JSON without names or references. Null for what older versions write.
alter table audit add column detail text;

-- The audit log becomes partitioned by month in three steps (0027 to 0029), so that no lock lasts longer than a moment however
-- large it is: a check that is not validated yet, its validation beside all writers, and then the exchange of names.
-- What lies beyond the check by a clock that was wrong goes where all such rows will go.
create table audit_default (like audit, primary key (organisation_id, audit_id));
do $$
declare
  bound timestamptz := date_trunc('month', current_setting('ars.now')::timestamptz + interval '40 days', 'UTC');
begin
  with moved as (delete from audit where at >= bound returning *) insert into audit_default select * from moved;
  execute format('alter table audit add constraint audit_before_bound check (at < %L::timestamptz) not valid', bound);
end $$;

-- One row for each organisation, which its sealer locks: the last block, the highest number that is sealed, and up to where
-- no row can turn up any more (floor): what was sealed when every transaction before mark_xid had ended.
create table audit_chain (
  organisation_id int8 primary key,
  blocks          int8 not null default 0,
  hash            bytea not null default '',
  sealed_id       int8 not null default 0,
  floor_id        int8 not null default 0,
  floor_block     int8 not null default 0,
  mark_id         int8 not null default 0,
  mark_block      int8 not null default 0,
  mark_xid        int8 not null default 0,
  -- Rows before this time went with their months.
  dropped_before  timestamptz
) with (fillfactor = 50);

-- Rows of the log in the order in which they were sealed, and the hash over them and the block before. Once the rows went
-- with their month, ids is null and the hash stays as an anchor. counters: refused calls of a minute that is over.
create table audit_block (
  organisation_id int8 not null,
  number          int8 not null,
  sealed_at       timestamptz not null,
  first_at        timestamptz not null,
  last_at         timestamptz not null,
  rows            int4 not null,
  ids             int8[],
  counters        text,
  hash            bytea not null,
  primary key (organisation_id, number)
);

-- Sealed rows by the hour, for what would take too long to count or to find in the rows themselves.
-- status 0 and code '': none. lowest_id and highest_id bound the rows; the positions those of pages that were sent.
create table audit_hour (
  organisation_id int8 not null,
  hour            timestamptz not null,
  actor           text not null,
  action          text not null,
  status          int2 not null,
  code            text not null,
  calls           int8 not null,
  last_at         timestamptz not null,
  lowest_id       int8 not null,
  highest_id      int8 not null,
  pages           int8 not null,
  first_position  int8,
  last_position   int8,
  primary key (organisation_id, hour, actor, action, status, code)
) with (fillfactor = 80);

alter table refused_calls add column sealed_calls int8 not null default 0;
