-- Where a result stood first: its texts are found by it, side by side for results that came side by side, instead of by an id
-- of chance. Results of before, and those of a version that still serves, have none and are found by their ids.
alter table assessment add column first_position bigint;
alter table assessment_feed add column first_position bigint;
