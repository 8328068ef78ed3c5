-- The tables of before become the partitions of all ids that name no day. Nothing is read or copied: the checks say what they hold.
set local timezone = 'UTC';

-- Nobody may wait behind this for longer than a moment, so it asks again and again.
do $$
begin
  for attempt in 1..300 loop
    begin
      set local lock_timeout = '200ms';
      lock table event, delivery, delivery_attempt in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      perform pg_sleep(0.2);
    end;
  end loop;
  raise lock_not_available using message = 'a transaction that has read events or deliveries goes on for too long';
end $$;

alter table event rename to event_before;
alter index event_pkey rename to event_before_pkey;
alter index event_assessment rename to event_before_assessment;
alter index event_learner rename to event_before_learner;
alter index event_number rename to event_before_number;
alter index event_occurred rename to event_before_occurred;
alter table delivery rename to delivery_before;
alter index delivery_pkey rename to delivery_before_pkey;
alter index delivery_dead rename to delivery_before_dead;
alter index delivery_due rename to delivery_before_due;
alter index delivery_listed rename to delivery_before_listed;
alter table delivery_attempt rename to delivery_attempt_before;
alter index delivery_attempt_pkey rename to delivery_attempt_before_pkey;

create sequence event_counter as int8;
do $$
declare
  last_number int8;
begin
  execute format('select case when is_called then last_value else 0 end from %s', pg_get_serial_sequence('event_before', 'number')) into last_number;
  if last_number > 0 then
    perform setval('event_counter', last_number);
  end if;
end $$;
alter table event_before alter column number drop identity;

create table event (like event_default including constraints) partition by range (event_id);
alter table event alter column number set default nextval('event_counter');
alter sequence event_counter owned by event.number;
alter table event add primary key (organisation_id, event_id);
create index event_assessment on event (organisation_id, substring(payload, '"assessment_id":"([0-9a-f-]{36})"'))
  where type = 'assessment.completed' and emptied is null;
create index event_learner on event (organisation_id, substring(payload, '"learner_ref":"([^"]*)"'))
  where type = 'learner.groups.updated' and emptied is null;
create index event_occurred on event (organisation_id, occurred_at);
-- Only of a part: a key of the whole would have to hold the id.
create unique index event_default_number on event_default (organisation_id, number);

create table delivery (like delivery_default including defaults including constraints) partition by range (delivery_id);
alter table delivery add primary key (organisation_id, delivery_id);
create index delivery_dead on delivery (organisation_id, endpoint_id, created_at) where status = 'dead';
create index delivery_due on delivery (organisation_id, endpoint_id, next_attempt_at, delivery_id) where status = 'pending';
create index delivery_listed on delivery (organisation_id, endpoint_id, created_at);

create table delivery_attempt (like delivery_attempt_default including constraints) partition by range (delivery_id);
alter table delivery_attempt add primary key (organisation_id, delivery_id, number);

alter table event attach partition event_default default;
alter table event attach partition event_before for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);
alter table event_before drop constraint event_before_bound;
alter table delivery attach partition delivery_default default;
alter table delivery attach partition delivery_before for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);
alter table delivery_before drop constraint delivery_before_bound;
alter table delivery_attempt attach partition delivery_attempt_default default;
alter table delivery_attempt attach partition delivery_attempt_before for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);
alter table delivery_attempt_before drop constraint delivery_attempt_before_bound;

-- One row: from when on ids name their days. While the version before still runs beside this one, none does.
create table event_begun (
  one         bool primary key default true check (one),
  months_from timestamptz not null
);

-- The lowest id of a day.
create function event_day(at timestamptz) returns uuid immutable language plpgsql as $$
begin
  return ('00000000-' || lpad(to_hex(floor(extract(epoch from at) / 86400)::int4), 4, '0') || '-0000-0000-000000000000')::uuid;
end $$;

-- Makes the partitions of a month, if there are none: rows of the month that came before them move there.
create function make_event_month(month timestamptz) returns void language plpgsql set timezone = 'UTC' as $$
declare
  lowest text := quote_literal(event_day(month));
  beyond text := quote_literal(event_day(month + interval '1 month'));
  made record;
  name text;
begin
  for made in select * from (values
    ('event', 'event_id', ''),
    ('delivery', 'delivery_id', 'with (autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1)'),
    ('delivery_attempt', 'delivery_id', '')) t(whole, key, options)
  loop
    name := made.whole || to_char(month at time zone 'UTC', '"_"YYYY_MM');
    continue when to_regclass(name) is not null;
    execute format('create table %I (like %I including defaults including constraints including indexes) %s', name, made.whole, made.options);
    if made.whole = 'event' then
      execute format('create unique index %I on %I (organisation_id, number)', name || '_number', name);
    end if;
    -- Taken in the end anyway: what comes for this month meanwhile must not be left behind.
    execute format('lock table %I in access exclusive mode', made.whole || '_default');
    execute format('with moved as (delete from %I where %I >= %s and %I < %s returning *) insert into %I select * from moved',
      made.whole || '_default', made.key, lowest, made.key, beyond, name);
    execute format('alter table %I attach partition %I for values from (%s) to (%s)', made.whole, name, lowest, beyond);
  end loop;
end $$;

do $$
declare
  given_now timestamptz := current_setting('ars.now')::timestamptz;
  month timestamptz := date_trunc('month', given_now, 'UTC');
  later timestamptz := date_trunc('month', given_now + interval '40 days', 'UTC');
begin
  if exists (select from organisation) then
    insert into event_begun (months_from) values (later);
    perform make_event_month(later);
  else
    -- Nobody is there yet: all ids name their days, and nothing is of before.
    insert into event_begun (months_from) values (to_timestamp(0));
    drop table event_before, delivery_before, delivery_attempt_before;
    perform make_event_month(month);
    perform make_event_month(month + interval '1 month');
  end if;
end $$;
