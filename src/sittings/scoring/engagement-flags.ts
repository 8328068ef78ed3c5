import type { Bank } from '../../engine/item-bank/load.ts';
import { renderModel } from '../../engine/item-bank/render-model.ts';
import type { RenderedItem } from '../../engine/item-bank/schema.ts';
import type { EvidenceEngagementFlags, EvidenceSitting } from '../../records/evidence/document.ts';
import type { ScoredResult } from '../../engine/scoring/score.ts';
import type { FrozenSettings, SittingStop } from '../delivery.ts';
import type { SittingItemRow, SittingRow } from '../store.ts';

/** The least time to answer a question, without the time to read it. */
const minMs = 1500;
/** Twelve words a second, three times the pace of a good reader who understands. */
const wordMs = 1000 / 12;
/** After this time a learner may have found the answer without reading the full text. */
const maxMs = 10_000;
/** Learners who guess through a sitting give at least a tenth of their answers too fast (Wise & Kong 2005). */
const fastShare = 0.1;
const fastLeast = 3;

/** Keys of the render model whose values the learner doesn't read. */
const silent = new Set([
  'id',
  'kind',
  'part',
  'control',
  'mode',
  'type',
  'level',
  'subject',
  'domain',
  'name',
  'value',
]);

function countWords(value: unknown): number {
  if (typeof value === 'string') return value.split(/\s+/u).filter((word) => /[\p{L}\d]/u.test(word)).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + countWords(one), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce(
    // An option has its label twice: parsed, and as plain text.
    (sum, [key, one]) => sum + (silent.has(key) || (key === 'text' && 'label' in value) ? 0 : countWords(one)),
    0,
  );
}

/** The working time in which a question of this many words can't be read. */
export function fastBelowMs(words: number): number {
  return Math.min(maxMs, minMs + words * wordMs);
}

/** How many answers came before their question can be read, of all measured answers. */
export function countFast(bank: Bank, items: readonly SittingItemRow[]): { answers: number; of: number } {
  const read = new Set<string>();
  let answers = 0;
  let of = 0;
  for (const { item_id, rendered, outcome, working_ms } of items) {
    const item = bank.item(item_id)!;
    const passage = item.type === 'template' ? undefined : item.passage;
    const { stem, figure, task, surface, fields } = renderModel(item, JSON.parse(rendered) as RenderedItem, null);
    let words = countWords([stem, figure, task, surface, fields]);
    // A passage counts with its first question only.
    if (passage !== undefined && !read.has(passage)) words += countWords(bank.passage(passage)!.paragraphs);
    if (passage !== undefined) read.add(passage);
    if (outcome !== 'right' && outcome !== 'wrong') continue;
    // The time is 0 if the clock was set back.
    if (working_ms === null || working_ms === 0) continue;
    of++;
    if (working_ms < fastBelowMs(words)) answers++;
  }
  return { answers, of };
}

/** @returns null if the answers are enough for a full sitting */
export function fewAnswers(
  { settings }: Pick<SittingRow, 'settings'>,
  answered: number,
): { answered: number; min: number } | null {
  const min = (JSON.parse(settings) as FrozenSettings).delivery.minItems;
  return answered < min ? { answered, min } : null;
}

/** The course of a sitting for evidence and review. */
export type Course = Required<Pick<EvidenceSitting, 'ended' | 'not_reached' | 'signs' | 'items'>> &
  Pick<EvidenceSitting, 'pauses' | 'suspended'>;

/** The flag for answers that change in the middle of a sitting. */
export function changeFlag({ personFit }: ScoredResult): Pick<EvidenceEngagementFlags, 'change'> {
  const { change } = personFit;
  return change === 'better' || change === 'worse' ? { change } : {};
}

/**
 * Pure: it depends on stored values only. The questions of the sitting are over.
 * @param suspended the suspensions of the organisation during the sitting
 */
export function courseOf(
  sitting: Pick<SittingRow, 'settings' | 'stop'>,
  bank: Bank,
  items: readonly SittingItemRow[],
  suspended: { count: number; seconds: number },
): Course {
  const answered = items.filter(({ outcome }) => outcome === 'right' || outcome === 'wrong').length;
  const few = fewAnswers(sitting, answered);
  const fast = countFast(bank, items);
  const signs: EvidenceEngagementFlags = {
    ...(few === null ? {} : { few_answers: few }),
    ...(fast.answers >= Math.max(fastLeast, fastShare * fast.of) ? { fast } : {}),
  };
  const measured = items.every(({ working_ms }) => working_ms !== null);
  // A pause that never ended has no count, but a suspension may have added its time.
  const pausedMs = items.reduce((sum, { pauses, paused_ms }) => sum + (pauses === 0 ? 0 : paused_ms), 0);
  return {
    ended: (JSON.parse(sitting.stop!) as SittingStop).reason,
    not_reached: items.filter(({ outcome }) => outcome === 'not_reached').length,
    ...(measured
      ? {
          pauses: { count: items.reduce((sum, { pauses }) => sum + pauses, 0), seconds: Math.round(pausedMs / 1000) },
        }
      : {}),
    ...(suspended.count === 0 ? {} : { suspended }),
    signs,
    items: items
      .filter(({ outcome }) => outcome !== 'not_reached')
      .map(({ item_id, outcome, working_ms }) => ({
        id: item_id,
        right: outcome === 'right',
        ...(outcome === 'skipped' ? { skipped: true as const } : {}),
        ...(working_ms === null ? {} : { seconds: Math.round(working_ms / 1000) }),
      })),
  };
}
