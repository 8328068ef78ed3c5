import type { App } from '../src/app.ts';
import { learnerJson, storedTexts } from '../src/assessments/body.ts';
import { recordAssessments } from '../src/assessments/record.ts';
import type { Work } from '../src/db/work.ts';
import { inWork } from '../src/db/work.ts';
import { lockFeed } from '../src/feed/position.ts';
import { insertLearners } from '../src/learners/learners.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';

/** Completions as sittings make them, for the benchmarks of what they cost. */

export type Writers = { id: number; learners: { learner_id: string; ref: string; full_name: string; email: null }[] };

/** Organisations with 200 learners each. */
export function organisationsOfWriters(app: App, count: number): Promise<Writers[]> {
  const made = Array.from({ length: count }, (_, i) =>
    inWork(app, null, async (work) => {
      const organisation = await createOrganisation(work, {
        name: `Writes ${i}`,
        plan: 'unlimited',
        credits: 0,
        groupAutocreate: true,
      });
      const feed = await lockFeed(work, organisation.organisation_id);
      const learners = Array.from({ length: 200 }, (_, l) => ({
        learner_id: work.uuid(),
        ref: `L-${l}`,
        full_name: `Learner ${l}`,
        email: null,
      }));
      await insertLearners(work, feed, learners);
      return { id: organisation.organisation_id, learners };
    }),
  );
  return Promise.all(made);
}

const content = {
  assessed_at_us: 1_760_000_000_000_000,
  subject: 'maths' as const,
  framework: 'Functional Skills subject content',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
  working_level: 'Level 1',
  recommended_next_level: 'Level 2',
  is_borderline: false,
  needs_review: false,
  domains: ['Number and the number system', 'Common measures, shape and space', 'Handling information and data'].map(
    (name) => ({ name, score_pct: 61, status: 'developing' }),
  ),
  level_probabilities: null,
};

/** Somebody of the organisation completes an assessment. */
export async function complete(work: Work, { id, learners }: Writers): Promise<void> {
  const learner = learners[Math.floor(work.random.float() * learners.length)]!;
  const feed = await lockFeed(work, id);
  await recordAssessments(
    work,
    feed,
    [
      {
        assessment_id: work.uuid(),
        learner_id: learner.learner_id,
        source: 'sitting',
        assessed_at: content.assessed_at_us,
        learner: learnerJson(learner.ref, learner.full_name),
        report_sha256: null,
        ...storedTexts(content),
      },
    ],
    { events: true },
  );
}
