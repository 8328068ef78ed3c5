-- Drawn at random by every unit of work that moves the feed. Position and state together name one state of what the
-- organisation shows: a position alone is given out again after a failover that lost commits, or when a backup comes back.
-- groups_version is drawn in the same way from now on, instead of counted.
alter table feed add column state int8 not null default 0;
