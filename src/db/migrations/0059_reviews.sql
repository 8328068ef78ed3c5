-- What somebody at the provider has to look at: results that bear a flag, and learners' requests. One row for each time; at
-- most one of a result waits. What was decided stays; texts go with the learner (src/withdrawals/erase.ts).
create table review (
  organisation_id int8 not null,
  assessment_id   uuid not null,
  review_no       int4 not null check (review_no > 0),
  learner_id      uuid not null,
  subject         text not null,
  opened_at       timestamptz not null,
  flags           text[] not null,
  requested_at    timestamptz,
  due_at          timestamptz,
  request         text,
  -- What counts first in the queue: the engines apart, answers that changed in the middle, a learner who asks, and last what
  -- is merely close to a boundary, which is half of all results.
  rank            int2 not null generated always as (
    case when 'needs_review' = any(flags) then 1 when 'person_fit' = any(flags) then 2 when requested_at is not null then 3 else 4 end) stored,
  outcome         text check (outcome in ('confirmed', 'changed', 'withdrawn')),
  decided_at      timestamptz,
  decided_by      text,
  answer          text,
  primary key (organisation_id, assessment_id, review_no),
  check ((outcome is null) = (decided_at is null) and (outcome is null) = (decided_by is null)),
  check ((requested_at is null) = (due_at is null))
);
alter table review alter column organisation_id set (n_distinct = 1);

-- What the version before goes on recording while this one starts is looked at from here on (src/upgrade.ts).
create table review_fill (
  organisation_id int8 not null primary key,
  position        int8 not null
);
insert into review_fill (organisation_id, position) select organisation_id, position from feed;

insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
select organisation_id, assessment_id, 1, learner_id, subject, opened_at, flags
  from (
    select a.organisation_id, a.assessment_id, a.learner_id, substring(a.body from '"subject":"(\w+)"') as subject,
           to_timestamp(a.assessed_at / 1000 / 1000.0) as opened_at,
           array_remove(array[
             case when a.body like '%"needs_review":true%' then 'needs_review' end,
             case when s.result like '%"person_fit"%' then 'person_fit' end,
             case when a.body like '%"is_borderline":true%' then 'borderline' end], null) as flags
      from assessment a
      left join sitting s on s.organisation_id = a.organisation_id and s.assessment_id = a.assessment_id and a.source = 'sitting'
     where a.body is not null) r
 where flags <> '{}';

create unique index review_open on review (organisation_id, assessment_id) where decided_at is null;
create index review_queue on review (organisation_id, rank, subject, opened_at, assessment_id) where decided_at is null;
create index review_due on review (organisation_id, due_at, assessment_id) where decided_at is null and due_at is not null;
create index review_learner on review (organisation_id, learner_id);
create index review_decided on review (organisation_id, decided_at, assessment_id, review_no) where decided_at is not null;
