-- Every version of the item bank that a sitting was given from, whole, so that any sitting can be replayed and scored again.
create table bank_version (
  version    text primary key,
  content    text not null,
  created_at timestamptz not null
);

-- How long the learner may work, in per cent beyond the usual time: an adjustment that the provider decides.
alter table invitation add column extra_time_pct int2 not null default 0 check (extra_time_pct between 0 and 100);
alter table invitation add column supervision text not null default 'Not supervised';

create table sitting (
  organisation_id int8 not null,
  sitting_id      uuid not null,
  invitation_id   uuid not null,
  learner_id      uuid not null,
  subject         text not null check (subject in ('digital', 'english', 'maths')),
  status          text not null default 'open' check (status in ('open', 'completed', 'void')),
  bank_version    text not null references bank_version,
  -- Frozen when it began: delivery settings and time limit.
  settings        text not null,
  time_limit_ms   int8 not null,
  -- Items that this sitting does without (exposure control) and items that the learner had seen before.
  withheld        text[] not null,
  -- Working time of the questions that are behind, and since when the current one is on the screen; null while paused.
  used_ms         int8 not null default 0,
  on_screen_since timestamptz,
  last_seen_at    timestamptz not null,
  started_at      timestamptz not null,
  finished_at     timestamptz,
  -- Why no further question is asked, as JSON; set when the check page is due.
  stop            text,
  declared_at     timestamptz,
  void_reason     text,
  assessment_id   uuid,
  -- The whole scored result as JSON: both engines, cuts, versions.
  result          text,
  primary key (organisation_id, sitting_id),
  foreign key (organisation_id, invitation_id) references invitation,
  foreign key (organisation_id, learner_id) references learner
);
create unique index sitting_open on sitting (organisation_id, invitation_id, subject) where status = 'open';
create index sitting_invitation on sitting (organisation_id, invitation_id, started_at);
create index sitting_learner on sitting (organisation_id, learner_id);
create index sitting_idle on sitting (last_seen_at) where status = 'open';
create index sitting_assessment on sitting (organisation_id, assessment_id) where assessment_id is not null;
alter table sitting alter column organisation_id set (n_distinct = 1);

-- One row for each question that was shown; the last one without an outcome is the current one.
create table sitting_item (
  organisation_id int8 not null,
  sitting_id      uuid not null,
  position        int4 not null,
  item_id         text not null,
  -- What a template was made with, and what was shown: marking needs nothing else.
  seed            text not null,
  rendered        text not null,
  -- Why this item came next, as JSON: candidates, information, domain need, draws.
  choice          text not null,
  shown_at        timestamptz not null,
  answered_at     timestamptz,
  answer          text,
  outcome         text check (outcome in ('right', 'wrong', 'skipped', 'not_reached')),
  primary key (organisation_id, sitting_id, position),
  foreign key (organisation_id, sitting_id) references sitting
);
alter table sitting_item alter column organisation_id set (n_distinct = 1);
