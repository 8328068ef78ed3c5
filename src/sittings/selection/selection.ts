import type { Uniform } from '../../platform/crypto/random.ts';
import { confidenceInterval, momentsOf } from '../../engine/scoring/irt.ts';
import type { EapEstimate, Posterior } from '../../engine/scoring/irt.ts';
import type { Level } from '../../engine/scoring/levels.ts';
import type { ItemResponse } from '../../engine/scoring/score.ts';
import { chooseBestOf } from './top-candidates.ts';
import type { Choice, SittingState } from './selection-state.ts';
import { chooseByContent, drawWorth, isMidSet } from './content-selection.ts';
import type { Worth } from './content-selection.ts';
import type { DeliveryPool } from './pool.ts';
import type { BestOfChoice, DeliverySettings } from './settings.ts';

/**
 * Adaptive delivery as a pure function of bank version, settings, what is drawn when a sitting begins, and its history.
 *
 * Sources: Birnbaum (1968) for maximum information; Bock & Mislevy (1982) for the running ability estimate; for what is chosen,
 * see `content-choice.ts`.
 */

/** `precise`: no cut is within reach of what further questions could change. `no_items`: nothing allowed is left in the bank for this learner. */
export type StopReason = 'precise' | 'max_items' | 'time_limit' | 'no_items';

export type Stop = {
  kind: 'stop';
  reason: StopReason;
  given: number;
  theta: number;
  se: number;
  ci: { low: number; high: number };
  /** Levels whose cuts, of those that the end waits for, lie inside the 95 % interval. */
  cutsInside: Level[];
};

/** What is settled when a sitting begins, and stored with it. Ids of items that the bank version lacks say nothing. */
export type Individual = {
  /** Items that are never given. */
  withheld?: Iterable<string>;
  /** Items that the learner saw lately: they are given where fresh ones are much worse. */
  seen?: Iterable<string>;
  /** All chance of a sitting whose content is controlled. */
  seed?: string;
};

/** One sitting in memory: fold the answers in with `record`, ask for the next item with `next`. */
export class AdaptiveSitting {
  readonly pool: DeliveryPool;
  ability: EapEstimate;
  /** Indices of the items that count, in order. */
  readonly given: number[] = [];
  readonly #logPosterior: Float64Array;
  readonly #blocked: Uint8Array;
  readonly #perDomain: number[];
  readonly #perPassage: Int16Array;
  readonly worth: Worth | null;

  constructor(pool: DeliveryPool, { withheld = [], seen = [], seed = '' }: Individual = {}) {
    this.pool = pool;
    this.ability = { theta: pool.settings.prior.mean, sd: pool.settings.prior.sd };
    this.#logPosterior = pool.logPrior.slice();
    this.#blocked = new Uint8Array(pool.bank.items.length);
    this.#perDomain = pool.bank.domains.map(() => 0);
    this.#perPassage = new Int16Array(pool.passages.length);
    this.worth = pool.content === null ? null : drawWorth(pool, pool.content, seed, seen);
    for (const id of withheld) {
      const index = pool.indexById.get(id);
      if (index !== undefined) this.#blocked[index] = 1;
    }
  }

  get posterior(): Posterior {
    return { theta: this.pool.nodes, logWeights: this.#logPosterior };
  }

  /** Takes in what became of an item. Throws `RangeError` for an item that the bank version lacks. */
  record({ itemId, outcome }: ItemResponse): void {
    const index = this.pool.indexById.get(itemId);
    if (index === undefined) throw new RangeError(`Item ${itemId} is not in bank version ${this.pool.bank.version}.`);
    this.recordIndex(index, outcome === 'not_reached' ? null : outcome === 'right');
  }

  /** The same by the item's index; null means not administered. */
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

  /** The next item with its reasons, or why the sitting ends. Only sittings without a seed of their own draw from `random`. */
  next(random: Uniform, timeUp: boolean = false): Choice | Stop {
    const reason = this.#stopReason(timeUp);
    if (reason) return this.#stop(reason);
    return this.#choose(random) ?? this.#stop('no_items');
  }

  #stopReason(timeUp: boolean): StopReason | null {
    const { settings, cuts } = this.pool;
    const { minItems, maxItems, minPerDomain } = settings;
    if (timeUp) return 'time_limit';
    if (this.given.length >= maxItems) return 'max_items';
    if (this.given.length < minItems || this.#perDomain.some((n) => n < minPerDomain)) return null;
    if (this.ability.sd > settings.maxSe) return null;
    if (this.pool.content !== null && isMidSet(this.state(), this.pool.content)) return null;
    const reach = settings.reachSds * expectedMove(this.ability.sd, this.given.length, settings);
    return cuts.some((cut) => Math.abs(cut.theta - this.ability.theta) <= reach) ? null : 'precise';
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

  #choose(random: Uniform): Choice | null {
    const { settings, content } = this.pool;
    if (content !== null) return chooseByContent(this.state(), content, this.worth!);
    return chooseBestOf(this.state(), settings as DeliverySettings & BestOfChoice, random);
  }

  /** What the next choice goes by. */
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
 * The standard deviation of what the estimate will still move up to the last question: by the law of total variance, the
 * variance now less that expected then. Every further question is taken to add the information that those so far added on average.
 */
export function expectedMove(sd: number, given: number, { maxItems, prior }: DeliverySettings): number {
  const priorPrecision = 1 / prior.sd ** 2;
  const perItem = Math.max(0, 1 / sd ** 2 - priorPrecision) / given;
  const sdAtEnd2 = 1 / (1 / sd ** 2 + (maxItems - given) * perItem);
  return Math.sqrt(sd ** 2 - sdAtEnd2);
}

/** A sitting rebuilt from its stored history, so that any process can go on with it. */
export function resumeSitting(
  pool: DeliveryPool,
  history: readonly ItemResponse[],
  individual: Individual = {},
): AdaptiveSitting {
  const sitting = new AdaptiveSitting(pool, individual);
  for (const response of history) sitting.record(response);
  return sitting;
}

/** The seed of a sitting that is about to begin. */
export function drawSeed(random: Uniform): string {
  return Math.floor(random.float() * 2 ** 48).toString(36);
}
