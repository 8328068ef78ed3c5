import type { App } from '../platform/app.ts';
import { type Answer, mark, type Problem } from '../engine/item-bank/mark.ts';
import { fieldsOf, renderModel, type RenderModel } from '../engine/item-bank/render-model.ts';
import type { RenderedItem } from '../engine/item-bank/schema.ts';
import { feedQueue, rowsQueue, type UnitOfWork, withUnitOfWork } from '../platform/db/unit-of-work.ts';
import { lockFeed, readFeed } from '../feed/position.ts';
import { limits } from '../platform/config/limits.ts';
import { holdsNationalInsuranceNumber } from '../platform/validation/personal-data.ts';
import type { ItemOutcome } from '../engine/scoring/score.ts';
import { type Banks, banksOf } from './scoring/banks.ts';
import { inSpan } from '../platform/observability/tracing.ts';
import { deliveryOf, maxQuestions, nextQuestion } from './delivery.ts';
import {
  addPause,
  addWorkingTime,
  advanceSitting,
  type Client,
  findCurrent,
  findHistory,
  findItems,
  type HistoryRow,
  lockSitting,
  type SittingKey,
  type SittingRow,
  storeDraft,
  touchSitting,
  updateSitting,
} from './store.ts';
import { isAbandoned, pausedMs, remainingMs, seenMs, usedMs } from './working-time.ts';

export type Question = {
  position: number;
  /** The most questions that the sitting can have. */
  max: number;
  model: RenderModel;
  /** The answer so far, which was stored when the pause began. */
  draft: Answer | null;
};

/** @returns null if no question is on the screen, because the sitting is paused, at its check page or over */
export async function currentQuestion(app: App, sitting: SittingRow): Promise<Question | null> {
  if (sitting.status !== 'open' || sitting.on_screen_since === null) return null;
  const [{ bank }, row] = await Promise.all([deliveryOf(banksOf(app), app.db, sitting), findCurrent(app.db, sitting)]);
  if (row === undefined) return null;
  const item = bank.item(row.item_id)!;
  const passage = item.type === 'template' || item.passage === undefined ? null : (bank.passage(item.passage) ?? null);
  return {
    position: row.position,
    max: maxQuestions(sitting),
    model: renderModel(item, JSON.parse(row.rendered) as RenderedItem, passage),
    draft: row.answer === null ? null : (JSON.parse(row.answer) as Answer),
  };
}

/**
 * - `taken`: the answer counts, and the next question or the check page follows
 * - `late`: another request was first, or the sitting is paused
 * - `time_up`: the time limit was reached before the answer, so this question doesn't count
 * - `unanswered`: the learner filled in nothing, so the page asks whether to skip
 * - `unreadable`: the service can't read a part of the answer, which may still be right or wrong
 */
type AnswerOutcome = { kind: 'taken' | 'late' | 'time_up' | 'unanswered' } | { kind: 'unreadable'; problem: Problem };

/**
 * Takes the answer to the question at `position`. If several requests answer one position, only the first counts.
 * @param input.skip true if the learner passes the question over after a warning; the question then counts as wrong
 */
export function answerQuestion(
  app: App,
  key: SittingKey,
  input: { position: number; answer: Answer; skip: boolean; client?: Client },
): Promise<AnswerOutcome> {
  const { position, answer, skip, client = noClient } = input;
  const late: AnswerOutcome = { kind: 'late' };
  const take = async (work: UnitOfWork, sitting: SittingRow, history: HistoryRow[]): Promise<AnswerOutcome> => {
    const current = history.at(-1)!;
    const close = (outcome: ItemOutcome, text: string | null = null, end: 'time_limit' | null = null) =>
      closeQuestion(banksOf(app), work, sitting, history, { answer: text, outcome, end, ...client });
    if (current.position !== position) return late;
    if (sitting.on_screen_since === null) {
      // The page that confirms a skip has no fields of the question, so it must not overwrite the draft.
      if (!skip) await storeDraft(work.tx, sitting, position, draftText(current, answer));
      return late;
    }
    if (remainingMs(sitting, work.nowMs) <= 0) {
      await close('not_reached', null, 'time_limit');
      return { kind: 'time_up' };
    }
    if (skip) {
      await close('skipped');
      return { kind: 'taken' };
    }
    const { answered, correct, problem } = mark(JSON.parse(current.rendered!) as RenderedItem, answer);
    if (!answered) return { kind: 'unanswered' };
    if (problem !== null) return { kind: 'unreadable', problem };
    await close(correct ? 'right' : 'wrong', draftText(current, answer));
    return { kind: 'taken' };
  };
  return inSpan('sitting step', { 'ars.position': position }, () => withCurrent(app, key, late, take));
}

/** If the working time is over, ends the questions without counting the current one. @returns whether it was over */
export function endWhenTimeIsUp(app: App, key: SittingKey): Promise<boolean> {
  return withCurrent(app, key, false, async (work, sitting, history) => {
    if (sitting.on_screen_since === null || remainingMs(sitting, work.nowMs) > 0) return false;
    await closeQuestion(banksOf(app), work, sitting, history, { ...cutOff, end: 'time_limit' });
    return true;
  });
}

/** Ends the questions of an abandoned sitting. @returns whether it was abandoned */
export function endIdle(app: App, key: SittingKey, idleSince: Date): Promise<boolean> {
  return withUnitOfWork(app, feedQueue(key.organisation_id), async (work) => {
    const feed = await lockFeed(work, key.organisation_id);
    return onCurrent(work, key, false, async (sitting, history) => {
      if (!isAbandoned(sitting, feed, idleSince)) return false;
      await closeQuestion(banksOf(app), work, sitting, history, { ...cutOff, end: 'idle' });
      return true;
    });
  });
}

/** Records that the learner has a question or the check page open, so that the sitting doesn't count as abandoned. */
export async function markSeen(app: App, sitting: SittingRow): Promise<void> {
  // The page of a pause shows when the pause ends. Another touch would move that time.
  if (sitting.on_screen_since === null && sitting.stop === null) return;
  if (app.clock.nowMs() - sitting.last_seen_at.getTime() > seenMs)
    await touchSitting(app.db, sitting, new Date(app.clock.nowMs()));
}

export function pauseSitting(
  app: App,
  key: SittingKey,
  draft: { position: number; answer: Answer } | null,
): Promise<void> {
  return withCurrent(app, key, undefined, async (work, sitting, history) => {
    const current = history.at(-1)!;
    if (draft?.position === current.position)
      await storeDraft(work.tx, sitting, current.position, draftText(current, draft.answer));
    // Another tab may have begun the pause.
    if (sitting.on_screen_since === null) return;
    await addWorkingTime(work.tx, sitting, current.position, stopClock(work, sitting));
    await updateSitting(work.tx, sitting);
  });
}

/** Stores the answer so far while the page asks whether to skip. @returns false if another question is current */
export function keepDraft(app: App, key: SittingKey, draft: { position: number; answer: Answer }): Promise<boolean> {
  return withCurrent(app, key, false, async (work, sitting, history) => {
    const current = history.at(-1)!;
    if (draft.position !== current.position) return false;
    await storeDraft(work.tx, sitting, current.position, draftText(current, draft.answer));
    return true;
  });
}

export async function countOutcomes(app: App, key: SittingKey) {
  const rows = await findItems(app.db, key);
  return {
    pauses: rows.reduce((sum, { pauses }) => sum + pauses, 0),
    answered: rows.filter(({ outcome }) => outcome === 'right' || outcome === 'wrong').length,
    skipped: rows.filter(({ outcome }) => outcome === 'skipped').length,
  };
}

export function resumePaused(app: App, key: SittingKey): Promise<void> {
  return withCurrent(app, key, undefined, async (work, sitting, history) => {
    if (sitting.on_screen_since !== null) return;
    // A suspension that took the lock first has already added the pause until then, so the feed is read after the lock.
    const { suspended, resumed_at: resumedAt } = await readFeed(work.tx, key.organisation_id);
    // A pause of 0 ms counts as a pause.
    const ms = suspended ? 0 : pausedMs(sitting.last_seen_at, resumedAt, work.nowMs);
    await addPause(work.tx, sitting, history.at(-1)!.position, ms);
    sitting.on_screen_since = sitting.last_seen_at = new Date(work.nowMs);
    await updateSitting(work.tx, sitting);
  });
}

/** If a question waits for an answer, locks the sitting's row and runs `inside`. Otherwise returns `otherwise`. */
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

/** @returns the working time since the question was last shown */
function stopClock(work: UnitOfWork, sitting: SittingRow): number {
  const before = sitting.used_ms;
  sitting.used_ms = usedMs(sitting, work.nowMs);
  sitting.on_screen_since = null;
  sitting.last_seen_at = new Date(work.nowMs);
  return sitting.used_ms - before;
}

const noClient: Client = { device: null, language: null };
const cutOff = { answer: null, outcome: 'not_reached', ...noClient } as const;

async function closeQuestion(
  banks: Banks,
  work: UnitOfWork,
  sitting: SittingRow,
  history: HistoryRow[],
  closing: { answer: string | null; outcome: ItemOutcome; end: 'time_limit' | 'idle' | null } & Client,
): Promise<void> {
  const { end, ...ended } = closing;
  const current = history.at(-1)!;
  const delivery = await deliveryOf(banks, work.tx, sitting);
  // An abandoned sitting ended when it was last touched, so no working time is added after that.
  const workingMs = end === 'idle' ? 0 : stopClock(work, sitting);
  const asked = history.map((row) => ({
    itemId: row.item_id,
    outcome: row === current ? ended.outcome : row.outcome!,
    isPilot: row.pilot,
    workingMs: (row.working_ms ?? 0) + (row === current ? workingMs : 0),
  }));
  const timeUp = end ?? (sitting.used_ms >= sitting.time_limit_ms ? 'time_limit' : null);
  const next = nextQuestion(work, sitting, delivery, asked, timeUp);
  await advanceSitting(
    work.tx,
    sitting,
    { position: current.position, answered_at: new Date(work.nowMs), ...ended, working_ms: workingMs },
    next,
  );
}

/**
 * Returns the answer to store: the question's own fields only. Texts with a National Insurance number become empty,
 * even in a wrong answer.
 */
function draftText(current: HistoryRow, answer: Answer): string {
  const kept: Record<string, string | string[]> = {};
  const clean = (text: string) => {
    const cut = text.slice(0, limits.answerChars);
    return holdsNationalInsuranceNumber(cut) ? '' : cut;
  };
  for (const { name } of fieldsOf(JSON.parse(current.rendered!) as RenderedItem, 'level1')) {
    const value = Object.hasOwn(answer, name) ? answer[name]! : undefined;
    if (value !== undefined) kept[name] = typeof value === 'string' ? clean(value) : value.map(clean);
  }
  return JSON.stringify(kept);
}
