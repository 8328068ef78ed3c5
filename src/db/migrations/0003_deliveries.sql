-- A worker holds an endpoint's lane until leased_until: it alone delivers to the endpoint, so that the deliveries under way
-- to it are bounded over all workers. warned_at: when it was said that the endpoint will be disabled.
alter table webhook_endpoint
  add column leased_by uuid,
  add column leased_until timestamptz,
  add column warned_at timestamptz;
alter table webhook_endpoint set (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

-- Events are written under the feed's lock, so within an organisation the order of numbers is the order of commits:
-- a reader that follows the numbers misses none.
alter table event add column number int8 generated always as identity;
create unique index event_number on event (organisation_id, number);

-- attempts counts all of a delivery's attempts, resent_after those before it was last sent again: the schedule starts anew there.
alter table delivery
  drop column leased_until,
  add column resent_after int4 not null default 0,
  add column finished_at timestamptz;
-- The statement that writes deliveries takes their events from the same statement; checking each row again took a third of its time.
alter table delivery drop constraint delivery_organisation_id_event_id_fkey;
drop index delivery_due;
create index delivery_due on delivery (organisation_id, endpoint_id, next_attempt_at, delivery_id) where status = 'pending';
create index delivery_dead on delivery (organisation_id, endpoint_id, created_at) where status = 'dead';
alter table delivery set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);

-- Removed with its delivery.
create table delivery_attempt (
  organisation_id int8 not null,
  delivery_id     uuid not null,
  number          int4 not null,
  at              timestamptz not null,
  status_code     int2,
  duration_ms     int4 not null,
  error           text,
  primary key (organisation_id, delivery_id, number)
);
