-- The log becomes a partition of everything before the bound. Nothing is read or copied: the check says what it holds.
-- Partitions have keys of their own, because a key of the whole would have to hold the time too, and making it would lock.
set local timezone = 'UTC';
lock table audit in access exclusive mode;
alter table audit rename to audit_before;
alter index audit_pkey rename to audit_before_pkey;
create sequence audit_number as int8;

-- One row: from which number and time on calls are recorded with their detail, and where the months begin.
create table audit_begun (
  one        bool primary key default true check (one),
  audit_id   int8 not null,
  at         timestamptz not null,
  months_from timestamptz not null
);

-- Makes the partition of a month, if there is none: rows of the month that came before it move there. It locks nobody who
-- writes to another partition.
create function make_audit_month(month timestamptz) returns void language plpgsql set timezone = 'UTC' as $$
declare
  name text := to_char(month at time zone 'UTC', '"audit_"YYYY_MM');
begin
  if to_regclass(name) is not null then
    return;
  end if;
  execute format('create table %I (like audit including defaults, primary key (organisation_id, audit_id))', name);
  execute format('create index on %I (organisation_id, resource) where resource is not null and status = 200', name);
  execute format('with moved as (delete from audit_default where at >= %L and at < %L returning *) insert into %I select * from moved',
    month, month + interval '1 month', name);
  execute format('alter table audit attach partition %I for values from (%L) to (%L)', name, month, month + interval '1 month');
end $$;

do $$
declare
  bound timestamptz;
  last_id int8;
  given_now timestamptz := current_setting('ars.now')::timestamptz;
begin
  execute format('select case when is_called then last_value else 0 end from %s', pg_get_serial_sequence('audit_before', 'audit_id')) into last_id;
  if last_id > 0 then
    perform setval('audit_number', last_id);
  end if;
  alter table audit_before alter column audit_id drop identity;
  alter table audit_before alter column audit_id set default nextval('audit_number');
  execute 'create table audit (like audit_before including defaults) partition by range (at)';
  select substring(pg_get_constraintdef(oid) from '''([^'']+)''')::timestamptz into bound
    from pg_constraint where conrelid = 'audit_before'::regclass and conname = 'audit_before_bound';
  -- A log that is still empty begins with this month.
  if not exists (select from audit_before) then
    bound := date_trunc('month', given_now, 'UTC');
  end if;
  execute format('alter table audit attach partition audit_before for values from (minvalue) to (%L)', bound);
  alter table audit_before drop constraint audit_before_bound;
  alter table audit_default alter column audit_id set default nextval('audit_number');
  alter table audit attach partition audit_default default;
  insert into audit_begun (audit_id, at, months_from) values (last_id, given_now, bound);
  perform make_audit_month(bound + n * interval '1 month') from generate_series(0, 2) n;
end $$;
alter sequence audit_number owned by audit.audit_id;
