-- The shape in which records are shown (src/db/shape.ts): those above shape_position in this one, the others in the
-- one before, until a restamp has moved them. What an older version of the service makes begins in the first.
alter table feed
  add column shape          int2 not null default 1,
  add column shape_position int8 not null default 0;

-- A learner of whom nothing is left is a tombstone in the feed of learners.
alter table learner_feed add column deleted boolean not null default false;

-- When the name was last given outside a result (microseconds since 1970): results of before don't change it.
alter table learner add column named_at int8;

-- What was done to learners at the command line or the console, by whom and why. It holds no names.
create table learner_change (
  organisation_id bigint not null,
  learner_id      uuid not null,
  at              timestamptz not null,
  kind            text not null check (kind in ('renamed', 'erased', 'merged')),
  actor           text not null,
  reason          text,
  primary key (organisation_id, learner_id, at, kind)
);

-- Learners without a reference whose results are all withdrawn, but who may still sit: looked at again until they can't.
create table learner_leaving (
  organisation_id bigint not null,
  learner_id      uuid not null,
  look_at         timestamptz not null,
  primary key (organisation_id, learner_id)
);
create index learner_leaving_look_at on learner_leaving (look_at);
