import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';

/** Why a record stands in the feed where it stands: what has changed about it since a position. */

export type Cause = 'completed' | 'amended' | 'renamed' | 'joined_or_left' | 'group_changed' | 'reported';

export type Changed = {
  learner_id: string;
  /** What most likely brought it; null where nothing of that is recorded, as of results that were imported. */
  cause: Cause | null;
  /** Of the groups that were asked for, those that its learner has left: type and reference. */
  left: string[];
};

/** The first that holds is told. */
const causes: readonly Cause[] = ['completed', 'amended', 'renamed', 'joined_or_left', 'group_changed', 'reported'];

type Facts = Record<Cause, boolean> & { assessment_id: string; learner_id: string; left: string[] };

// A learner who has left a group and is in it again is a member who has joined since.
const facts = statement(
  'trace.entries',
  `
  select f.assessment_id, f.learner_id,
         exists (select from event e where e.organisation_id = $1 and e.type = 'assessment.completed' and e.emptied is null
                    and substring(e.payload from '"assessment_id":"([0-9a-f-]{36})"') = f.assessment_id::text
                    and e.occurred_at >= $4) or (a.source = 'sitting' and v.made_at >= $4) as completed,
         coalesce(v.made_at >= $4, false) as reported,
         exists (select from assessment_change c where c.organisation_id = $1 and c.assessment_id = f.assessment_id
                    and c.kind = 'amended' and c.at >= $4) as amended,
         exists (select from learner_change c where c.organisation_id = $1 and c.learner_id = f.learner_id
                    and c.kind in ('renamed', 'referenced', 'merged') and c.field is null and c.at >= $4)
           or exists (select from learner l where l.organisation_id = $1 and l.learner_id = f.learner_id and l.named_at > $3) as renamed,
         exists (select from membership m where m.organisation_id = $1 and m.learner_id = f.learner_id and m.left_position is null
                    and m.joined_position > $3)
           or exists (select from scope_exit x where x.organisation_id = $1 and x.learner_id = f.learner_id
                    and x.assessment_id = f.assessment_id and x.position > $3) as joined_or_left,
         exists (select from membership m join learner_group g on g.organisation_id = $1 and g.group_id = m.group_id
                  where m.organisation_id = $1 and m.learner_id = f.learner_id and m.left_position is null and g.position > $3) as group_changed,
         coalesce((select array_agg(g.type || ' ' || g.ref order by g.type, g.ref)
                     from scope_exit x join learner_group g on g.organisation_id = $1 and g.group_id = x.group_id
                    where x.organisation_id = $1 and x.learner_id = f.learner_id and x.assessment_id = f.assessment_id
                      and x.group_id = any($5::uuid[])), '{}') as "left"
    from assessment a
    join assessment_feed f on f.organisation_id = $1 and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
    left join lateral (select min(e.created_at) as made_at from evidence e
                        where e.organisation_id = $1 and e.assessment_id = a.assessment_id) v on true
   where a.organisation_id = $1 and a.assessment_id = any($2::uuid[])`,
);

/** What has changed about each of the results since a position, by their ids. */
export async function readChanged(
  tx: Tx,
  organisationId: number,
  ids: readonly string[],
  sinceUs: number,
  groupIds: readonly string[] | null,
): Promise<Map<string, Changed>> {
  const since = new Date(Math.floor(sinceUs / 1000));
  const rows = await tx.query<Facts>(facts, [organisationId, ids, sinceUs, since, groupIds ?? []]);
  return new Map(
    rows.map((row) => [
      row.assessment_id,
      { learner_id: row.learner_id, cause: causes.find((cause) => row[cause]) ?? null, left: row.left },
    ]),
  );
}
