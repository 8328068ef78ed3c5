-- How long each question was worked on, without pauses, and how often and how long it was paused. Null working time: the
-- question was closed by a version that didn't measure it, so of its sitting neither times nor pauses are known.
alter table sitting_item
  add column working_ms bigint,
  add column pauses integer not null default 0,
  add column paused_ms bigint not null default 0;
