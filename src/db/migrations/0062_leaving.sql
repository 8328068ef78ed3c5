-- An organisation that leaves: closed for everybody, its export, and what was deleted of it.
alter table organisation add column suspended_at timestamptz;
alter table organisation add column suspended_for text;
-- The endpoints that the suspension paused, to be resumed with it.
alter table organisation add column paused_endpoints uuid[];
alter table organisation add column exported_at timestamptz;
alter table organisation add column export_sha256 text;
-- What an admission asks: its keys are refused. A version from before this one doesn't know of it.
alter table feed add column suspended boolean not null default false;

-- It outlives the organisation, whose number it holds without referring to it, and names nobody.
create table organisation_deletion (
  public_id   uuid not null primary key,
  former_id   int8 not null,
  began_at    timestamptz not null,
  ended_at    timestamptz,
  counts      jsonb not null default '{}',
  audit_end   jsonb,
  certificate text
);
