-- Who moves changes as many rows here as in the feed, and most of them for good: cleaned up as often as the feed is.
alter table scope_exit set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
alter table membership set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
