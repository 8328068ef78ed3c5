import type { Bank } from '../engine/item-bank/load.ts';
import { renderItem } from '../engine/item-bank/load.ts';
import type { Tx } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { ItemResponse } from '../engine/scoring/score.ts';
import type { Banks } from './scoring/banks.ts';
import type { Choice } from './selection/selection-state.ts';
import type { DeliveryPool } from './selection/pool.ts';
import type { Individual, Stop } from './selection/selection.ts';
import { resumeSitting } from './selection/selection.ts';
import type { DeliverySettings } from './selection/settings.ts';
import type { NewItem, SittingRow } from './store.ts';

/**
 * What is frozen when a sitting begins. `seed`, all chance of its delivery, is missing where that is drawn at each
 * step.
 */
export type FrozenSettings = { delivery: DeliverySettings; extra_time_pct: number; seed?: string };

/** Why no further question is asked. `idle`: nobody touched the sitting for 48 hours. */
export type SittingStop = Omit<Stop, 'reason'> & { reason: Stop['reason'] | 'idle' };

/** The bank version of a sitting, ready for the next step. */
export async function deliveryOf(
  banks: Banks,
  tx: Tx,
  sitting: Pick<SittingRow, 'bank_version' | 'settings' | 'subject'>,
): Promise<{ bank: Bank; pool: DeliveryPool }> {
  const { delivery } = JSON.parse(sitting.settings) as FrozenSettings;
  const pool = await banks.pool(tx, sitting.bank_version, sitting.subject, delivery);
  return { bank: (await banks.version(tx, sitting.bank_version)).bank, pool };
}

/**
 * What is this sitting's own. Items that the learner saw lately are worth less to one that has a seed; one without was
 * never to give what `withheld` names.
 */
export function individualOf(sitting: Pick<SittingRow, 'settings' | 'withheld'>): Individual {
  const { seed } = JSON.parse(sitting.settings) as FrozenSettings;
  return seed === undefined ? { withheld: sitting.withheld } : { seed, seen: sitting.withheld };
}

/**
 * Chooses what comes after `history`: the next question, or the end of the questions. The sitting's row is changed in
 * place and stored by the caller, with the question. Every choice is kept with its reasons, so that the sitting can be
 * replayed from what is stored.
 * @returns the question, or null at the end
 */
export function takeStep(
  work: UnitOfWork,
  sitting: SittingRow,
  delivery: { bank: Bank; pool: DeliveryPool },
  history: readonly ItemResponse[],
  end: 'time_limit' | 'idle' | null = null,
): NewItem | null {
  const step: Choice | Stop = resumeSitting(delivery.pool, history, individualOf(sitting)).next(
    work.random,
    end !== null,
  );
  if (step.kind === 'stop') {
    sitting.stop = JSON.stringify({ ...step, reason: end ?? step.reason } satisfies SittingStop);
    sitting.on_screen_since = null;
    return null;
  }
  const now = new Date(work.nowMs);
  const seed = work.random.bytes(8).toString('hex');
  const rendered = renderItem(delivery.bank.item(step.itemId)!, seed);
  // Selection counts the items that count; the row's position also counts one that time cut off.
  sitting.on_screen_since = now;
  return {
    position: history.length + 1,
    item_id: step.itemId,
    seed,
    rendered: JSON.stringify(rendered),
    choice: JSON.stringify(step),
    shown_at: now,
  };
}
