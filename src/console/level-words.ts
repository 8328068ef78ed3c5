import { contentOf } from '../assessments/body.ts';
import type { Subject } from '../scoring/levels.ts';

/** What pages call subjects and levels. */

export const subjectNames: Record<Subject, string> = { digital: 'Digital', english: 'English', maths: 'Maths' };

/** `Maths: Level 1`, of a result as it is stored. */
export function levelWords(body: string, assessedAtUs: number): string {
  const { subject, working_level, rqf_level } = contentOf(body, assessedAtUs);
  return `${subjectNames[subject]}: ${working_level ?? rqf_level ?? 'not placed'}`;
}
