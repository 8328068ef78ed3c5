import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearners } from '../../feed/stamp.ts';
import type { StoredAssessment } from './store.ts';
import { findLive, setReportSha256, stampAssessments } from './store.ts';

/**
 * Ties a report's hash to the result that it was made from, which gives the result and its learner new positions.
 * @returns false when the result has changed since `from` was read, or has a report already
 */
export async function attachReport(
  work: UnitOfWork,
  organisationId: number,
  from: StoredAssessment,
  sha256: string,
): Promise<boolean> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, from.assessment_id);
  if (row === undefined || row.report_sha256 !== null || row.body !== from.body || row.learner !== from.learner)
    return false;
  await setReportSha256(work.tx, organisationId, row.assessment_id, sha256);
  await stampAssessments(work, feed, [row]);
  await stampLearners(work, feed, [row.learner_id]);
  return true;
}
