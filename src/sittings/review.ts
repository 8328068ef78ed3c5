import type { App } from '../app.ts';
import type { ScoredResult } from '../scoring/score.ts';
import type { Subject } from '../scoring/levels.ts';
import type { ItemOutcome } from '../scoring/score.ts';
import { banksOf } from './banks.ts';
import type { Course } from './signs.ts';
import { changeSign, courseOf } from './signs.ts';
import { findItems, findSittingOfResult } from './store.ts';

/** One question as it went; what was typed is not shown. */
export type ReviewedItem = {
  position: number;
  item_id: string;
  skill: string;
  outcome: ItemOutcome;
  /** Null where it was not measured. */
  working_ms: number | null;
  pauses: number;
  paused_ms: number;
};

/** How the sitting behind a result went, for somebody at the provider who looks at the result. */
export type SittingReview = {
  sitting_id: string;
  assessment_id: string;
  subject: Subject;
  started_at: Date;
  finished_at: Date;
  working_ms: number;
  time_limit_ms: number;
  ended: Course['ended'];
  /** Null where they were not measured. */
  pauses: { count: number; seconds: number } | null;
  signs: Course['signs'];
  items: ReviewedItem[];
};

/** @returns undefined for a result that came from no sitting here, was withdrawn, or is another organisation's */
export async function reviewSitting(
  app: App,
  organisationId: number,
  assessmentId: string,
): Promise<SittingReview | undefined> {
  const sitting = await findSittingOfResult(app.db, organisationId, assessmentId);
  if (sitting === undefined || sitting.result === null) return undefined;
  const items = await findItems(app.db, sitting);
  const { bank } = await banksOf(app).version(app.db, sitting.bank_version);
  const { ended, pauses, signs } = courseOf(sitting, bank, items);
  return {
    sitting_id: sitting.sitting_id,
    assessment_id: assessmentId,
    subject: sitting.subject,
    started_at: sitting.started_at,
    finished_at: sitting.finished_at!,
    working_ms: sitting.used_ms,
    time_limit_ms: sitting.time_limit_ms,
    ended,
    pauses: pauses ?? null,
    signs: { ...signs, ...changeSign(JSON.parse(sitting.result) as ScoredResult) },
    items: items.map((row) => ({
      position: row.position,
      item_id: row.item_id,
      skill: bank.item(row.item_id)!.skill,
      outcome: row.outcome!,
      working_ms: row.working_ms,
      pauses: row.pauses,
      paused_ms: row.paused_ms,
    })),
  };
}
