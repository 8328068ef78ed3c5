-- Reads through the tables beside everybody who writes to them.
alter table event validate constraint event_before_bound;
alter table delivery validate constraint delivery_before_bound;
alter table delivery_attempt validate constraint delivery_attempt_before_bound;
