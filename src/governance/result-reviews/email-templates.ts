import { longDay } from '../../platform/time/dates.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { writeToMembers } from '../../organisations/users/email-templates.ts';
import { managers } from '../../organisations/users/roles.ts';

/**
 * Emails the people who manage the organisation and its reviewers, because the request has a deadline. The email contains neither the
 * learner's name nor the text of the request.
 */
export function writeOfRequest(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  dueAt: Date,
): Promise<void> {
  const cause = `review_requested ${assessmentId} ${work.nowMs}`;
  return writeToMembers(work, organisationId, [...managers, 'reviewer'], cause, (organisation, base, zone) => ({
    subject: `A learner of ${organisation} asks for a human review`,
    says: [
      `A learner has asked for a human review of a result. The answer is due by ${longDay(dueAt, zone)}.`,
      'A person who has not decided on the result before reads the learner’s text, checks the answers, and decides. The learner reads the answer on the page of the result.',
      { to: `${base}/review/${assessmentId}`, label: 'Open the review' },
    ],
  }));
}
