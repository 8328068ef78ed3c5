import type { App } from '../platform/app.ts';
import type { Answer, Problem } from '../engine/item-bank/mark.ts';
import { mark } from '../engine/item-bank/mark.ts';
import type { RenderModel } from '../engine/item-bank/render-model.ts';
import { renderModel } from '../engine/item-bank/render-model.ts';
import type { RenderedItem } from '../engine/item-bank/schema.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork, rowsQueue } from '../platform/db/unit-of-work.ts';
import { lockFeed, readFeed } from '../feed/position.ts';
import { limits } from '../platform/config/limits.ts';
import { holdsNationalInsuranceNumber } from '../platform/validation/personal-data.ts';
import type { ItemOutcome } from '../engine/scoring/score.ts';
import type { Banks } from './scoring/banks.ts';
import { banksOf } from './scoring/banks.ts';
import { inSpan } from '../platform/observability/tracing.ts';
import { deliveryOf, nextQuestion } from './delivery.ts';
import type { HistoryRow, SittingKey, SittingRow } from './store.ts';
import {
  addPause,
  addWorkingTime,
  advanceSitting,
  findCurrent,
  findHistory,
  findItems,
  lockSitting,
  storeDraft,
  touchSitting,
  updateSitting,
} from './store.ts';
import { isGivenUp, pausedMs, remainingMs, seenMs, usedMs } from './working-time.ts';

/** The question that waits for an answer, as a page shows it. */
export type Question = {
  position: number;
  /** Questions at most. */
  max: number;
  model: RenderModel;
  /** What was filled in before a pause. */
  draft: Answer | null;
};

/** @returns null when no question is on the screen: the sitting is paused, at its check page, or over */
export async function currentQuestion(app: App, sitting: SittingRow): Promise<Question | null> {
  if (sitting.status !== 'open' || sitting.on_screen_since === null) return null;
  const [{ bank, pool }, row] = await Promise.all([
    deliveryOf(banksOf(app), app.db, sitting),
    findCurrent(app.db, sitting),
  ]);
  if (row === undefined) return null;
  const item = bank.item(row.item_id)!;
  const passage = item.type === 'template' || item.passage === undefined ? null : (bank.passage(item.passage) ?? null);
  return {
    position: row.position,
    max: pool.settings.maxItems,
    model: renderModel(item, JSON.parse(row.rendered) as RenderedItem, passage),
    draft: row.answer === null ? null : (JSON.parse(row.answer) as Answer),
  };
}

/**
 * What became of an answer.
 * - `taken`: it counts, and the next question or the check page is due
 * - `late`: another request was first, or time stands still; what is current comes instead
 * - `time_up`: the limit was reached before; this question doesn't count
 * - `unanswered`: nothing was filled in, and whether to skip has to be asked first
 * - `mend`: something in it can't be read; says nothing about right or wrong
 */
export type AnswerOutcome = { kind: 'taken' | 'late' | 'time_up' | 'unanswered' } | { kind: 'mend'; problem: Problem };

/**
 * Takes the answer to the question at `position`. Of any number of requests for one position exactly one counts.
 * @param skip passes the question over, after a warning; it counts as wrong
 */
export function answerQuestion(
  app: App,
  key: SittingKey,
  given: { position: number; answer: Answer; skip: boolean },
): Promise<AnswerOutcome> {
  return inSpan('sitting step', { 'ars.position': given.position }, () => take(app, key, given));
}

function take(
  app: App,
  key: SittingKey,
  given: { position: number; answer: Answer; skip: boolean },
): Promise<AnswerOutcome> {
  return withCurrent<AnswerOutcome>(app, key, { kind: 'late' }, async (work, sitting, history) => {
    const current = history.at(-1)!;
    if (current.position !== given.position) return { kind: 'late' };
    if (sitting.on_screen_since === null) {
      // The page that confirms a skip has no fields of the question, so it must not overwrite what was kept.
      if (!given.skip) await storeDraft(work.tx, sitting, current.position, draftText(current, given.answer));
      return { kind: 'late' };
    }
    if (remainingMs(sitting, work.nowMs) <= 0) {
      await closeQuestion(banksOf(app), work, sitting, history, null, 'not_reached', 'time_limit');
      return { kind: 'time_up' };
    }
    if (given.skip) {
      await closeQuestion(banksOf(app), work, sitting, history, null, 'skipped');
      return { kind: 'taken' };
    }
    const { answered, correct, problem } = mark(JSON.parse(current.rendered!) as RenderedItem, given.answer);
    if (!answered) return { kind: 'unanswered' };
    if (problem !== null) return { kind: 'mend', problem };
    await closeQuestion(
      banksOf(app),
      work,
      sitting,
      history,
      draftText(current, given.answer),
      correct ? 'right' : 'wrong',
    );
    return { kind: 'taken' };
  });
}

/**
 * Ends the questions when the working time is over; the one on the screen doesn't count.
 * @returns whether it was over
 */
export function endWhenTimeIsUp(app: App, key: SittingKey): Promise<boolean> {
  return withCurrent(app, key, false, async (work, sitting, history) => {
    if (sitting.on_screen_since === null || remainingMs(sitting, work.nowMs) > 0) return false;
    await closeQuestion(banksOf(app), work, sitting, history, null, 'not_reached', 'time_limit');
    return true;
  });
}

/** Ends the questions of a sitting that was given up. @returns whether it was */
export function endIdle(app: App, key: SittingKey, idleSince: Date): Promise<boolean> {
  return withUnitOfWork(app, feedQueue(key.organisation_id), async (work) => {
    const feed = await lockFeed(work, key.organisation_id);
    return onCurrent(work, key, false, async (sitting, history) => {
      if (!isGivenUp(sitting, feed, idleSince)) return false;
      await closeQuestion(banksOf(app), work, sitting, history, null, 'not_reached', 'idle');
      return true;
    });
  });
}

/** The learner is at a question or at the check page: a sitting that somebody looks at is not given up. */
export async function markSeen(app: App, sitting: SittingRow): Promise<void> {
  // In a pause nothing is seen: it began with the last touch, and its page says until when it may last.
  if (sitting.on_screen_since === null && sitting.stop === null) return;
  if (app.clock.nowMs() - sitting.last_seen_at.getTime() > seenMs)
    await touchSitting(app.db, sitting, new Date(app.clock.nowMs()));
}

/** Stops the clock, and keeps what was filled in so far. */
export function pauseSitting(
  app: App,
  key: SittingKey,
  given: { position: number; answer: Answer } | null,
): Promise<void> {
  return withCurrent(app, key, undefined, async (work, sitting, history) => {
    const current = history.at(-1)!;
    if (given !== null && given.position === current.position)
      await storeDraft(work.tx, sitting, current.position, draftText(current, given.answer));
    // Paused in another tab already: the pause began there.
    if (sitting.on_screen_since === null) return;
    await addWorkingTime(work.tx, sitting, current.position, stopClock(work, sitting));
    await updateSitting(work.tx, sitting);
  });
}

/**
 * Keeps what was filled in so far while the learner thinks about skipping.
 * @returns false when the question is not the current one
 */
export function keepDraft(app: App, key: SittingKey, given: { position: number; answer: Answer }): Promise<boolean> {
  return withCurrent(app, key, false, async (work, sitting, history) => {
    const current = history.at(-1)!;
    if (given.position !== current.position) return false;
    await storeDraft(work.tx, sitting, current.position, draftText(current, given.answer));
    return true;
  });
}

/** How many questions were answered and skipped, and how many pauses there were. */
export async function countOutcomes(
  app: App,
  key: SittingKey,
): Promise<{ answered: number; skipped: number; pauses: number }> {
  const rows = await findItems(app.db, key);
  return {
    pauses: rows.reduce((sum, { pauses }) => sum + pauses, 0),
    answered: rows.filter(({ outcome }) => outcome === 'right' || outcome === 'wrong').length,
    skipped: rows.filter(({ outcome }) => outcome === 'skipped').length,
  };
}

/** Puts the current question back on the screen, on whichever device. */
export function resumePaused(app: App, key: SittingKey): Promise<void> {
  return withCurrent(app, key, undefined, async (work, sitting, history) => {
    if (sitting.on_screen_since !== null) return;
    // Read behind the lock: a suspension that came first has added the pause until then.
    const { suspended, resumed_at: resumedAt } = await readFeed(work.tx, key.organisation_id);
    // A pause of nothing is a pause all the same.
    const ms = suspended ? 0 : pausedMs(sitting.last_seen_at, resumedAt, work.nowMs);
    await addPause(work.tx, sitting, history.at(-1)!.position, ms);
    sitting.on_screen_since = sitting.last_seen_at = new Date(work.nowMs);
    await updateSitting(work.tx, sitting);
  });
}

/**
 * Holds the sitting's row while `inside` works on a question that waits for an answer; otherwise answers `otherwise`.
 */
function withCurrent<T>(
  app: App,
  key: SittingKey,
  otherwise: T,
  inside: (work: UnitOfWork, sitting: SittingRow, history: HistoryRow[]) => Promise<T>,
): Promise<T> {
  return withUnitOfWork(app, rowsQueue(key.organisation_id), (work) =>
    onCurrent(work, key, otherwise, (sitting, history) => inside(work, sitting, history)),
  );
}

async function onCurrent<T>(
  work: UnitOfWork,
  key: SittingKey,
  otherwise: T,
  inside: (sitting: SittingRow, history: HistoryRow[]) => Promise<T>,
): Promise<T> {
  const sitting = await lockSitting(work.tx, key);
  if (sitting === undefined || sitting.status !== 'open' || sitting.stop !== null) return otherwise;
  return inside(sitting, await findHistory(work.tx, sitting));
}

/** @returns the working time of the display that ends here */
function stopClock(work: UnitOfWork, sitting: SittingRow): number {
  const before = sitting.used_ms;
  sitting.used_ms = usedMs(sitting, work.nowMs);
  sitting.on_screen_since = null;
  sitting.last_seen_at = new Date(work.nowMs);
  return sitting.used_ms - before;
}

async function closeQuestion(
  banks: Banks,
  work: UnitOfWork,
  sitting: SittingRow,
  history: HistoryRow[],
  answer: string | null,
  outcome: ItemOutcome,
  end: 'time_limit' | 'idle' | null = null,
): Promise<void> {
  const current = history.at(-1)!;
  const delivery = await deliveryOf(banks, work.tx, sitting);
  // A sitting that was given up ended when it was last touched, not when that was noticed, and took no time after that.
  const workingMs = end === 'idle' ? 0 : stopClock(work, sitting);
  const responses = history.map((row) => ({ itemId: row.item_id, outcome: row === current ? outcome : row.outcome! }));
  const timeUp = end ?? (sitting.used_ms >= sitting.time_limit_ms ? 'time_limit' : null);
  const next = nextQuestion(work, sitting, delivery, responses, timeUp);
  await advanceSitting(
    work.tx,
    sitting,
    { position: current.position, answered_at: new Date(work.nowMs), answer, outcome, working_ms: workingMs },
    next,
  );
}

/**
 * An answer as it is kept: the question's own fields only. A National Insurance number that somebody types into a box
 * is never stored, not even as a wrong answer.
 */
function draftText(current: HistoryRow, answer: Answer): string {
  const rendered = JSON.parse(current.rendered!) as RenderedItem;
  const kept: Record<string, string | string[]> = {};
  const clean = (text: string) => {
    const read = text.slice(0, limits.answerChars);
    return holdsNationalInsuranceNumber(read) ? '' : read;
  };
  for (const name of fieldNamesOf(rendered)) {
    const value = Object.hasOwn(answer, name) ? answer[name]! : undefined;
    if (value !== undefined) kept[name] = typeof value === 'string' ? clean(value) : value.map(clean);
  }
  return JSON.stringify(kept);
}

function fieldNamesOf(rendered: RenderedItem): string[] {
  return renderModel(
    { id: '', subject: 'maths', level: 'level1', domain: 'number', read_aloud: false },
    rendered,
    null,
  ).fields.map((field) => field.name);
}
