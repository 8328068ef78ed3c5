import type { Uniform } from '../random.ts';
import type { Cut, ScoredItem } from '../scoring/cuts.ts';
import {
  standardPrior,
  z95,
  confidenceInterval,
  information,
  logPriorAt,
  logProbabilities,
  momentsOf,
  quadratureNodes,
} from '../scoring/irt.ts';
import type { EapEstimate, Prior } from '../scoring/irt.ts';
import type { Level, Subject } from '../scoring/levels.ts';
import { prepareBank } from '../scoring/score.ts';
import type { BankVersion, ItemResponse } from '../scoring/score.ts';

/**
 * Adaptive delivery as a pure function of bank version, settings, history and random draws.
 *
 * Sources: Kingsbury & Zara (1989), Applied Measurement in Education 2(4), for the balancing of content domains and the
 * random choice among the most informative items; Birnbaum (1968) for maximum information; Bock & Mislevy (1982) for
 * the running ability estimate.
 */

/** An item as delivery sees it. Enemies give each other away; items on one passage share a text. */
export type DeliveryItem = ScoredItem & {
  enemies?: readonly string[];
  passage?: string | null;
  /** The share of sittings that may use the item at all, 1 if left out: exposure control, see `drawWithheld`. */
  admission?: number;
};

/** Frozen with each sitting. */
export type DeliverySettings = {
  minItems: number;
  maxItems: number;
  minPerDomain: number;
  /** The next item is drawn among the best `bestOf`, among the best `earlyBestOf` for the first `earlyItems`. */
  bestOf: number;
  earlyBestOf: number;
  earlyItems: number;
  maxPerPassage: number;
  prior: Prior;
} & (CurtailedStopping | IntervalStopping);

/**
 * A sitting ends early once further questions would hardly change its level: every cut is further from the estimate
 * than the estimate is still expected to move up to the last question, and the standard error is at most `seMost`.
 */
export type CurtailedStopping = { seMost: number };

/**
 * How sittings ended that began before curtailed stopping; kept, because a sitting's settings are frozen. They go on while an
 * interval of `stoppingSds` posterior standard deviations on either side holds the cut of one of these levels.
 */
export type IntervalStopping = { stoppingLevels: readonly Level[]; stoppingSds: number };

/** Found by simulation of the shipped bank: the error where sittings that end early are no less precise than the goal. */
const seMost: Record<Subject, number> = { digital: 0.29, english: 0.295, maths: 0.3 };

export function defaultSettings(subject: Subject): DeliverySettings {
  return {
    seMost: seMost[subject],
    minItems: subject === 'digital' ? 20 : 24,
    maxItems: 40,
    minPerDomain: 3,
    bestOf: 5,
    earlyBestOf: 8,
    earlyItems: 5,
    maxPerPassage: 3,
    prior: standardPrior,
  };
}

/** A bank version made ready for delivery. Never changed once made, so every sitting of the version shares it. */
export type DeliveryPool = {
  bank: BankVersion<DeliveryItem>;
  settings: DeliverySettings;
  /** The cuts that the end of a sitting waits for. */
  stoppingCuts: readonly Cut[];
  nodes: Float64Array;
  logPrior: Float64Array;
  /** log P and log(1 − P) of each item at each node. */
  logRight: readonly Float64Array[];
  logWrong: readonly Float64Array[];
  indexById: ReadonlyMap<string, number>;
  itemsByDomain: readonly (readonly number[])[];
  domainOfItem: readonly number[];
  enemies: readonly (readonly number[])[];
};

/** Throws `BankFault` where the bank can't be scored. */
export function preparePool(
  bank: BankVersion<DeliveryItem>,
  settings: DeliverySettings = defaultSettings(bank.subject),
): DeliveryPool {
  const { cuts } = prepareBank(bank);
  const nodes = quadratureNodes(settings.prior);
  const indexById = new Map(bank.items.map((item, i) => [item.id, i]));
  const logRight: Float64Array[] = [];
  const logWrong: Float64Array[] = [];
  for (const item of bank.items) {
    const logs = Array.from(nodes, (theta) => logProbabilities(item, theta));
    logRight.push(Float64Array.from(logs, (log) => log.right));
    logWrong.push(Float64Array.from(logs, (log) => log.wrong));
  }
  // Enmity holds both ways even where only one of the two items names the other.
  const enemies = bank.items.map(() => new Set<number>());
  bank.items.forEach((item, i) => {
    for (const id of item.enemies ?? []) {
      const other = indexById.get(id);
      if (other === undefined) continue;
      enemies[i]!.add(other);
      enemies[other]!.add(i);
    }
  });
  const domainIndex = new Map(bank.domains.map((domain, d) => [domain.name, d]));
  const domainOfItem = bank.items.map((item) => domainIndex.get(item.domain)!);
  return {
    bank,
    settings,
    stoppingCuts: 'seMost' in settings ? cuts : cuts.filter((cut) => settings.stoppingLevels.includes(cut.level)),
    nodes,
    logPrior: logPriorAt(settings.prior, nodes),
    logRight,
    logWrong,
    indexById,
    domainOfItem,
    itemsByDomain: bank.domains.map((_, d) => bank.items.flatMap((_item, i) => (domainOfItem[i] === d ? [i] : []))),
    enemies: enemies.map((set) => [...set]),
  };
}

/** Why the next item is the next item: enough to check the choice by hand and to replay it from the draws. */
export type Choice = {
  kind: 'item';
  /** 1 for the first item. */
  position: number;
  theta: number;
  se: number;
  /** `need` is the blueprint share less the share so far; `available` counts the items that could still be given. */
  domains: { name: string; share: number; given: number; need: number; available: number }[];
  domain: string;
  /** The best items of the domain, most informative first, with their information at `theta`. */
  candidates: { itemId: string; information: number }[];
  /** The uniform draws used, in order: one among equally needy domains if there were several, one among candidates. */
  draws: number[];
  itemId: string;
};

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

/** `random` ignores information: the yardstick for what adaptivity gains. */
export type ItemRule = 'information' | 'random';

const tie = 1e-12;

/** One sitting in memory: fold the answers in with `record`, ask for the next item with `next`. */
export class AdaptiveSitting {
  readonly pool: DeliveryPool;
  readonly rule: ItemRule;
  ability: EapEstimate;
  /** Indices of the items that count, in order. */
  readonly given: number[] = [];
  readonly #logPosterior: Float64Array;
  readonly #blocked: Uint8Array;
  readonly #perDomain: number[];
  readonly #perPassage = new Map<string, number>();

  /** `seen`: ids of items that this learner was shown before, in any sitting; unknown ids are of other bank versions. */
  constructor(pool: DeliveryPool, seen: Iterable<string> = [], rule: ItemRule = 'information') {
    this.pool = pool;
    this.rule = rule;
    this.ability = { theta: pool.settings.prior.mean, sd: pool.settings.prior.sd };
    this.#logPosterior = pool.logPrior.slice();
    this.#blocked = new Uint8Array(pool.bank.items.length);
    this.#perDomain = pool.bank.domains.map(() => 0);
    for (const id of seen) {
      const index = pool.indexById.get(id);
      if (index !== undefined) this.#blocked[index] = 1;
    }
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
    const passage = pool.bank.items[index]!.passage;
    if (passage) this.#perPassage.set(passage, (this.#perPassage.get(passage) ?? 0) + 1);
    if (right === null) return;
    this.given.push(index);
    this.#perDomain[pool.domainOfItem[index]!]!++;
    const logs = (right ? pool.logRight : pool.logWrong)[index]!;
    const posterior = this.#logPosterior;
    for (let k = 0; k < posterior.length; k++) posterior[k]! += logs[k]!;
    this.ability = momentsOf(pool.nodes, posterior);
  }

  /** The next item with its reasons, or why the sitting ends. Draws from `random` only when it chooses an item. */
  next(random: Uniform, timeUp: boolean = false): Choice | Stop {
    const reason = this.#stopReason(timeUp);
    if (reason) return this.#stop(reason);
    return this.#choose(random) ?? this.#stop('no_items');
  }

  #stopReason(timeUp: boolean): StopReason | null {
    const { settings, stoppingCuts } = this.pool;
    const { minItems, maxItems, minPerDomain } = settings;
    if (timeUp) return 'time_limit';
    if (this.given.length >= maxItems) return 'max_items';
    if (this.given.length < minItems || this.#perDomain.some((n) => n < minPerDomain)) return null;
    if ('seMost' in settings && this.ability.sd > settings.seMost) return null;
    const reach =
      'seMost' in settings
        ? z95 * expectedMove(this.ability.sd, this.given.length, settings)
        : settings.stoppingSds * this.ability.sd;
    return stoppingCuts.some((cut) => Math.abs(cut.theta - this.ability.theta) <= reach) ? null : 'precise';
  }

  #stop(reason: StopReason): Stop {
    const ci = confidenceInterval(this.ability);
    const cutsInside = this.pool.stoppingCuts
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
    const { pool } = this;
    const { settings, bank } = pool;
    const total = this.given.length;
    const allowed = pool.itemsByDomain.map((items) => items.filter((i) => this.#isAllowed(i)));
    const domains = bank.domains.map(({ name, share }, d) => {
      const given = this.#perDomain[d]!;
      return { name, share, given, need: share - (total === 0 ? 0 : given / total), available: allowed[d]!.length };
    });
    let open = domains.flatMap((domain, d) => (domain.available > 0 ? [d] : []));
    if (open.length === 0) return null;
    // The minimum in each domain outranks the shares once only just enough items are left before the sitting may stop.
    const short = open.filter((d) => domains[d]!.given < settings.minPerDomain);
    const owed = short.reduce((sum, d) => sum + settings.minPerDomain - domains[d]!.given, 0);
    if (owed > 0 && Math.min(settings.minItems, settings.maxItems) - total <= owed) open = short;

    const draws: number[] = [];
    const draw = (count: number): number => {
      const value = random.float();
      draws.push(value);
      return Math.floor(value * count);
    };
    const most = Math.max(...open.map((d) => domains[d]!.need));
    const neediest = open.filter((d) => domains[d]!.need >= most - tie);
    const domain = neediest.length === 1 ? neediest[0]! : neediest[draw(neediest.length)]!;
    const candidates = this.#candidates(allowed[domain]!);
    const chosen = candidates[draw(candidates.length)]!;
    return {
      kind: 'item',
      position: total + 1,
      theta: this.ability.theta,
      se: this.ability.sd,
      domains,
      domain: domains[domain]!.name,
      candidates,
      draws,
      itemId: chosen.itemId,
    };
  }

  #isAllowed(index: number): boolean {
    if (this.#blocked[index]) return false;
    const passage = this.pool.bank.items[index]!.passage;
    return !passage || (this.#perPassage.get(passage) ?? 0) < this.pool.settings.maxPerPassage;
  }

  #candidates(indices: readonly number[]): { itemId: string; information: number }[] {
    const { bank, settings } = this.pool;
    const rated = indices.map((i) => ({
      itemId: bank.items[i]!.id,
      information: information(bank.items[i]!, this.ability.theta),
    }));
    if (this.rule === 'random') return rated;
    // The sort is stable, so equal information keeps the bank's order and the choice stays reproducible.
    rated.sort((x, y) => y.information - x.information);
    return rated.slice(0, this.given.length < settings.earlyItems ? settings.earlyBestOf : settings.bestOf);
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
  seen: Iterable<string> = [],
): AdaptiveSitting {
  const sitting = new AdaptiveSitting(pool, seen);
  for (const response of history) sitting.record(response);
  return sitting;
}

/**
 * The ids that this sitting will do without, drawn once when it begins and stored with it; pass them on with `seen`.
 *
 * Exposure control by admission: each item is let into a sitting with a fixed probability of its own, found by
 * simulation (Sympson & Hetter 1985), applied to the whole sitting as in van der Linden & Veldkamp (2004), so that
 * every later step stays a plain function of what was stored.
 */
export function drawWithheld(pool: DeliveryPool, random: Uniform): string[] {
  const withheld: string[] = [];
  for (const { id, admission = 1 } of pool.bank.items)
    if (admission < 1 && random.float() >= admission) withheld.push(id);
  return withheld;
}

/** A whole adaptive sitting of a learner who answers by `answers(item index)`; for simulation. */
export function deliver(pool: DeliveryPool, answers: (index: number) => boolean, random: Uniform): AdaptiveSitting {
  return playOut(new AdaptiveSitting(pool, drawWithheld(pool, random)), answers, random);
}

/** The yardstick: `length` items drawn without regard to information, under all other rules of delivery. */
export function deliverAtRandom(
  pool: DeliveryPool,
  answers: (index: number) => boolean,
  random: Uniform,
  length: number,
): AdaptiveSitting {
  const settings = { ...pool.settings, minItems: length, maxItems: length };
  return playOut(new AdaptiveSitting({ ...pool, settings }, [], 'random'), answers, random);
}

function playOut(sitting: AdaptiveSitting, answers: (index: number) => boolean, random: Uniform): AdaptiveSitting {
  for (let step = sitting.next(random); step.kind === 'item'; step = sitting.next(random)) {
    const index = sitting.pool.indexById.get(step.itemId)!;
    sitting.recordIndex(index, answers(index));
  }
  return sitting;
}
