-- Sign-in at an organisation's own provider (OpenID Connect). The secret is encrypted.
create table organisation_sso (
  organisation_id int8 primary key references organisation,
  issuer          text not null,
  client_id       text not null,
  client_secret   text not null,
  -- What the claim tid or hd must be, for providers whose issuer many organisations share; null where it is theirs alone.
  tenant          text,
  changed_at      timestamptz not null
);

-- Who somebody is at their organisation's provider: never an e-mail address, which a provider may give to others later.
create table user_identity (
  organisation_id int8 not null references organisation,
  issuer          text not null,
  subject         text not null,
  user_id         uuid not null references user_account,
  created_at      timestamptz not null,
  primary key (organisation_id, issuer, subject)
);
create index user_identity_user on user_identity (user_id);

-- A session that began at an organisation's provider: it opens that organisation and nothing else.
alter table user_session add column sso_organisation_id int8;
