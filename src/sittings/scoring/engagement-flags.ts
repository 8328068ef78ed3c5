import type { Bank } from '../../engine/item-bank/load.ts';
import { renderModel } from '../../engine/item-bank/render-model.ts';
import { type RenderedItem, domainNames, formatNames } from '../../engine/item-bank/schema.ts';
import type { EvidenceEngagementFlags, EvidenceSitting } from '../../records/evidence/document.ts';
import type { ScoredResult } from '../../engine/scoring/score.ts';
import type { FrozenSettings, SittingStop } from '../delivery.ts';
import type { SittingItemRow, SittingRow } from '../store.ts';

/** The shortest time in which a learner can answer a question, without the time to read it. */
const minMs = 1500;
/** The time for one word at 12 words per second, three times the pace of a good reader who understands the text. */
const wordMs = 1000 / 12;
/**
 * An answer that took longer is never too fast, because the learner may have found it without reading the full text.
 */
const maxMs = 10_000;
/** Learners who guess through a sitting give at least a tenth of their answers too fast (Wise & Kong 2005). */
const fastShare = 0.1;
const fastLeast = 3;

/** Members of the render model whose values the learner doesn't read. */
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
    // An option contains its label twice, parsed and as plain text, so the plain text isn't counted.
    (sum, [key, one]) => sum + (silent.has(key) || (key === 'text' && 'label' in value) ? 0 : countWords(one)),
    0,
  );
}

/** Returns the working time below which no learner can read a question with this many words. */
export function fastBelowMs(words: number): number {
  return Math.min(maxMs, minMs + words * wordMs);
}

/** Counts the answers that were given too fast to read the question. `of`: how many answers have a measured time. */
export function countFast(bank: Bank, items: readonly SittingItemRow[]): { answers: number; of: number } {
  const read = new Set<string>();
  let answers = 0;
  let of = 0;
  for (const { item_id, rendered, outcome, working_ms } of items) {
    const item = bank.item(item_id)!;
    const passage = item.type === 'template' ? undefined : item.passage;
    const { stem, figure, task, surface, fields } = renderModel(item, JSON.parse(rendered) as RenderedItem, null);
    let words = countWords([stem, figure, task, surface, fields]);
    // The words of a passage count with its first question only.
    if (passage !== undefined && !read.has(passage)) words += countWords(bank.passage(passage)!.paragraphs);
    if (passage !== undefined) read.add(passage);
    if (outcome !== 'right' && outcome !== 'wrong') continue;
    // A time of 0 means that the clock was set back, so the answer wasn't measured.
    if (working_ms === null || working_ms === 0) continue;
    of++;
    if (working_ms < fastBelowMs(words)) answers++;
  }
  return { answers, of };
}

/** @returns null if there are enough answers for a full sitting */
export function fewAnswers(
  { settings }: Pick<SittingRow, 'settings'>,
  answered: number,
): { answered: number; min: number } | null {
  const min = (JSON.parse(settings) as FrozenSettings).delivery.minItems;
  return answered < min ? { answered, min } : null;
}

export type Course = Required<Pick<EvidenceSitting, 'ended' | 'not_reached' | 'signs' | 'items'>> &
  Pick<EvidenceSitting, 'pauses' | 'suspended' | 'pilots'>;

export function changeFlag({ personFit }: ScoredResult): Pick<EvidenceEngagementFlags, 'change'> {
  const { change } = personFit;
  return change === 'better' || change === 'worse' ? { change } : {};
}

/**
 * Describes how a sitting went, from stored values only. The questions of the sitting must be over. Questions on trial
 * count only for pauses.
 * @param suspended the organisation's suspensions during the sitting
 */
export function courseOf(
  sitting: Pick<SittingRow, 'settings' | 'stop' | 'withheld'>,
  bank: Bank,
  rows: readonly SittingItemRow[],
  suspended: { count: number; seconds: number },
): Course {
  const items = rows.filter(({ pilot }) => !pilot);
  const pilots = rows.filter(({ pilot, outcome }) => pilot && outcome !== 'not_reached').length;
  const answered = items.filter(({ outcome }) => outcome === 'right' || outcome === 'wrong').length;
  const few = fewAnswers(sitting, answered);
  const fast = countFast(bank, items);
  const scored = items.filter(({ outcome }) => outcome !== 'not_reached');
  const seen = scored.filter(({ item_id }) => sitting.withheld.includes(item_id)).length;
  const signs: EvidenceEngagementFlags = {
    ...(few === null ? {} : { few_answers: few }),
    ...(fast.answers >= Math.max(fastLeast, fastShare * fast.of) ? { fast } : {}),
    ...(seen === 0 ? {} : { repeated: { questions: seen, of: scored.length } }),
  };
  const measured = rows.every(({ working_ms }) => working_ms !== null);
  // Pauses are counted when they end. A pause that never ended may still have time from a suspension, which is left
  // out.
  const pausedMs = rows.reduce((sum, { pauses, paused_ms }) => sum + (pauses === 0 ? 0 : paused_ms), 0);
  return {
    ended: (JSON.parse(sitting.stop!) as SittingStop).reason,
    not_reached: items.length - scored.length,
    ...(measured
      ? {
          pauses: { count: rows.reduce((sum, { pauses }) => sum + pauses, 0), seconds: Math.round(pausedMs / 1000) },
        }
      : {}),
    ...(suspended.count === 0 ? {} : { suspended }),
    ...(pilots === 0 ? {} : { pilots }),
    signs,
    items: scored.map(({ item_id, outcome, working_ms, rendered }) => {
      const { domain, skill } = bank.item(item_id)!;
      const { type } = JSON.parse(rendered) as RenderedItem;
      return {
        id: item_id,
        right: outcome === 'right',
        ...(outcome === 'skipped' ? { skipped: true as const } : {}),
        ...(working_ms === null ? {} : { seconds: Math.round(working_ms / 1000) }),
        asked: { area: domainNames[domain], skill, format: formatNames[type] },
      };
    }),
  };
}
