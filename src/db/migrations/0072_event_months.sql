-- Events, their deliveries and the attempts of these go by months, as the audit log does, in three steps (0072 to 0074), so
-- that no lock lasts longer than a moment however many there are. A month is a range of ids: one that begins with 32 zero
-- bits names its day in the 16 bits behind them, and ids of before were drawn from all there are. So the keys hold over all
-- months, whoever has an id finds its month by it, and the version before goes on as it did.
create table event_default (like event including constraints);
create table delivery_default (like delivery including defaults including constraints);
create table delivery_attempt_default (like delivery_attempt including constraints);

-- One in four thousand million looks as if it named a day.
with moved as (delete from event where event_id < '00000001-0000-0000-0000-000000000000' returning *)
insert into event_default select * from moved;
with moved as (delete from delivery where delivery_id < '00000001-0000-0000-0000-000000000000' returning *)
insert into delivery_default select * from moved;
with moved as (delete from delivery_attempt where delivery_id < '00000001-0000-0000-0000-000000000000' returning *)
insert into delivery_attempt_default select * from moved;

alter table event add constraint event_before_bound check (event_id >= '00000001-0000-0000-0000-000000000000') not valid;
alter table delivery add constraint delivery_before_bound check (delivery_id >= '00000001-0000-0000-0000-000000000000') not valid;
alter table delivery_attempt
  add constraint delivery_attempt_before_bound check (delivery_id >= '00000001-0000-0000-0000-000000000000') not valid;
