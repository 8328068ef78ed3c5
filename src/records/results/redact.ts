import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearners } from '../../feed/stamp.ts';
import { withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import { findLive, recordChanges, replaceBodies, setReportSha256, stampAssessments } from './store.ts';

/**
 * Takes National Insurance numbers out of a live result's own texts. It is an amendment, of which the history tells
 * that it was made and not what stood there.
 */
export async function redactBody(work: UnitOfWork, organisationId: number, assessmentId: string): Promise<void> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) return;
  const body = withoutNationalInsuranceNumbers(row.body);
  if (body === row.body) return;
  await replaceBodies(work.tx, organisationId, [{ assessment_id: assessmentId, body }]);
  const change = {
    kind: 'amended',
    actor: 'operator',
    reason: 'Redacted: it held a National Insurance number',
  } as const;
  await recordChanges(work, organisationId, change, [{ assessment_id: assessmentId, before: body }]);
  await stampAssessments(work, feed, [row]);
  await stampLearners(work, feed, [row.learner_id]);
}

/** The report of this hash is no longer the result's: the next read makes a new one. */
export async function dropReport(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  sha256: string,
): Promise<void> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined || row.report_sha256 !== sha256) return;
  await setReportSha256(work.tx, organisationId, assessmentId, null);
  await stampAssessments(work, feed, [row]);
  await stampLearners(work, feed, [row.learner_id]);
}
