-- Mails that wait to be sent, and what became of them. To whom one goes and what it says is sealed under the service's
-- secret, because it may hold a link that opens something, and is erased once the mail has gone or was given up.
create table mail (
  mail_id         uuid primary key,
  -- Null where it tells a person of their own account.
  organisation_id int8 references organisation on delete cascade,
  -- What it tells of and to whom, in ids: nobody is told of one thing twice.
  cause           text not null unique,
  sealed          bytea,
  -- `sending`: the mail server may have it from here on, so it is never sent again. `unknown`: whether it went, nobody can say.
  status          text not null check (status in ('waiting', 'sending', 'sent', 'refused', 'expired', 'unknown')),
  attempts        int4 not null default 0,
  -- When it is tried next; while a worker holds it, when the worker's time is over.
  next_attempt_at timestamptz,
  held_by         uuid,
  created_at      timestamptz not null,
  -- After this it is of no use to anybody.
  expires_at      timestamptz not null,
  finished_at     timestamptz
);
create index mail_due on mail (next_attempt_at) where status in ('waiting', 'sending');
create index mail_finished on mail (finished_at) where finished_at is not null;
