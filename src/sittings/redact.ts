import { statement, type Tx } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';

/** After a sitting has ended, only the evidence keeps its supervision, so these columns become null. */
const forgotten = 'supervision = null, supervisor = null, retake_reason = null';

const voidOf = statement('sitting.void_of_learner')`
  update sitting set status = 'void', void_reason = $3, finished_at = $4, ${forgotten} where organisation_id = $1 and learner_id = $2 and status = 'open'
  returning sitting_id`;
const voidUnder = statement('sitting.void_under_invitation')`
  update sitting set status = 'void', void_reason = $3, finished_at = $4, ${forgotten} where organisation_id = $1 and invitation_id = $2 and status = 'open'`;

/** Items and outcomes stay, because later sittings prefer items that the learner hasn't seen. */
function emptiedWhere(name: string, whose: string) {
  return statement(`sitting.emptied_${name}`)`
  with emptied as (
    update sitting set result = null, released_by = null, ${forgotten} where organisation_id = $1 and ${whose} returning sitting_id)
  update sitting_item i set answer = null, device = null, language = null from emptied e
   where i.organisation_id = $1 and i.sitting_id = e.sitting_id and coalesce(i.answer, i.device, i.language) is not null`;
}
const emptiedOfResult = emptiedWhere('of_result', 'assessment_id = $2');
const emptiedOfLearners = emptiedWhere('of_learners', 'learner_id = any($2)');

const emptiedBefore = statement('sitting.emptied_before')`
  update sitting_item i set answer = null from sitting s
   where s.organisation_id = $1 and s.learner_id = $2 and s.finished_at < $3
     and i.organisation_id = $1 and i.sitting_id = s.sitting_id and i.answer is not null
  returning i.position`;

/** Ends the learner's open sittings without a result. @returns how many sittings ended */
export async function voidSittingsOfLearner(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
): Promise<number> {
  return (await work.tx.query(voidOf, [organisationId, learnerId, 'erased', new Date(work.nowMs)])).length;
}

export async function voidSittingsOfInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
): Promise<void> {
  await work.tx.query(voidUnder, [organisationId, invitationId, 'cancelled', new Date(work.nowMs)]);
}

export async function redactSittingOfResult(tx: Tx, organisationId: number, assessmentId: string): Promise<void> {
  await tx.query(emptiedOfResult, [organisationId, assessmentId]);
}

/** Removes answers and results from all sittings of the learners. The caller has ended their open sittings. */
export async function redactSittingsOfLearners(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(emptiedOfLearners, [organisationId, learnerIds]);
}

/** Removes a learner's answers from sittings that ended before this time. @returns how many answers were removed */
export async function deleteAnswersBefore(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  before: Date,
): Promise<number> {
  return (await tx.query(emptiedBefore, [organisationId, learnerId, before])).length;
}
