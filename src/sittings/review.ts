import type { App } from '../platform/app.ts';
import type { Answer } from '../engine/item-bank/mark.ts';
import { rightAnswer } from '../engine/item-bank/mark.ts';
import type { RenderModel } from '../engine/item-bank/render-model.ts';
import { renderModel } from '../engine/item-bank/render-model.ts';
import type { RenderedItem } from '../engine/item-bank/schema.ts';
import type { ScoredResult } from '../engine/scoring/score.ts';
import type { Subject } from '../engine/scoring/levels.ts';
import type { ItemOutcome } from '../engine/scoring/score.ts';
import { banksOf } from './scoring/banks.ts';
import type { Course } from './scoring/engagement-flags.ts';
import { changeSign, courseOf } from './scoring/engagement-flags.ts';
import { suspensionsDuring } from './suspension.ts';
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
  /** The organisation, meanwhile; null where it was not. */
  suspended: { count: number; seconds: number } | null;
  signs: Course['signs'];
  items: ReviewedItem[];
};

/** @returns undefined for a result that came from no sitting here, was withdrawn, or is another organisation's */
export async function reviewSitting(
  app: App,
  organisationId: number,
  assessmentId: string,
): Promise<SittingReview | undefined> {
  return (await reviewScored(app, organisationId, assessmentId))?.review;
}

/** The same with all that both engines found. */
export async function reviewScored(
  app: App,
  organisationId: number,
  assessmentId: string,
): Promise<{ review: SittingReview; scored: ScoredResult } | undefined> {
  const sitting = await findSittingOfResult(app.db, organisationId, assessmentId);
  if (sitting === undefined || sitting.result === null) return undefined;
  const items = await findItems(app.db, sitting);
  const { bank } = await banksOf(app).version(app.db, sitting.bank_version);
  const { ended, pauses, suspended, signs } = courseOf(sitting, bank, items, await suspensionsDuring(app.db, sitting));
  const scored = JSON.parse(sitting.result) as ScoredResult;
  const review: SittingReview = {
    sitting_id: sitting.sitting_id,
    assessment_id: assessmentId,
    subject: sitting.subject,
    started_at: sitting.started_at,
    finished_at: sitting.finished_at!,
    working_ms: sitting.used_ms,
    time_limit_ms: sitting.time_limit_ms,
    ended,
    pauses: pauses ?? null,
    suspended: suspended ?? null,
    signs: { ...signs, ...changeSign(scored) },
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
  return { review, scored };
}

/** What a reader should know of how the answers came about, in words. */
export function signWords({ signs, ended }: Pick<SittingReview, 'signs' | 'ended'>): string[] {
  const { few_answers: few, fast, change } = signs;
  return [
    ...(few === undefined ? [] : [`few answers: ${few.answered}, a full sitting has at least ${few.min}`]),
    ...(ended === 'time_limit' ? ['the time limit ended it'] : []),
    ...(fast === undefined
      ? []
      : [`${fast.answers} of ${fast.of} answers came sooner than their question can be read`]),
    ...(change === undefined ? [] : [`from some question on the answers were much ${change}`]),
  ];
}

/** One question as the learner saw it, with what was typed and what would have been right. */
export type ReviewedQuestion = {
  position: number;
  /** How many questions the sitting had. */
  of: number;
  model: RenderModel;
  /** Null where nothing was filled in. */
  given: Answer | null;
  right: Answer;
  outcome: ItemOutcome;
  working_ms: number | null;
  pauses: number;
  paused_ms: number;
};

/** @returns undefined for what `reviewSitting` doesn't know, and a position that wasn't reached */
export async function reviewQuestion(
  app: App,
  organisationId: number,
  assessmentId: string,
  position: number,
): Promise<ReviewedQuestion | undefined> {
  const sitting = await findSittingOfResult(app.db, organisationId, assessmentId);
  if (sitting === undefined || sitting.result === null) return undefined;
  const items = await findItems(app.db, sitting);
  const row = items.find((one) => one.position === position);
  if (row === undefined) return undefined;
  const { bank } = await banksOf(app).version(app.db, sitting.bank_version);
  const item = bank.item(row.item_id)!;
  const rendered = JSON.parse(row.rendered) as RenderedItem;
  const passage = item.type === 'template' || item.passage === undefined ? null : bank.passage(item.passage)!;
  return {
    position,
    of: items.length,
    model: renderModel(item, rendered, passage),
    given: row.answer === null ? null : (JSON.parse(row.answer) as Answer),
    right: rightAnswer(rendered),
    outcome: row.outcome!,
    working_ms: row.working_ms,
    pauses: row.pauses,
    paused_ms: row.paused_ms,
  };
}
