-- What was told of a result that is withdrawn, or of a learner that is erased, is emptied: `emptied` says which, and its
-- deliveries are cancelled. The indexes find events by what they are about, whichever version of the service wrote them.
alter table event add column emptied text check (emptied in ('withdrawn', 'erased'));
create index event_assessment on event (organisation_id, (substring(payload from '"assessment_id":"([0-9a-f-]{36})"')))
  where type = 'assessment.completed' and emptied is null;
create index event_learner on event (organisation_id, (substring(payload from '"learner_ref":"([^"]*)"')))
  where type = 'learner.groups.updated' and emptied is null;
alter table delivery drop constraint delivery_status_check;
alter table delivery add constraint delivery_status_check check (status in ('pending', 'succeeded', 'dead', 'cancelled'));

-- What was withdrawn before.
with gone as (
  select e.organisation_id, e.event_id from assessment a
    join event e on e.organisation_id = a.organisation_id and e.type = 'assessment.completed' and e.emptied is null
                and substring(e.payload from '"assessment_id":"([0-9a-f-]{36})"') = a.assessment_id::text
   where a.body is null),
emptied as (
  update event e set payload = '', emptied = 'withdrawn' from gone
   where e.organisation_id = gone.organisation_id and e.event_id = gone.event_id)
update delivery d set status = 'cancelled', next_attempt_at = null, finished_at = d.created_at from gone
 where d.organisation_id = gone.organisation_id and d.event_id = gone.event_id and d.status = 'pending';

-- Evidence outlives its result as a hash, a date and an id: enough to tell a withdrawn file from a forged one.
alter table evidence alter column input drop not null, alter column pdf drop not null, add column withdrawn_at timestamptz;

-- The provider's number in the UK Register of Learning Providers, and who watched a sitting: evidence prints both.
alter table organisation add column ukprn text check (ukprn ~ '^1[0-9]{7}$');
alter table invitation add column supervisor text;
