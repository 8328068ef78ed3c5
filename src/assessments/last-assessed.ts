/** The newest live result of each subject, by subject, for a learner's row `l`; to be joined laterally. */
export const lastAssessedOf = `(
    select max(n.assessed_at) as last_assessed_at, array_agg(n.assessment_id order by n.subject) as last_ids, array_agg(n.body order by n.subject) as last_bodies
      from (select distinct on (a.facet >> 3) a.facet >> 3 as subject, a.assessed_at, a.assessment_id, a.body
              from assessment_feed n
              join assessment a on a.organisation_id = n.organisation_id and a.assessment_id = n.assessment_id
             where n.organisation_id = l.organisation_id and n.learner_id = l.learner_id and not n.deleted
             order by a.facet >> 3, a.assessed_at desc, a.assessment_id desc) n)`;
