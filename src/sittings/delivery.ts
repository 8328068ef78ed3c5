import { type Bank, renderItem } from '../engine/item-bank/load.ts';
import { withOrderOf } from '../engine/item-bank/option-order.ts';
import type { Tx } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { ItemResponse } from '../engine/scoring/score.ts';
import type { Banks } from './scoring/banks.ts';
import type { DeliveryPool } from './selection/pool.ts';
import { type Individual, resumeSitting, type Stop } from './selection/selection.ts';
import type { DeliverySettings } from './selection/settings.ts';
import type { NewItem, SittingRow } from './store.ts';

/** Settings that stay fixed after a sitting begins. All random selections of the sitting come from `seed`. */
export type FrozenSettings = { delivery: DeliverySettings; extra_time_pct: number; seed: string };

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

export function individualOf({ settings, withheld }: Pick<SittingRow, 'settings' | 'withheld'>): Individual {
  return { seed: (JSON.parse(settings) as FrozenSettings).seed, seen: withheld };
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
  history: readonly ItemResponse[],
  end: 'time_limit' | 'idle' | null = null,
): NewItem | null {
  const selected = resumeSitting(delivery.pool, history, individualOf(sitting)).next(end !== null);
  if (selected.kind === 'stop') {
    sitting.stop = JSON.stringify({ ...selected, reason: end ?? selected.reason } satisfies SittingStop);
    sitting.on_screen_since = null;
    return null;
  }
  const now = new Date(work.nowMs);
  const seed = work.random.bytes(8).toString('hex');
  const rendered = withOrderOf(renderItem(delivery.bank.item(selected.itemId)!, seed), seed);
  sitting.on_screen_since = now;
  return {
    position: history.length + 1,
    item_id: selected.itemId,
    seed,
    rendered: JSON.stringify(rendered),
    choice: JSON.stringify(selected),
    shown_at: now,
  };
}
