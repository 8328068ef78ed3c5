import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { type StoredAssessment, findLive, setReportSha256, stampAssessments } from './store.ts';

/** Replaces the report hash of a live result in the expected state. @returns whether the hash was replaced */
async function setReport(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  sha256: string | null,
  isExpected: (row: StoredAssessment) => boolean,
): Promise<boolean> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined || !isExpected(row)) return false;
  await setReportSha256(work.tx, organisationId, assessmentId, sha256);
  await stampAssessments(work, feed, [row]);
  return true;
}

/** @returns false if the result has changed since `from` was read, or already has a report */
export function attachReport(work: UnitOfWork, organisationId: number, from: StoredAssessment, sha256: string) {
  return setReport(
    work,
    organisationId,
    from.assessment_id,
    sha256,
    (row) => row.report_sha256 === null && row.body === from.body && row.learner === from.learner,
  );
}

/** Detaches the report with this hash from its result. The next read makes a new report. */
export async function dropReport(work: UnitOfWork, organisationId: number, assessmentId: string, sha256: string) {
  await setReport(work, organisationId, assessmentId, null, (row) => row.report_sha256 === sha256);
}
