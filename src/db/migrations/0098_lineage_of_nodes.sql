-- mark: of the last backup that was put in place, so that of several processes that find it one begins the feeds again.
-- nodes: on a cluster what each worker is, by its group; a standby that takes a worker's place, or a restored one, is another.
alter table lineage add column mark text;
alter table lineage add column nodes jsonb not null default '{}';
