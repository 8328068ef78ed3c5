import { contentOf } from '../../../records/results/body.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';

/** `Maths: Level 1` */
export function levelWords(body: string, assessedAtUs: number): string {
  const { subject, working_level, rqf_level } = contentOf(body, assessedAtUs);
  return `${shortSubjectNames[subject]}: ${working_level ?? rqf_level ?? 'not placed'}`;
}
