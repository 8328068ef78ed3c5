/**
 * SQL of the rows of organisation $1 that the sealer hasn't counted yet, those of the last minutes: by their numbers, however
 * many the planner expects there to be.
 */
export const unsealedRows = `(
      select * from audit
       where organisation_id = $1 and audit_id > coalesce((select sealed_id from audit_chain where organisation_id = $1), 0)
       order by audit_id limit 1000000)`;
