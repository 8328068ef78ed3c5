import { recordReplaced } from '../../records/results/amend.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { storeEdition } from '../../records/evidence/evidence.ts';
import { moveSitting } from '../../sittings/sittings.ts';
import { withdrawAssessment } from '../erasure/withdraw.ts';
import { type Decision, openReview, type Refusal } from './decide.ts';
import type { Replacement } from './replacement.ts';

/**
 * Replaces a withdrawn result in one unit of work. Reviews, amendments, the sitting and its answers move to the new
 * result.
 * @returns null on success; `changed` also if the old result has changed since `prepareReplacement`
 */
export async function recordAgain(
  work: UnitOfWork,
  organisationId: number,
  { from, to, edition, atMs }: Replacement,
  decision: Decision & { reason: string },
): Promise<Refusal | null> {
  const found = await openReview(work, organisationId, from.assessment_id, decision);
  if (typeof found === 'string') return found;
  const isSame = (['learner_id', 'learner', 'body'] as const).every((name) => found.row[name] === from[name]);
  if (!isSame) return 'changed';
  const { actor, reason, answer } = decision;
  await recordReplaced(work, found.feed, from, to, { at: new Date(atMs), actor, reason, answer });
  await storeEdition(work, organisationId, edition);
  await moveSitting(work.tx, organisationId, from.assessment_id, to.assessment_id);
  await withdrawAssessment(work, organisationId, from.assessment_id, { actor, reason });
  return null;
}
