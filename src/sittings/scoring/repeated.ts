import { statement, type Tx } from '../../platform/db/database.ts';

const repeated = statement('sitting.repeated')`
  select count(*) filter (where i.item_id = any(s.withheld))::int4 as questions, count(*)::int4 as of
    from sitting s join sitting_item i on i.organisation_id = s.organisation_id and i.sitting_id = s.sitting_id
   where s.organisation_id = $1 and s.assessment_id = $2 and i.outcome <> 'not_reached' and not i.pilot`;

/** How many questions of a result's sitting the learner had seen in earlier sittings; null if none. */
export async function findRepeated(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
): Promise<{ questions: number; of: number } | null> {
  const [row] = await tx.query<{ questions: number; of: number }>(repeated, [organisationId, assessmentId]);
  return row!.questions === 0 ? null : row!;
}

export const repeatedWords = ({ questions, of }: { questions: number; of: number }): string =>
  `${questions} of ${of} questions were also in an earlier sitting of this learner`;
