-- What the service's secret is known by, so that a process with another one is refused at its start. One row.
create table service_secret (
  one         bool primary key default true check (one),
  fingerprint text not null,
  since       timestamptz not null
);

-- Secrets of a webhook endpoint before `previous_secret` that still sign, the newest first: [{"secret": …, "until": …}].
alter table webhook_endpoint add column earlier_secrets jsonb not null default '[]';
