import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { emit } from '../../feed/events/emit.ts';
import type { Feed } from '../../feed/position.ts';
import { stampLearners } from '../../feed/stamp.ts';
import { groupSetsOf, renderSets } from '../../feed/group-sets.ts';
import { limits } from '../../platform/config/limits.ts';
import { apiBase } from '../../platform/config/settings.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { assessmentCompleted } from '../../platform/validation/event-types.ts';
import { type AssessmentColumns, assessmentJson } from './body.ts';
import { openReviews } from './reviews.ts';
import { type NewAssessment, findLive, insertAssessments } from './store.ts';

/** The absolute URL of evidence PDFs, up to the assessment's ID. */
export function reportBase(baseUrl: string): string {
  return `${baseUrl}${apiBase}/assessments/`;
}

/**
 * Stores completed results of existing learners, opens reviews and emits events. The caller holds the feed's lock.
 * Learners get a newer position, except `madeLearners`, which are new in this unit of work.
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
  // The statements are sent together, so that the process prepares one while the database runs another.
  await Promise.all([
    stampLearners(
      work,
      feed,
      learnerIds.filter((id) => options.madeLearners?.has(id) !== true),
    ),
    insertAssessments(work, feed, rows, first),
    openReviews(work, feed.organisationId, rows),
  ]);
  if (!options.events) return;
  const setOf = await groupSetsOf(work.tx, feed.organisationId, learnerIds);
  await emitCompleted(
    work,
    feed,
    rows.map((row, i) => ({
      ...row,
      position: first + i * limits.positionStepUs,
      shape: feed.shape,
      group_set_id: setOf.get(row.learner_id)!,
    })),
  );
}

/** Emits the events of results that this unit of work recorded without events. The events contain the final content. */
export async function emitRecordedAssessments(work: UnitOfWork, feed: Feed, assessmentIds: string[]): Promise<void> {
  const rows = [];
  for (const id of assessmentIds) rows.push((await findLive(work.tx, feed.organisationId, id))!);
  await emitCompleted(work, feed, rows);
}

/**
 * An event's `data` equals, byte for byte, the `data` of GET /assessments/{id} after the commit. Its groups are all groups
 * of the learner, archived groups included.
 */
async function emitCompleted(
  work: UnitOfWork,
  { organisationId }: Feed,
  rows: (AssessmentColumns & { group_set_id: string })[],
): Promise<void> {
  const sets = await renderSets(work.tx, organisationId, [...new Set(rows.map((row) => row.group_set_id))]);
  const base = reportBase(work.settings.baseUrl);
  const event = `{"event":"${assessmentCompleted}","occurred_at":"${formatMs(work.nowMs)}"`;
  const events = rows.map((row) => {
    const { json, groupIds } = sets.get(row.group_set_id)!;
    const data = assessmentJson(row, json, base);
    return { payload: `${event},"data":${data},"group_ids":${JSON.stringify(groupIds)}}`, groupIds };
  });
  await emit(work, organisationId, assessmentCompleted, events);
}
