import { fastRandom } from '../random.ts';
import { information } from '../scoring/irt.ts';
import type { Choice, SittingState } from './choice.ts';
import { domainNeeds } from './choice.ts';
import type { Content, DeliveryPool } from './pool.ts';
import { assembleTest } from './shadow-test.ts';

/** What chance and the learner's earlier sittings make of each item, settled when a sitting begins. */
export type Worth = {
  /** Added to the information. */
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
  const { spread, rotation, seenWorth } = control;
  const textChance = pool.passages.map(() => random.float());
  const chance = new Float64Array(pool.bank.items.length);
  const isTurn = new Uint8Array(chance.length);
  for (let i = 0; i < chance.length; i++) {
    const own = random.float();
    const text = textChance[pool.passageOfItem[i]!];
    chance[i] = spread * (text === undefined ? own : (own + text) / 2);
    isTurn[i] = random.float() < rotation.share ? 1 : 0;
  }
  const share = new Float64Array(chance.length).fill(1);
  for (const id of seen) {
    const i = pool.indexById.get(id);
    if (i === undefined) continue;
    const passage = pool.passages[pool.passageOfItem[i]!];
    for (const mate of passage?.items ?? [i]) share[mate] = seenWorth;
  }
  return { chance, isTurn, share };
}

/** The first item of what the rest of the test looks like from here. Null where the bank has nothing left. */
export function chooseByContent(state: SittingState, content: Content, worth: Worth): Choice | null {
  const { pool, ability, given, blocked } = state;
  const total = given.length;
  const easing = content.control.easing[total] ?? 0;
  const target = ability.theta - easing;
  const weights = new Float64Array(blocked.length);
  const free = new Uint8Array(blocked.length);
  const available = pool.bank.domains.map(() => 0);
  const { rotation } = content.control;
  pool.bank.items.forEach((item, i) => {
    if (blocked[i] === 1) return;
    free[i] = 1;
    available[pool.domainOfItem[i]!]!++;
    const isTurn = worth.isTurn[i] === 1 && Math.abs(item.b - target) <= rotation.within;
    weights[i] = worth.share[i]! * (information(item, target) + worth.chance[i]! + (isTurn ? rotation.worth : 0));
  });
  const openPassage = openPassageOf(state, content);
  const test = assembleTest(pool, content, { free, weights, given, openPassage });
  test.sort((x, y) => weights[y]! - weights[x]!);
  const next = nextOf(state, content, test, openPassage);
  if (next === null) return null;
  return {
    kind: 'item',
    position: total + 1,
    theta: ability.theta,
    se: ability.sd,
    ...(easing === 0 ? {} : { target }),
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

/** The text whose questions are being asked: that of the last question, while it may have another. */
function openPassageOf({ pool, given, perPassage }: SittingState, { control }: Content): number {
  const last = given.at(-1);
  const passage = last === undefined ? -1 : pool.passageOfItem[last]!;
  return passage >= 0 && perPassage[passage]! < control.setMost ? passage : -1;
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
  { pool, given, perDomain }: SittingState,
  content: Content,
  test: readonly number[],
  openPassage: number,
): { domain: number; candidates: number[] } | null {
  const { typeShareMost, setMost } = content.control;
  const total = given.length;
  const ofType = (type: number) => given.reduce((n, i) => n + (content.typeOfItem[i] === type ? 1 : 0), 0);
  const mayCome = (i: number) => {
    const type = content.typeOfItem[i]!;
    return type < 0 || ofType(type) + 1 <= Math.max(2, typeShareMost * (total + 1));
  };
  if (openPassage >= 0) {
    const onText = test.filter((i) => pool.passageOfItem[i] === openPassage);
    if (onText.length > 0)
      return {
        domain: pool.passages[openPassage]!.domain,
        candidates: onText.toSorted((x, y) => Number(mayCome(y)) - Number(mayCome(x))),
      };
  }
  const behind = pool.bank.domains.map(({ share }, d) => {
    // A text brings several questions at once: its domain waits until half of them are due.
    const waits = test.some((i) => pool.domainOfItem[i] === d && pool.passageOfItem[i]! >= 0) ? (setMost - 1) / 2 : 0;
    return { d, by: share * (total + 1) - perDomain[d]! - waits };
  });
  behind.sort((x, y) => y.by - x.by || x.d - y.d);
  for (const only of [mayCome, () => true]) {
    for (const { d } of behind) {
      const candidates = test.filter((i) => pool.domainOfItem[i] === d && only(i));
      if (candidates.length > 0) return { domain: d, candidates };
    }
  }
  return null;
}
