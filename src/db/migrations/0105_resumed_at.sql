-- When an organisation was last resumed: until then nobody could have come back to a sitting of it.
alter table feed add column resumed_at timestamptz;
