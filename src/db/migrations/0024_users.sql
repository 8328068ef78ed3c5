-- People who use an organisation's console. An account belongs to no organisation: one person may be in several. The same
-- e-mail address may have several accounts, because whoever invites an address must not learn whether it has one elsewhere.
create table user_account (
  user_id        uuid primary key,
  email          text not null,
  full_name      text not null,
  -- argon2id with its parameters and salt; null for somebody who signs in at an organisation's provider only.
  password       text,
  -- Encrypted; null until a second factor is set up.
  totp_secret    text,
  -- The last time step whose code was used: each is good for one sign-in.
  totp_step      int8 not null default 0,
  -- SHA-256 of the recovery codes that are left.
  recovery_codes bytea[] not null default '{}',
  created_at     timestamptz not null
);
create index user_account_email on user_account (email);

create table user_membership (
  organisation_id int8 not null references organisation,
  user_id         uuid not null references user_account,
  role            text not null check (role in ('owner', 'admin', 'developer', 'tutor', 'auditor')),
  created_at      timestamptz not null,
  primary key (organisation_id, user_id)
);
create index user_membership_user on user_membership (user_id);

create table user_invitation (
  organisation_id int8 not null references organisation,
  invitation_id   uuid not null,
  token_sha256    bytea not null,
  email           text not null,
  role            text not null check (role in ('owner', 'admin', 'developer', 'tutor', 'auditor')),
  -- The inviting user's id, or `operator`.
  invited_by      text not null,
  created_at      timestamptz not null,
  expires_at      timestamptz not null,
  primary key (organisation_id, invitation_id)
);
create unique index user_invitation_token on user_invitation (token_sha256);

create table user_session (
  session_id     uuid primary key,
  token_sha256   bytea not null unique,
  user_id        uuid not null references user_account,
  -- `code`: the password was right, the second factor is still asked for.
  stage          text not null check (stage in ('code', 'full')),
  created_at     timestamptz not null,
  last_seen_at   timestamptz not null,
  -- When the person last proved who they are.
  proved_at      timestamptz not null,
  -- Browser and system in a few words, for the list of sessions.
  client         text not null,
  -- The encrypted secret of a second factor that is being set up.
  pending_totp   text
);
create index user_session_user on user_session (user_id);
create index user_session_last_seen on user_session (last_seen_at);

-- Failed attempts to sign in, by account and by address, both as keyed hashes.
create table sign_in_attempts (
  subject  bytea primary key,
  failures int4 not null,
  since    timestamptz not null
);

-- Dates on the organisation's pages are shown by its clocks.
alter table organisation add column time_zone text not null default 'Europe/London';
