import { type Bank, renderItem } from '../engine/item-bank/load.ts';
import { withOrderOf } from '../engine/item-bank/option-order.ts';
import type { Tx } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { Banks } from './scoring/banks.ts';
import type { DeliveryPool } from './selection/pool.ts';
import { selectPilot } from './selection/pilot.ts';
import { type Asked, type Individual, resumeSitting, type Stop } from './selection/selection.ts';
import type { DeliverySettings } from './selection/settings.ts';
import type { NewItem, SittingRow } from './store.ts';

/**
 * Settings that stay fixed after a sitting begins. All random selections of the sitting come from `seed`. `pilots`: the
 * most questions on trial, if the sitting may have any.
 */
export type FrozenSettings = { delivery: DeliverySettings; extra_time_pct: number; seed: string; pilots?: number };

/** The most questions that the sitting can have. */
export function maxQuestions({ settings }: Pick<SittingRow, 'settings'>): number {
  const { delivery, pilots = 0 } = JSON.parse(settings) as FrozenSettings;
  return delivery.maxItems + pilots;
}

/** `idle`: the sitting was not touched for 48 hours. */
export type SittingStop = Omit<Stop, 'reason'> & { reason: Stop['reason'] | 'idle' };

export async function deliveryOf(
  banks: Banks,
  tx: Tx,
  sitting: Pick<SittingRow, 'bank_version' | 'settings' | 'subject'>,
): Promise<{ bank: Bank; pool: DeliveryPool }> {
  const { delivery } = JSON.parse(sitting.settings) as FrozenSettings;
  const pool = await banks.pool(tx, sitting.bank_version, sitting.subject, delivery);
  return { bank: (await banks.version(tx, sitting.bank_version)).bank, pool };
}

export function individualOf({ settings, withheld }: Pick<SittingRow, 'settings' | 'withheld'>) {
  return { seed: (JSON.parse(settings) as FrozenSettings).seed, seen: withheld } satisfies Individual;
}

/**
 * Selects the next question, or ends the questions. The function changes `sitting` in memory, and the caller stores the
 * row and the question. Each selection keeps its reasons, so that the sitting can be replayed.
 * @returns null if the questions have ended
 */
export function nextQuestion(
  work: UnitOfWork,
  sitting: SittingRow,
  delivery: { bank: Bank; pool: DeliveryPool },
  history: readonly Asked[],
  end: 'time_limit' | 'idle' | null = null,
): NewItem | null {
  const individual = individualOf(sitting);
  const adaptive = resumeSitting(delivery.pool, history, individual);
  const selected = adaptive.next(end !== null);
  if (selected.kind === 'stop') {
    sitting.stop = JSON.stringify({ ...selected, reason: end ?? selected.reason } satisfies SittingStop);
    sitting.on_screen_since = null;
    return null;
  }
  const { pilots = 0 } = JSON.parse(sitting.settings) as FrozenSettings;
  const course = { ...individual, max: pilots, usedMs: sitting.used_ms, timeLimitMs: sitting.time_limit_ms };
  const choice = selectPilot(adaptive, history, selected, course) ?? selected;
  const now = new Date(work.nowMs);
  const seed = work.random.bytes(8).toString('hex');
  const rendered = withOrderOf(renderItem(delivery.bank.item(choice.itemId)!, seed), seed);
  sitting.on_screen_since = now;
  return {
    position: history.length + 1,
    item_id: choice.itemId,
    pilot: choice.kind === 'pilot',
    seed,
    rendered: JSON.stringify(rendered),
    choice: JSON.stringify(choice),
    shown_at: now,
  };
}
