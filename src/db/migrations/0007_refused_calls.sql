-- Refused calls of callers that proved no organisation: whose address they came from, as a keyed hash, and how many there
-- were once they were too many to be listed one by one.
alter table audit add column address bytea;

create table refused_calls (
  minute timestamptz not null,
  address bytea not null,
  calls bigint not null,
  primary key (minute, address)
) with (fillfactor = 50);
