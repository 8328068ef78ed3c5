-- What sittings kept of results that were withdrawn before a withdrawal saw to it, and of learners that were forgotten.
with gone as (
  update sitting s set result = null
   where s.status <> 'open'
     and (exists (select from assessment a
                   where a.organisation_id = s.organisation_id and a.assessment_id = s.assessment_id and a.body is null)
          or exists (select from learner_feed f
                      where f.organisation_id = s.organisation_id and f.learner_id = s.learner_id and f.deleted))
  returning s.organisation_id, s.sitting_id)
update sitting_item i set answer = null from gone g
 where i.organisation_id = g.organisation_id and i.sitting_id = g.sitting_id and i.answer is not null;
