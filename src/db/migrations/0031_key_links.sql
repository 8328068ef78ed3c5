-- Links by which a vendor makes the one key that was described beforehand, and sees its secret; nobody else does.
create table key_link (
  organisation_id int8 not null references organisation on delete cascade,
  link_id         uuid not null,
  description     jsonb not null,
  created_by      text not null,
  created_at      timestamptz not null,
  expires_at      timestamptz not null,
  revoked_at      timestamptz,
  key_id          text references access_key on delete cascade,
  used_at         timestamptz,
  primary key (organisation_id, link_id)
);
alter table key_link alter column organisation_id set (n_distinct = 1);
