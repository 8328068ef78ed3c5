import { fastRandom } from '../../platform/crypto/random.ts';
import { information } from '../../engine/scoring/irt.ts';
import type { Prior } from '../../engine/scoring/irt.ts';
import type { Choice, SittingState } from './selection-state.ts';
import { domainNeeds } from './selection-state.ts';
import type { Content, DeliveryPool } from './pool.ts';
import { assembleTest } from './shadow-test.ts';
import type { TestState } from './shadow-test.ts';

/** What chance and the learner's earlier sittings make of each item, settled when a sitting begins. */
export type Worth = {
  /** From nothing to 1, times the spread, is added to the information. */
  chance: Float64Array;
  /** 1 for the items whose turn it is. */
  isTurn: Uint8Array;
  /** The share of all this that an item counts with: less where the learner has seen it, or its text. */
  share: Float64Array;
};

/**
 * Chance by item from the sitting's seed. Evenly distributed chance added to the information makes the probability that an item
 * is chosen rise in a straight line with its information, which of all ways to hold down what two learners of one
 * ability have in common costs the least information. Questions on a text share half of theirs, so that texts vary too.
 */
export function drawWorth(pool: DeliveryPool, { control }: Content, seed: string, seen: Iterable<string>): Worth {
  const random = fastRandom(seed);
  const { rotation, rest, seenWorth } = control;
  const textChance = pool.passages.map(() => random.float());
  const chance = new Float64Array(pool.bank.items.length);
  const isTurn = new Uint8Array(chance.length);
  const share = new Float64Array(chance.length).fill(1);
  for (let i = 0; i < chance.length; i++) {
    const own = random.float();
    const text = textChance[pool.passageOfItem[i]!];
    chance[i] = text === undefined ? own : (own + text) / 2;
    // One draw for both: an item whose turn it is doesn't rest.
    const lot = random.float();
    if (lot < rotation.share) isTurn[i] = 1;
    else if (lot > 1 - rest) share[i] = seenWorth;
  }
  for (const id of seen) {
    const i = pool.indexById.get(id);
    if (i === undefined) continue;
    const passage = pool.passages[pool.passageOfItem[i]!];
    for (const mate of passage?.items ?? [i]) share[mate] = seenWorth;
  }
  return { chance, isTurn, share };
}

/** What the rest of the test is put together from, with what each item is worth at the ability that the next question aims at. */
export function testStateOf(
  state: SittingState,
  content: Content,
  worth: Worth,
): TestState & { target: number; available: number[] } {
  const { pool, ability, given, blocked } = state;
  const { rotation, easing } = content.control;
  const target = ability.theta - (easing[given.length] ?? 0);
  const spread = spreadAt(content, target, pool.settings.prior);
  const weights = new Float64Array(blocked.length);
  const free = new Uint8Array(blocked.length);
  const available = pool.bank.domains.map(() => 0);
  const place = (theta: number) => placeOf(theta, content, pool.settings.prior);
  pool.bank.items.forEach((item, i) => {
    if (blocked[i] === 1) return;
    free[i] = 1;
    available[pool.domainOfItem[i]!]!++;
    const isTurn = worth.isTurn[i] === 1 && Math.abs(place(item.b) - place(target)) <= rotation.within;
    const chance = spread * worth.chance[i]! + (isTurn ? rotation.worth : 0);
    weights[i] = worth.share[i]! * (information(item, target) + chance);
  });
  return { free, weights, given, openPassage: openPassageOf(state, content), target, available };
}

/** The first item of what the rest of the test looks like from here. Null where the bank has nothing left. */
export function chooseByContent(state: SittingState, content: Content, worth: Worth): Choice | null {
  const { pool, ability, given } = state;
  const from = testStateOf(state, content, worth);
  const { target, weights, available, openPassage } = from;
  const test = assembleTest(pool, content, from);
  test.sort((x, y) => weights[y]! - weights[x]!);
  const next = nextOf(state, content, test, openPassage);
  if (next === null) return null;
  return {
    kind: 'item',
    position: given.length + 1,
    theta: ability.theta,
    se: ability.sd,
    ...(target === ability.theta ? {} : { target }),
    domains: domainNeeds(state, available),
    domain: pool.bank.domains[next.domain]!.name,
    candidates: next.candidates.map((i) => {
      const item = pool.bank.items[i]!;
      return { itemId: item.id, information: information(item, target) };
    }),
    draws: [],
    itemId: pool.bank.items[next.candidates[0]!]!.id,
  };
}

function spreadAt({ control }: Content, theta: number, prior: Prior): number {
  const { middle, edge, low = edge } = control.spread;
  const way = Math.min(1, Math.abs(theta - prior.mean) / (2 * prior.sd));
  return middle + ((theta < prior.mean ? low : edge) - middle) * way ** 2;
}

/** Where an ability or a difficulty stands for rotation. */
function placeOf(theta: number, { control }: Content, prior: Prior): number {
  const { edge } = control.rotation;
  return Math.max(prior.mean - edge, Math.min(prior.mean + edge, theta));
}

/** The text whose questions are being asked: that of the last question, while it may have another. */
function openPassageOf({ pool, given, perPassage }: SittingState, { control }: Content): number {
  const last = given.at(-1);
  const passage = last === undefined ? -1 : pool.passageOfItem[last]!;
  return passage >= 0 && perPassage[passage]! < control.maxPerSet ? passage : -1;
}

/** Whether the text on the screen has too few questions yet: a sitting doesn't end on half a set. */
export function isMidSet(state: SittingState, content: Content): boolean {
  const passage = openPassageOf(state, content);
  return passage >= 0 && state.perPassage[passage]! < content.control.setLeast;
}

/**
 * Of the test's items, the heaviest first: those on the text that is open, else those of the domain furthest behind its share.
 * Items of a type that would take too large a share now wait; where all do, those of the next domain come.
 */
function nextOf(
  state: SittingState,
  content: Content,
  test: readonly number[],
  openPassage: number,
): { domain: number; candidates: number[] } | null {
  const { pool, given, perDomain, blocked } = state;
  const { maxTypeShare, maxPerSet } = content.control;
  const total = given.length;
  const ofType = (type: number) => given.reduce((n, i) => n + (content.typeOfItem[i] === type ? 1 : 0), 0);
  const mayCome = (i: number) => {
    const type = content.typeOfItem[i]!;
    return type < 0 || ofType(type) + 1 <= Math.max(2, maxTypeShare * (total + 1));
  };
  if (openPassage >= 0) {
    const { items, domain } = pool.passages[openPassage]!;
    const onText = test.filter((i) => pool.passageOfItem[i] === openPassage);
    // Where all that the test has of the text must wait, another question on it comes, and where there is none, none waits.
    const others = items.filter((i) => blocked[i] === 0 && mayCome(i) && canStandIn(state, content, onText, i));
    const candidates = [onText.filter(mayCome), others, onText].find((list) => list.length > 0);
    if (onText.length > 0) return { domain, candidates: candidates! };
  }
  const behind = pool.bank.domains.map(({ share }, d) => {
    // A text brings several questions at once: its domain waits until half of them are due.
    const waits = test.some((i) => pool.domainOfItem[i] === d && pool.passageOfItem[i]! >= 0) ? (maxPerSet - 1) / 2 : 0;
    return { d, by: share * (total + 1) - perDomain[d]! - waits };
  });
  behind.sort((x, y) => y.by - x.by || x.d - y.d);
  for (const only of [mayCome, () => true]) {
    for (const { d } of behind) {
      const candidates = test.filter((i) => pool.domainOfItem[i] === d && only(i));
      if (candidates.length > 0) return { domain: d, candidates: textsInTime(state, content, d, candidates) };
    }
  }
  return null;
}

/** Whether a question can take the place of all those that were meant for its text: as good for the floor, and no kind over. */
function canStandIn({ given }: SittingState, content: Content, meant: readonly number[], i: number): boolean {
  const { isFloored, kindsOfItem, maxPerKind } = content;
  if (meant.some((one) => isFloored[one]! > isFloored[i]!)) return false;
  return kindsOfItem[i]!.every(
    (kind) => given.filter((g) => kindsOfItem[g]!.includes(kind)).length < maxPerKind[kind]!,
  );
}

/** Questions on texts first while the domain has too few of them, so that a sitting that ends early has its texts too. */
function textsInTime(
  { pool, given, perDomain }: SittingState,
  { control }: Content,
  d: number,
  candidates: readonly number[],
): number[] {
  const onText = (i: number) => pool.domainOfItem[i] === d && pool.passageOfItem[i]! >= 0;
  const due = given.filter(onText).length < control.onTextsLeast * (perDomain[d]! + 1);
  return candidates.toSorted((x, y) => (due ? Number(onText(y)) - Number(onText(x)) : 0));
}
