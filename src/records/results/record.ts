import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { emitAssessmentCompleted } from '../../feed/events/emit.ts';
import type { Feed } from '../../feed/position.ts';
import { stampLearners } from '../../feed/stamp.ts';
import { groupSetsOf, renderSets } from '../../feed/group-sets.ts';
import { limits } from '../../platform/config/limits.ts';
import { apiBase } from '../../platform/config/settings.ts';
import { assessmentJson } from './body.ts';
import { subjectOf } from './facet.ts';
import { openReviews } from './reviews.ts';
import type { NewAssessment } from './store.ts';
import { findLive, insertAssessments } from './store.ts';

/** The absolute address under which evidence PDFs are, up to the assessment's id. */
export function reportBase(baseUrl: string): string {
  return `${baseUrl}${apiBase}/assessments/`;
}

/**
 * Records completed results: into the feed, onto their learners, where they bear a flag into the queue of reviews, and, where wanted, into events, in one unit of work
 * whose feed lock is held. The learners exist; `madeLearners` were made in this unit of work, so nobody has seen them
 * at the position that they got then, and they need no newer one.
 */
export async function recordAssessments(
  work: UnitOfWork,
  feed: Feed,
  rows: NewAssessment[],
  options: { events: boolean; madeLearners?: ReadonlySet<string> },
): Promise<void> {
  if (rows.length === 0) return;
  const learnerIds = [...new Set(rows.map((row) => row.learner_id))];
  const first = feed.next();
  feed.used(rows.length);
  // While the database stamps learners, the texts of their results are put together, and the reviews while it stores those.
  await Promise.all([
    stampLearners(
      work,
      feed,
      learnerIds.filter((id) => options.madeLearners?.has(id) !== true),
    ),
    insertAssessments(work, feed, rows, first),
    openReviews(
      work,
      feed.organisationId,
      rows.flatMap((row) => (row.flags.length === 0 ? [] : { ...row, subject: subjectOf(row.facet) })),
    ),
  ]);
  if (!options.events) return;
  const setOf = await groupSetsOf(work.tx, feed.organisationId, learnerIds);
  const sets = await renderSets(work.tx, feed.organisationId, [...new Set(setOf.values())]);
  await emitAssessmentCompleted(
    work,
    feed.organisationId,
    rows.map((row, i) => {
      const set = sets.get(setOf.get(row.learner_id)!)!;
      const columns = { ...row, position: first + i * limits.positionStepUs, shape: feed.shape };
      return { json: assessmentJson(columns, set.json, reportBase(work.settings.baseUrl)), groupIds: set.groupIds };
    }),
  );
}

/** Tells of results that this unit of work recorded without events, as they are by now. */
export async function tellOfAssessments(work: UnitOfWork, feed: Feed, assessmentIds: string[]): Promise<void> {
  const rows = [];
  for (const id of assessmentIds) rows.push((await findLive(work.tx, feed.organisationId, id))!);
  const sets = await renderSets(work.tx, feed.organisationId, [...new Set(rows.map((row) => row.group_set_id))]);
  await emitAssessmentCompleted(
    work,
    feed.organisationId,
    rows.map((row) => {
      const set = sets.get(row.group_set_id)!;
      return { json: assessmentJson(row, set.json, reportBase(work.settings.baseUrl)), groupIds: set.groupIds };
    }),
  );
}
