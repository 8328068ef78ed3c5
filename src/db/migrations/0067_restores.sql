-- Which database this is, by what PostgreSQL itself calls it: after a restore it is another one, or a branch of the same.
-- Empty texts where PostgreSQL tells it to nobody but its superuser.
create table lineage (
  one      boolean primary key default true check (one),
  identity text not null,
  -- How often the database was restored.
  restores int4 not null default 0,
  since    timestamptz not null
);

-- restored_through: records up to this position were there before the last restore and have yet to get a new one; 0 when
-- none has. restored_at: where the feed stood when it began again; what a client remembers of a walk from before is refused.
alter table feed add column restored_through int8 not null default 0;
alter table feed add column restored_at int8 not null default 0;

-- Who was erased, for the list that is kept outside the database.
create index learner_change_erased on learner_change (organisation_id, learner_id) where kind = 'erased';
