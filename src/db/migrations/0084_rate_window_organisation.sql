-- So that a key's window lies with its organisation once the database is distributed. The version before doesn't fill it in:
-- what it makes is filled before anything is distributed.
alter table rate_window add column organisation_id bigint;
