import type { Uniform } from '../../../src/platform/crypto/random.ts';
import { information } from '../../../src/engine/scoring/irt.ts';
import type { SittingState } from '../../../src/sittings/selection/content-selection.ts';
import type { DeliveryPool } from '../../../src/sittings/selection/pool.ts';
import { AdaptiveSitting, drawSeed } from '../../../src/sittings/selection/selection.ts';

/** Delivers a full adaptive sitting to a learner who answers by `answers(item index)`. */
export function deliver(
  pool: DeliveryPool,
  answers: (index: number) => boolean,
  random: Uniform,
  seen: Iterable<string> = [],
): AdaptiveSitting {
  const sitting = new AdaptiveSitting(pool, { seed: drawSeed(random), seen });
  for (let next = sitting.next(); next.kind === 'item'; next = sitting.next()) {
    const index = pool.indexById.get(next.itemId)!;
    sitting.recordIndex(index, answers(index));
  }
  return sitting;
}

/** Delivers `length` items without regard to information, as the yardstick for adaptive selection. */
export function deliverAtRandom(
  pool: DeliveryPool,
  answers: (index: number) => boolean,
  random: Uniform,
  length: number,
): AdaptiveSitting {
  const sitting = new AdaptiveSitting(pool, { seed: '' });
  while (sitting.given.length < length) {
    const index = drawItem(sitting.state(), length, random);
    sitting.recordIndex(index, answers(index));
  }
  return sitting;
}

const maxPerPassage = 3;
const tie = 1e-12;

/**
 * Draws an item of the domain that is furthest below its share (Kingsbury & Zara 1989, Applied Measurement in Education
 * 2(4)).
 */
function drawItem(
  { pool, ability, given, perDomain, blocked, perPassage }: SittingState,
  length: number,
  random: Uniform,
): number {
  const draw = (list: readonly number[]) => list[Math.floor(random.float() * list.length)]!;
  const isAllowed = (i: number) => blocked[i] === 0 && (perPassage[pool.passageOfItem[i]!] ?? 0) < maxPerPassage;
  const allowed = pool.itemsByDomain.map((items) => items.filter(isAllowed));
  const { minPerDomain } = pool.settings;
  const open = allowed.flatMap((items, d) => (items.length > 0 ? [d] : []));
  const short = open.filter((d) => perDomain[d]! < minPerDomain);
  const owed = short.reduce((sum, d) => sum + minPerDomain - perDomain[d]!, 0);
  const from = owed > 0 && length - given.length <= owed ? short : open;
  const need = (d: number) => pool.bank.domains[d]!.share - (given.length === 0 ? 0 : perDomain[d]! / given.length);
  const max = Math.max(...from.map(need));
  const neediest = from.filter((d) => need(d) >= max - tie);
  const domain = neediest.length === 1 ? neediest[0]! : draw(neediest);
  // A random number selects an item by its index, so the order stays as it was in earlier reports.
  const worth = (i: number) => information(pool.bank.items[i]!, ability.theta);
  return draw(allowed[domain]!.toSorted((x, y) => worth(y) - worth(x)));
}
