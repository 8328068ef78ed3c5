-- Through which restore somebody's list of erasures was applied; null while no process with a list has been here.
alter table lineage add column erased_through int4;
