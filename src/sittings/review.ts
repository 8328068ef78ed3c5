import type { App } from '../platform/app.ts';
import { type Answer, rightAnswer } from '../engine/item-bank/mark.ts';
import { renderModel } from '../engine/item-bank/render-model.ts';
import type { RenderedItem } from '../engine/item-bank/schema.ts';
import type { ItemOutcome, ScoredResult } from '../engine/scoring/score.ts';
import { banksOf } from './scoring/banks.ts';
import { changeFlag, courseOf } from './scoring/engagement-flags.ts';
import { repeatedWords } from './scoring/repeated.ts';
import { suspensionsDuring } from './suspension.ts';
import { findItems, findSittingOfResult, type SittingItemRow } from './store.ts';

type Times = {
  outcome: ItemOutcome;
  /** Null if the working time was not measured. */
  working_ms: number | null;
  pauses: number;
  paused_ms: number;
  /** The question is on trial, so it is not scored. */
  pilot: boolean;
};

/** A question as the review lists it. The learner's answer is left out. */
export type ReviewedItem = Times & { position: number; item_id: string; skill: string };

const timesOf = ({ outcome, working_ms, pauses, paused_ms, pilot }: SittingItemRow): Times => ({
  outcome: outcome!,
  working_ms,
  pauses,
  paused_ms,
  pilot,
});

/** @returns undefined if the result has no sitting here or was withdrawn */
async function readSitting(app: App, organisationId: number, assessmentId: string) {
  const sitting = await findSittingOfResult(app.db, organisationId, assessmentId);
  if (sitting === undefined || sitting.result === null) return undefined;
  const items = await findItems(app.db, sitting);
  const { bank } = await banksOf(app).version(app.db, sitting.bank_version);
  return { sitting, items, bank, scored: JSON.parse(sitting.result) as ScoredResult };
}

/** @returns undefined if the result has no sitting here or was withdrawn */
export async function reviewSitting(app: App, organisationId: number, assessmentId: string) {
  const found = await readSitting(app, organisationId, assessmentId);
  if (found === undefined) return undefined;
  const { sitting, items, bank, scored } = found;
  const { ended, pauses, suspended, signs } = courseOf(sitting, bank, items, await suspensionsDuring(app.db, sitting));
  return {
    scored,
    review: {
      sitting_id: sitting.sitting_id,
      assessment_id: assessmentId,
      subject: sitting.subject,
      started_at: sitting.started_at,
      finished_at: sitting.finished_at!,
      working_ms: sitting.used_ms,
      time_limit_ms: sitting.time_limit_ms,
      ended,
      /** Null if pauses were not measured. */
      pauses: pauses ?? null,
      /** Null if the organisation was not suspended. */
      suspended: suspended ?? null,
      signs: { ...signs, ...changeFlag(scored) },
      items: items.map((row): ReviewedItem => {
        const { position, item_id } = row;
        return { position, item_id, skill: bank.item(item_id)!.skill, ...timesOf(row) };
      }),
    },
  };
}
export type SittingReview = NonNullable<Awaited<ReturnType<typeof reviewSitting>>>['review'];

export function flagWords({ signs, ended }: Pick<SittingReview, 'signs' | 'ended'>): string[] {
  const { few_answers: few, fast, change, repeated } = signs;
  return [
    ...(few === undefined ? [] : [`few answers: ${few.answered}, a full sitting has at least ${few.min}`]),
    ...(ended === 'time_limit' ? ['the time limit ended it'] : []),
    ...(fast === undefined ? [] : [`${fast.answers} of ${fast.of} answers came faster than the question can be read`]),
    ...(change === undefined ? [] : [`from some question on the answers were much ${change}`]),
    ...(repeated === undefined ? [] : [repeatedWords(repeated)]),
  ];
}

/**
 * Returns a question as the learner saw it, with the learner's answer.
 * @returns undefined if the result has no sitting here or was withdrawn, or if the position has no question
 */
export async function reviewQuestion(app: App, organisationId: number, assessmentId: string, position: number) {
  const found = await readSitting(app, organisationId, assessmentId);
  const row = found?.items.find((one) => one.position === position);
  if (found === undefined || row === undefined) return undefined;
  const { bank, items } = found;
  const item = bank.item(row.item_id)!;
  const rendered = JSON.parse(row.rendered) as RenderedItem;
  const passage = item.type === 'template' || item.passage === undefined ? null : bank.passage(item.passage)!;
  return {
    position,
    of: items.length,
    model: renderModel(item, rendered, passage),
    /** The learner's answer. Null if the learner filled in nothing. */
    answer: row.answer === null ? null : (JSON.parse(row.answer) as Answer),
    right: rightAnswer(rendered),
    ...timesOf(row),
  };
}
