-- What was sent with an attempt beside its body, which is the event's: address and signatures, one a line. Attempts by a
-- version from before this one have none.
alter table delivery_attempt add column sent text;

-- When it was said that an endpoint fails; null while it fares well, and when it has recovered.
alter table webhook_endpoint add column noticed_at timestamptz;
create table endpoint_notice (
  organisation_id int8 not null,
  notice_id       uuid not null,
  endpoint_id     uuid not null,
  at              timestamptz not null,
  kind            text not null check (kind in ('failing', 'recovered', 'disabled')),
  since           timestamptz,
  primary key (organisation_id, notice_id)
);
create index endpoint_notice_at on endpoint_notice (organisation_id, at);
alter table endpoint_notice alter column organisation_id set (n_distinct = 1);

-- Deliveries that are to be sent again in the background: those that had finally failed since a time, or a selection.
create table webhook_resend (
  organisation_id int8 not null references organisation on delete cascade,
  resend_id       uuid not null,
  endpoint_id     uuid,
  failed_since    timestamptz,
  delivery_ids    uuid[],
  created_by      text not null,
  created_at      timestamptz not null,
  total           int4 not null,
  resent          int4 not null default 0,
  -- The last delivery that was looked at: each is sent again at most once, whatever the clocks say.
  reached_at      timestamptz not null default '-infinity',
  reached_id      uuid not null default '00000000-0000-0000-0000-000000000000',
  finished_at     timestamptz,
  primary key (organisation_id, resend_id),
  check ((failed_since is null) <> (delivery_ids is null))
);
create index webhook_resend_open on webhook_resend (created_at) where finished_at is null;
alter table webhook_resend alter column organisation_id set (n_distinct = 1);
