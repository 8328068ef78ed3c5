import type { Uniform } from '../../../src/platform/crypto/random.ts';
import type { DeliveryPool } from '../../../src/sittings/selection/pool.ts';
import { AdaptiveSitting, drawSeed } from '../../../src/sittings/selection/selection.ts';
import type { DeliverySettings } from '../../../src/sittings/selection/settings.ts';

/** A whole adaptive sitting of a learner who answers by `answers(item index)`. */
export function deliver(
  pool: DeliveryPool,
  answers: (index: number) => boolean,
  random: Uniform,
  seen: Iterable<string> = [],
): AdaptiveSitting {
  return playOut(new AdaptiveSitting(pool, { seed: drawSeed(random), seen }), answers, random);
}

/** Settings by which items are drawn without regard to information: the yardstick for what adaptivity gains. */
function randomSettings({ prior, minPerDomain }: DeliverySettings, length: number): DeliverySettings {
  const bestOf = { bestOf: Infinity, earlyBestOf: Infinity, earlyItems: 0, maxPerPassage: 3 };
  return { minItems: length, maxItems: length, minPerDomain, prior, maxSe: 0, reachSds: 0, ...bestOf };
}

/** A sitting of `length` items by those settings. */
export function deliverAtRandom(
  pool: DeliveryPool,
  answers: (index: number) => boolean,
  random: Uniform,
  length: number,
): AdaptiveSitting {
  return playOut(
    new AdaptiveSitting({ ...pool, settings: randomSettings(pool.settings, length), content: null }),
    answers,
    random,
  );
}

function playOut(sitting: AdaptiveSitting, answers: (index: number) => boolean, random: Uniform): AdaptiveSitting {
  for (let step = sitting.next(random); step.kind === 'item'; step = sitting.next(random)) {
    const index = sitting.pool.indexById.get(step.itemId)!;
    sitting.recordIndex(index, answers(index));
  }
  return sitting;
}
