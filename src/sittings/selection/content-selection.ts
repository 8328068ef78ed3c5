import { fastRandom } from '../../platform/crypto/random.ts';
import { type EapEstimate, information } from '../../engine/scoring/irt.ts';
import type { DeliveryPool } from './pool.ts';
import { assembleTest, type TestState } from './shadow-test.ts';

/** The next item and the reasons for its selection, so that the selection can be checked by hand and replayed. */
export type Selection = {
  kind: 'item';
  /** 1 for the first item. */
  position: number;
  theta: number;
  se: number;
  /** The ability at which the selection aims, if it is below the estimate so that first questions are easier. */
  target?: number;
  /** `need`: blueprint share minus share so far. `available`: the number of items that can still be selected. */
  domains: { name: string; share: number; given: number; need: number; available: number }[];
  domain: string;
  /** The candidates of the selected domain or text, best first. `information` is at the target ability. */
  candidates: { itemId: string; information: number }[];
  itemId: string;
};

export type SittingState = {
  pool: DeliveryPool;
  ability: EapEstimate;
  /** Indices of the shown items in order, without items that were not reached. */
  given: readonly number[];
  /** 1 for items that can't be selected, because the item or one of its enemies was shown. */
  blocked: Uint8Array;
  perDomain: readonly number[];
  perPassage: Int16Array;
};

/** How chance and earlier sittings change each item's worth. The values are fixed when a sitting begins. */
export type Worth = {
  /** A random number from 0 to 1. Multiplied by the spread, the number is added to the item's information. */
  chance: Float64Array;
  /** 1 for items that rotation favours in this sitting. */
  isTurn: Uint8Array;
  /** A factor for the item's worth, below 1 if the learner has seen the item or its text, or if the item rests. */
  share: Float64Array;
};

/**
 * Draws the random parts of each item's worth from the sitting's seed. Uniform random numbers make an item's
 * probability linear in its information, which limits overlap between learners at the lowest cost of information.
 * Questions on one text share half of their random number, so that the selected texts vary too.
 */
export function drawWorth(pool: DeliveryPool, seed: string, seen: Iterable<string>): Worth {
  const random = fastRandom(seed);
  const { rotation, rest, seenWorth, repeatWorth = seenWorth } = pool.content.control;
  const textChance = pool.passages.map(() => random.float());
  const chance = new Float64Array(pool.bank.items.length);
  const isTurn = new Uint8Array(chance.length);
  const share = new Float64Array(chance.length).fill(1);
  for (let i = 0; i < chance.length; i++) {
    const own = random.float();
    const text = textChance[pool.passageOfItem[i]!];
    chance[i] = text === undefined ? own : (own + text) / 2;
    // One random number decides both rotation and rest, so that an item never has both.
    const lot = random.float();
    if (lot < rotation.share) isTurn[i] = 1;
    else if (lot > 1 - rest) share[i] = seenWorth;
  }
  for (const id of seen) {
    const i = pool.indexById.get(id);
    if (i === undefined) continue;
    const passage = pool.passages[pool.passageOfItem[i]!];
    for (const mate of passage?.items ?? [i]) share[mate] = repeatWorth;
  }
  return { chance, isTurn, share };
}

/** The state from which the rest of the test is assembled, with the worth of each item at the target ability. */
export function testStateOf(state: SittingState, worth: Worth): TestState & { target: number; available: number[] } {
  const { pool, ability, given, blocked } = state;
  const { rotation, maxAbove, weak } = pool.content.control;
  const target = targetOf(state);
  const limit = maxAbove && given.length >= maxAbove.from ? ability.theta + maxAbove.logits : Infinity;
  // If only harder items are left, they can come.
  const hardest = pool.bank.items.some((item, i) => blocked[i] === 0 && item.b <= limit) ? limit : Infinity;
  const isWeak = weak && ability.theta < pool.settings.prior.mean - weak.below;
  const tooHard = isWeak ? ability.theta + weak.above : Infinity;
  const spread = spreadAt(pool, target);
  const weights = new Float64Array(blocked.length);
  const free = new Uint8Array(blocked.length);
  const available = pool.bank.domains.map(() => 0);
  pool.bank.items.forEach((item, i) => {
    if (blocked[i] === 1 || item.b > hardest) return;
    free[i] = 1;
    available[pool.domainOfItem[i]!]!++;
    const isTurn =
      worth.isTurn[i] === 1 && Math.abs(clampToEdge(pool, item.b) - clampToEdge(pool, target)) <= rotation.within;
    const chance = spread * worth.chance[i]! + (isTurn ? rotation.worth : 0);
    weights[i] = worth.share[i]! * (information(item, target) + chance) * (item.b > tooHard ? lastShare : 1);
  });
  return { free, weights, given, openPassage: openPassageOf(state), target, available };
}

/** Items that come last have this share of their worth, so that constraints can still be met. */
const lastShare = 0.001;
/** The prior's share of an estimate counts as at most this, so that the aim after the first questions stays in reach. */
const maxPull = 0.6;

/**
 * The prior pulls a low estimate up, so a weak learner would get too many hard questions. Below the prior mean, the aim
 * is therefore the estimate that the answers alone give.
 */
function targetOf({ pool, ability, given }: SittingState): number {
  const { easing, weak } = pool.content.control;
  const { prior } = pool.settings;
  const first = ability.theta - (easing[given.length] ?? 0);
  const below = prior.mean - ability.theta;
  if (weak === undefined || below <= 0) return first;
  const pull = Math.min(maxPull, (ability.sd / prior.sd) ** 2);
  return Math.min(first, prior.mean - below / (1 - pull) - weak.easing * Math.min(1, below));
}

/** Assembles the rest of the test and selects its first item. Returns null if the bank has no items left. */
export function selectItem(state: SittingState, worth: Worth): Selection | null {
  const { pool, ability, given, perDomain } = state;
  const from = testStateOf(state, worth);
  const { target, weights, available, openPassage } = from;
  const test = assembleTest(pool, from);
  test.sort((x, y) => weights[y]! - weights[x]!);
  const next = nextOf(state, test, openPassage);
  if (next === null) return null;
  const total = given.length;
  return {
    kind: 'item',
    position: total + 1,
    theta: ability.theta,
    se: ability.sd,
    ...(target === ability.theta ? {} : { target }),
    domains: pool.bank.domains.map(({ name, share }, d) => {
      const own = perDomain[d]!;
      return { name, share, given: own, need: share - (total === 0 ? 0 : own / total), available: available[d]! };
    }),
    domain: pool.bank.domains[next.domain]!.name,
    candidates: next.candidates.map((i) => {
      const item = pool.bank.items[i]!;
      return { itemId: item.id, information: information(item, target) };
    }),
    itemId: pool.bank.items[next.candidates[0]!]!.id,
  };
}

function spreadAt({ content, settings: { prior } }: DeliveryPool, theta: number): number {
  const { middle, edge, low = edge } = content.control.spread;
  const way = Math.min(1, Math.abs(theta - prior.mean) / (2 * prior.sd));
  return middle + ((theta < prior.mean ? low : edge) - middle) * way ** 2;
}

function clampToEdge({ content, settings: { prior } }: DeliveryPool, theta: number): number {
  const { edge } = content.control.rotation;
  return Math.max(prior.mean - edge, Math.min(prior.mean + edge, theta));
}

/** Returns the text of the last question if that text may have another question. Otherwise returns −1. */
function openPassageOf({ pool, given, perPassage }: SittingState): number {
  const last = given.at(-1);
  const passage = last === undefined ? -1 : pool.passageOfItem[last]!;
  return passage >= 0 && perPassage[passage]! < pool.content.control.maxPerSet ? passage : -1;
}

/** Whether the text of the last question has too few questions so far, so that the sitting must not end yet. */
export function isMidSet(state: SittingState): boolean {
  const passage = openPassageOf(state);
  return passage >= 0 && state.perPassage[passage]! < state.pool.content.control.minPerSet;
}

/**
 * Returns the candidates for the next question, heaviest first. They are on the open text, or else in the domain that
 * is furthest below its share. An item waits if its response type would exceed the type's share. If all items of a
 * domain wait, the next domain follows.
 */
function nextOf(
  state: SittingState,
  test: readonly number[],
  openPassage: number,
): { domain: number; candidates: number[] } | null {
  const { pool, given, perDomain, blocked } = state;
  const { typeOfItem, control } = pool.content;
  const { maxTypeShare, maxPerSet } = control;
  const total = given.length;
  const ofType = (type: number) => given.reduce((n, i) => n + (typeOfItem[i] === type ? 1 : 0), 0);
  const mayCome = (i: number) => {
    const type = typeOfItem[i]!;
    return type < 0 || ofType(type) + 1 <= Math.max(2, maxTypeShare * (total + 1));
  };
  if (openPassage >= 0) {
    const { items, domain } = pool.passages[openPassage]!;
    const onText = test.filter((i) => pool.passageOfItem[i] === openPassage);
    // If all planned questions on the text must wait, an unplanned question on it comes instead. If there is none, the
    // planned questions do not wait.
    const others = items.filter((i) => blocked[i] === 0 && mayCome(i) && canReplace(state, onText, i));
    const candidates = [onText.filter(mayCome), others, onText].find((list) => list.length > 0);
    if (onText.length > 0) return { domain, candidates: candidates! };
  }
  const known = pool.bank.domains.map(() => 0);
  for (const i of given) known[pool.domainOfItem[i]!]! += information(pool.bank.items[i]!, state.ability.theta);
  const behind = pool.bank.domains.map(({ share }, d) => {
    // A text has several questions, so its domain waits until half of them are due.
    const waits = test.some((i) => pool.domainOfItem[i] === d && pool.passageOfItem[i]! >= 0) ? (maxPerSet - 1) / 2 : 0;
    return { d, by: share * (total + 1) - perDomain[d]! - waits, known: known[d]! };
  });
  behind.sort((x, y) => (Math.abs(y.by - x.by) < 1e-9 ? x.known - y.known : y.by - x.by));
  for (const only of [mayCome, () => true]) {
    for (const { d } of behind) {
      const candidates = test.filter((i) => pool.domainOfItem[i] === d && only(i));
      if (candidates.length > 0) return { domain: d, candidates: textsInTime(state, d, candidates) };
    }
  }
  return null;
}

/** Whether a question can replace the planned ones on its text without breaking a minimum share or a maximum. */
function canReplace({ pool, given }: SittingState, planned: readonly number[], i: number): boolean {
  const { isFloored, kindsOfItem, maxPerKind } = pool.content;
  if (planned.some((one) => isFloored[one]! > isFloored[i]!)) return false;
  return kindsOfItem[i]!.every(
    (kind) => given.filter((g) => kindsOfItem[g]!.includes(kind)).length < maxPerKind[kind]!,
  );
}

/** Puts questions on texts first while the domain has too few of them, because the sitting may end early. */
function textsInTime({ pool, given, perDomain }: SittingState, d: number, candidates: readonly number[]): number[] {
  const onText = (i: number) => pool.domainOfItem[i] === d && pool.passageOfItem[i]! >= 0;
  const due = given.filter(onText).length < pool.content.control.minOnTexts * (perDomain[d]! + 1);
  return candidates.toSorted((x, y) => (due ? Number(onText(y)) - Number(onText(x)) : 0));
}
