/**
 * SQL for a lateral join with a learner's row `l`: the learner's newest live result in each subject. $1 is the
 * organisation.
 */
export const lastAssessedOf = `(
    select max(n.assessed_at) as last_assessed_at, array_agg(n.assessment_id order by n.subject) as last_ids, array_agg(a.body order by n.subject) as last_bodies
      from (select distinct on (f.facet >> 3) f.facet >> 3 as subject, f.assessed_at, f.assessment_id
              from assessment_feed f
             where f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted
             order by f.facet >> 3, f.assessed_at desc, f.assessment_id desc) n
      cross join lateral (
        select body from assessment b where b.organisation_id = $1 and b.assessment_id = n.assessment_id offset 0) a)`;
