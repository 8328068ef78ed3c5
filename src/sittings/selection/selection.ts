import type { Uniform } from '../../platform/crypto/random.ts';
import { confidenceInterval, type EapEstimate, momentsOf, type Posterior } from '../../engine/scoring/irt.ts';
import type { Level } from '../../engine/scoring/levels.ts';
import { massesBelow } from '../../engine/scoring/probabilities.ts';
import type { ItemResponse } from '../../engine/scoring/score.ts';
import { drawWorth, isMidSet, type Selection, selectItem, type SittingState, type Worth } from './content-selection.ts';
import type { DeliveryPool } from './pool.ts';
import type { DeliverySettings } from './settings.ts';

/**
 * This file contains adaptive delivery. It depends only on the bank version, the settings, the seed and the history of
 * a sitting.
 *
 * Sources: Birnbaum (1968) for maximum information; Bock & Mislevy (1982) for the running ability estimate; see
 * `shadow-test.ts` for the content.
 */

/** `precise`: further questions could not change the level. `no_items`: the bank has no allowed item left. */
export type StopReason = 'precise' | 'max_items' | 'time_limit' | 'no_items';

export type Stop = {
  kind: 'stop';
  reason: StopReason;
  given: number;
  theta: number;
  se: number;
  ci: { low: number; high: number };
  cutsInside: Level[];
};

/** The seed and seen items are fixed when a sitting begins. Item IDs that the bank lacks have no effect. */
export type Individual = {
  seed: string;
  /** Items that the learner saw lately. Their worth is lower, so that the learner gets other items. */
  seen?: Iterable<string>;
};

/** `isPilot`: the question is on trial. `workingMs`: the working time without pauses. */
export type Asked = ItemResponse & { isPilot: boolean; workingMs: number };

export class AdaptiveSitting {
  readonly pool: DeliveryPool;
  ability: EapEstimate;
  readonly given: number[] = [];
  readonly #logPosterior: Float64Array;
  readonly #blocked: Uint8Array;
  readonly #perDomain: number[];
  readonly #perPassage: Int16Array;
  readonly worth: Worth;

  constructor(pool: DeliveryPool, { seed, seen = [] }: Individual) {
    this.pool = pool;
    this.ability = { theta: pool.settings.prior.mean, sd: pool.settings.prior.sd };
    this.#logPosterior = pool.logPrior.slice();
    this.#blocked = new Uint8Array(pool.bank.items.length);
    this.#perDomain = pool.bank.domains.map(() => 0);
    this.#perPassage = new Int16Array(pool.passages.length);
    this.worth = drawWorth(pool, seed, seen);
  }

  get posterior(): Posterior {
    return { theta: this.pool.nodes, logWeights: this.#logPosterior };
  }

  /** @throws RangeError for an item that the bank version lacks */
  record({ itemId, outcome }: ItemResponse): void {
    const index = this.pool.indexById.get(itemId);
    if (index === undefined) throw new RangeError(`Item ${itemId} is not in bank version ${this.pool.bank.version}.`);
    this.recordIndex(index, outcome === 'not_reached' ? null : outcome === 'right');
  }

  /** Keeps the enemies of a question on trial out of the rest of the sitting. */
  recordPilot(itemId: string): void {
    for (const enemy of this.pool.pilots.find(({ id }) => id === itemId)?.enemies ?? []) {
      const index = this.pool.indexById.get(enemy);
      if (index !== undefined) this.#blocked[index] = 1;
    }
  }

  /** @param right null for an item that was not reached */
  recordIndex(index: number, right: boolean | null): void {
    const { pool } = this;
    this.#blocked[index] = 1;
    for (const enemy of pool.enemies[index]!) this.#blocked[enemy] = 1;
    const passage = pool.passageOfItem[index]!;
    if (passage >= 0) this.#perPassage[passage]!++;
    if (right === null) return;
    this.given.push(index);
    this.#perDomain[pool.domainOfItem[index]!]!++;
    const logs = (right ? pool.logRight : pool.logWrong)[index]!;
    const posterior = this.#logPosterior;
    for (let k = 0; k < posterior.length; k++) posterior[k]! += logs[k]!;
    this.ability = momentsOf(pool.nodes, posterior);
  }

  next(isTimeUp: boolean = false): Selection | Stop {
    const reason = this.#stopReason(isTimeUp);
    if (reason) return this.#stop(reason);
    return selectItem(this.state(), this.worth) ?? this.#stop('no_items');
  }

  #stopReason(isTimeUp: boolean): StopReason | null {
    const { settings, cuts } = this.pool;
    const { minItems, maxItems, minPerDomain } = settings;
    if (isTimeUp) return 'time_limit';
    if (this.given.length >= maxItems) return 'max_items';
    if (this.given.length < minItems || this.#perDomain.some((n) => n < minPerDomain)) return null;
    if (isMidSet(this.state())) return null;
    if (this.#isClear()) return 'precise';
    if (this.ability.sd > settings.maxSe) return null;
    const reach = settings.reachSds * expectedMove(this.ability.sd, this.given.length, settings);
    return cuts.some((cut) => Math.abs(cut.theta - this.ability.theta) <= reach) ? null : 'precise';
  }

  /** Whether one level is nearly certain, or the level is low and further questions would hardly change it. */
  #isClear(): boolean {
    const { settings, cuts } = this.pool;
    const { clear } = settings;
    if (clear === undefined) return false;
    const below = [0, ...massesBelow(this.posterior, cuts), 1];
    if (below.some((mass, i) => i > 0 && mass - below[i - 1]! >= clear.probability)) return true;
    const low = cuts.find(({ level }) => level === clear.low.below)!;
    const move = expectedMove(this.ability.sd, this.given.length, settings);
    return low.theta - this.ability.theta > clear.low.reachSds * move;
  }

  #stop(reason: StopReason): Stop {
    const ci = confidenceInterval(this.ability);
    const cutsInside = this.pool.cuts
      .filter((cut) => ci.low <= cut.theta && cut.theta <= ci.high)
      .map((cut) => cut.level);
    return {
      kind: 'stop',
      reason,
      given: this.given.length,
      theta: this.ability.theta,
      se: this.ability.sd,
      ci,
      cutsInside,
    };
  }

  state(): SittingState {
    return {
      pool: this.pool,
      ability: this.ability,
      given: this.given,
      blocked: this.#blocked,
      perDomain: this.#perDomain,
      perPassage: this.#perPassage,
    };
  }
}

/**
 * Returns the standard deviation of the estimate's expected change until the last question. Its variance is the current
 * variance minus the expected variance at the end (law of total variance). Each further question is expected to add the
 * average information so far.
 */
export function expectedMove(sd: number, given: number, { maxItems, prior }: DeliverySettings): number {
  const priorPrecision = 1 / prior.sd ** 2;
  const perItem = Math.max(0, 1 / sd ** 2 - priorPrecision) / given;
  const sdAtEnd2 = 1 / (1 / sd ** 2 + (maxItems - given) * perItem);
  return Math.sqrt(sd ** 2 - sdAtEnd2);
}

/** Rebuilds a sitting from its stored history, so that any process can continue it. */
export function resumeSitting(
  pool: DeliveryPool,
  history: readonly (ItemResponse & Partial<Asked>)[],
  individual: Individual,
): AdaptiveSitting {
  const sitting = new AdaptiveSitting(pool, individual);
  for (const response of history) {
    if (response.isPilot === true) sitting.recordPilot(response.itemId);
    else sitting.record(response);
  }
  return sitting;
}

export function drawSeed(random: Uniform): string {
  return Math.floor(random.float() * 2 ** 48).toString(36);
}
