-- A sandbox is an organisation with test data. One that belongs to an organisation is used by the people of that one.
alter table organisation add column sandbox bool not null default false;
alter table organisation add column sandbox_of int8 references organisation;
create unique index organisation_sandbox_of on organisation (sandbox_of) where sandbox_of is not null;

-- Sandboxes that were asked for and wait for the operator.
create table sandbox_request (
  organisation_id int8 primary key references organisation,
  asked_by        uuid not null,
  asked_at        timestamptz not null
);

-- What an organisation's integration has reached, and when it was seen first.
create table milestone (
  organisation_id int8 not null references organisation,
  kind            text not null check (kind in ('walk', 'not_modified', 'webhook', 'made', 'received')),
  at              timestamptz not null,
  primary key (organisation_id, kind)
);

-- When somebody last opened a page of the organisation.
alter table user_membership add column last_used_at timestamptz;
