import type { Content, DeliveryPool } from './pool.ts';

/**
 * This file assembles shadow tests (van der Linden & Reese 1998, Applied Psychological Measurement 22(3)). Before every
 * question it assembles the rest of the sitting, so that each question belongs to a test with the right content.
 *
 * Dynamic programming selects texts with their questions, and the heaviest other items fill the remaining places. Then
 * exchanges repair kinds that have too many items, and improve the test. The result is within 1 % of the exact optimum
 * of an integer programme (`test/sittings/shadow-test.test.ts`) in a hundredth of its time.
 */

export type TestState = {
  /** 1 for items that can still be selected. */
  free: Uint8Array;
  /** The worth of each item, at least 0. */
  weights: Float64Array;
  given: readonly number[];
  /** The text that is open for further questions, or −1. */
  openPassage: number;
};

/** Returns the rest of the test without an order. The list is too short only if the bank has no more items. */
export function assembleTest(pool: DeliveryPool, state: TestState): number[] {
  const singles = singlesOf(pool, state.free, state.weights);
  let best = new Draft(pool, { state, singles, fillBy: state.weights, fillFrom: singles });
  const tryAlso = (start: Start): boolean => {
    const draft = new Draft(pool, start);
    const isBetter = draft.worth > best.worth + noGain && draft.size >= best.size && draft.excess <= best.excess;
    if (isBetter) best = draft;
    return isBetter;
  };
  if (best.choseTexts && best.prices.some((price) => price > 0)) tryAlso(atPrices(pool, best));
  while (best.inTheWay().some((item) => tryAlso(without(item, pool, best.start))));
  return best.items();
}

/** `fillBy` contains the weights that select a draft's first items. `state.weights` compare finished drafts. */
type Start = {
  state: TestState;
  /** Free items without a text, by domain, heaviest first: `singles` by `state.weights`, `fillFrom` by `fillBy`. */
  singles: readonly (readonly number[])[];
  fillBy: Float64Array;
  fillFrom: readonly (readonly number[])[];
};

/**
 * Returns the start of another draft, in which the price of each kind lowers the weights. Texts are selected before
 * kinds are repaired, and at these prices other texts may be worth more (Lagrangian relaxation).
 */
function atPrices(pool: DeliveryPool, { start, prices }: Draft): Start {
  const { kindsOfItem } = pool.content;
  const fillBy = start.state.weights.map((weight, i) => {
    let priced = weight;
    for (const kind of kindsOfItem[i]!) priced -= prices[kind]!;
    return priced;
  });
  return { ...start, fillBy, fillFrom: singlesOf(pool, start.state.free, fillBy) };
}

function without(item: number, pool: DeliveryPool, { state, singles, fillBy, fillFrom }: Start): Start {
  const free = state.free.slice();
  free[item] = 0;
  const others = (lists: Start['singles']) =>
    lists.map((list, d) => (d === pool.domainOfItem[item] ? list.filter((i) => i !== item) : list));
  return { state: { ...state, free }, singles: others(singles), fillBy, fillFrom: others(fillFrom) };
}

function singlesOf(pool: DeliveryPool, free: Uint8Array, weights: Float64Array): number[][] {
  return pool.itemsByDomain.map((items) =>
    heaviestFirst(
      items.filter((i) => free[i] === 1 && pool.passageOfItem[i]! < 0),
      weights,
    ),
  );
}

/** A weight (to 2⁻³⁰) and an item's index in one number, because numbers sort ten times as fast as objects. */
const weightSteps = 2 ** 30;
const maxItems = 2 ** 12;

function heaviestFirst(items: readonly number[], weights: Float64Array): number[] {
  const keys = new Float64Array(items.length);
  for (let k = 0; k < keys.length; k++) {
    const i = items[k]!;
    // Prices can make a weight negative, but not below −1.
    keys[k] = Math.floor((weights[i]! + 1) * weightSteps) * maxItems + (maxItems - 1 - i);
  }
  return Array.from(keys.sort().reverse(), (key) => maxItems - 1 - (key % maxItems));
}

type QuestionSet = { passage: number; items: number[]; weight: number };
type Exchange = { out: number; into: number; loss: number };

const noGain = 1e-9;

class Draft {
  readonly pool: DeliveryPool;
  readonly content: Content;
  readonly state: TestState;
  readonly #chosen: Uint8Array;
  readonly #used: Float64Array;
  readonly start: Start;
  readonly #slots: number[];
  readonly #passageCounts: Int16Array;
  #words = 0;
  choseTexts = false;
  /** The price of each kind: the weight that was lost by the last exchange that repaired the kind. */
  readonly prices: Float64Array;

  constructor(pool: DeliveryPool, start: Start) {
    const { state } = start;
    const { content } = pool;
    this.pool = pool;
    this.content = content;
    this.start = start;
    this.state = state;
    this.prices = new Float64Array(content.maxPerKind.length);
    this.#chosen = new Uint8Array(pool.bank.items.length);
    this.#used = new Float64Array(content.maxPerKind.length);
    this.#passageCounts = new Int16Array(pool.passages.length);
    this.#slots = [...content.planned];
    for (const i of state.given) {
      this.#count(i, 1);
      this.#slots[pool.domainOfItem[i]!]!--;
    }
    this.#fill();
    this.#repairKinds();
    this.#repairWords();
    this.#improve();
  }

  items(): number[] {
    const list: number[] = [];
    for (let i = 0; i < this.#chosen.length; i++) if (this.#chosen[i] === 1) list.push(i);
    return list;
  }

  get size(): number {
    return this.items().length;
  }

  get worth(): number {
    return this.items().reduce((sum, i) => sum + this.state.weights[i]!, 0);
  }

  /** The total by which the numbers of kinds and words exceed their maxima. */
  get excess(): number {
    const { maxPerKind, control } = this.content;
    let excess = Math.max(0, this.#words - control.maxWords);
    for (let kind = 0; kind < maxPerKind.length; kind++) excess += Math.max(0, this.#used[kind]! - maxPerKind[kind]!);
    return excess;
  }

  /** Returns selected items whose removal gains weight because an enemy in another domain becomes free, best first. */
  inTheWay(): number[] {
    const { pool, state, start } = this;
    const { weights } = state;
    const gains = new Map<number, number>();
    const heaviestOut = start.singles.map((list) => list.find((i) => this.#chosen[i] === 0));
    const lightestIn = start.singles.map((list) => list.findLast((i) => this.#chosen[i] === 1));
    start.singles.forEach((list, d) => {
      const leaves = lightestIn[d];
      if (leaves === undefined) return;
      for (const into of list) {
        if (weights[into]! <= weights[leaves]!) break;
        if (this.#chosen[into] === 1) continue;
        const [enemy, another] = pool.enemies[into]!.filter((i) => this.#chosen[i] === 1);
        if (enemy === undefined || another !== undefined) continue;
        const comes = heaviestOut[pool.domainOfItem[enemy]!];
        if (comes === undefined) continue;
        const gain = weights[into]! - weights[leaves]! + weights[comes]! - weights[enemy]!;
        if (gain > noGain) gains.set(enemy, Math.max(gain, gains.get(enemy) ?? 0));
      }
    });
    return [...gains].sort(([i, x], [j, y]) => y - x || i - j).map(([item]) => item);
  }

  /** Fills the places of each domain with the heaviest items. Places that a domain can't fill go to other domains. */
  #fill(): void {
    let left = 0;
    this.#slots.forEach((slots, d) => {
      if (slots > 0) left += slots - this.#fillDomain(d, slots);
      else left += slots;
    });
    for (let d = 0; d < this.#slots.length && left > 0; d++) left -= this.#takeSingles(d, left);
  }

  #fillDomain(d: number, slots: number): number {
    const sets = this.#bestSets(d, slots);
    for (const set of sets) for (const i of set.items) this.#take(i);
    const bySets = sets.reduce((sum, set) => sum + set.items.length, 0);
    return bySets + this.#takeSingles(d, slots - bySets);
  }

  #takeSingles(d: number, count: number): number {
    let taken = 0;
    for (const i of this.start.fillFrom[d]!) {
      if (taken >= count) break;
      if (this.#chosen[i] === 1 || !this.#fits(i, -1, true)) continue;
      this.#take(i);
      taken++;
    }
    return taken;
  }

  /** Selects the sets of questions that are worth most together with the best single items for the remaining places. */
  #bestSets(d: number, slots: number): QuestionSet[] {
    const { pool } = this;
    const { fillBy, fillFrom } = this.start;
    const worth = new Float64Array(slots + 1);
    let sum = 0;
    for (let k = 0; k < slots; k++) {
      const i = fillFrom[d]![k];
      if (i !== undefined) sum += fillBy[i]!;
      worth[k + 1] = sum;
    }
    const best = new Float64Array(slots + 1).fill(-Infinity);
    best[0] = 0;
    const through: (QuestionSet[] | undefined)[] = [[]];
    for (let p = 0; p < pool.passages.length; p++) {
      if (pool.passages[p]!.domain !== d) continue;
      const { sets, optional } = this.#setsOf(p);
      if (sets.length === 0) continue;
      this.choseTexts = true;
      for (let j = slots; j >= 0; j--) {
        if (!optional) [best[j], through[j]] = [-Infinity, undefined];
        for (const set of sets) {
          const before = j - set.items.length;
          if (before < 0 || through[before] === undefined) continue;
          // Places are computed from the highest down, so lower entries don't contain this text yet.
          const value = best[before]! + set.weight;
          if (value > best[j]!) {
            best[j] = value;
            through[j] = [...through[before], set];
          }
        }
      }
    }
    const possible = through.findLastIndex((sets) => sets !== undefined);
    let max = -Infinity;
    let found: QuestionSet[] = [];
    for (let j = Math.max(0, Math.min(this.#stillOnTexts(d), possible)); j <= slots; j++) {
      if (through[j] === undefined || best[j]! + worth[slots - j]! <= max) continue;
      max = best[j]! + worth[slots - j]!;
      found = through[j]!;
    }
    return found;
  }

  /** How many more questions on texts the domain needs. */
  #stillOnTexts(d: number): number {
    const { control, planned } = this.content;
    const soFar = this.pool.passages.reduce(
      (sum, { domain }, p) => sum + (domain === d ? this.#passageCounts[p]! : 0),
      0,
    );
    return Math.ceil(control.minOnTexts * planned[d]! - noGain) - soFar;
  }

  /** Returns the best set of each size. A set is required if the open text has too few questions so far. */
  #setsOf(p: number): { sets: QuestionSet[]; optional: boolean } {
    const { control } = this.content;
    const soFar = this.#passageCounts[p]!;
    const isOpen = p === this.state.openPassage;
    if (soFar > 0 && !isOpen) return { sets: [], optional: true };
    const sets: QuestionSet[] = [];
    for (let size = Math.max(soFar + 1, control.minPerSet); size <= control.maxPerSet; size++) {
      const items = this.#pickOf(p, size);
      if (items.length === size - soFar)
        sets.push({ passage: p, items, weight: items.reduce((sum, i) => sum + this.start.fillBy[i]!, 0) });
    }
    const optional = soFar === 0 || (soFar >= control.minPerSet && this.#floorWanted(p, soFar) <= 0);
    return { sets, optional };
  }

  /** How many more questions of the required skill groups a set of this size needs on the text. */
  #floorWanted(p: number, size: number): number {
    const { content, state, pool } = this;
    if (content.hasFloor[pool.passages[p]!.items[0]!] === 0) return 0;
    const own = state.given.filter((i) => pool.passageOfItem[i] === p);
    const had = own.reduce((sum, i) => sum + content.isFloored[i]!, 0);
    return Math.ceil(content.control.textFloor.share * size - noGain) - had;
  }

  #pickOf(p: number, size: number): number[] {
    const { content, state, pool } = this;
    const { fillBy } = this.start;
    const free = pool.passages[p]!.items.filter((i) => state.free[i] === 1);
    const places = size - this.#passageCounts[p]!;
    const wanted = Math.max(0, this.#floorWanted(p, size));
    let best: number[] = [];
    let [nearest, max] = [-1, -Infinity];
    const picked: number[] = [];
    // All combinations are tried, because a text has few questions and the heaviest question may exclude two others.
    const extend = (from: number, weight: number, floored: number): void => {
      if (picked.length === places) {
        const near = Math.min(floored, wanted);
        if (near > nearest || (near === nearest && weight > max)) [best, nearest, max] = [picked.slice(), near, weight];
        return;
      }
      for (let k = from; k < free.length; k++) {
        const i = free[k]!;
        if (picked.some((other) => pool.enemies[i]!.includes(other))) continue;
        picked.push(i);
        extend(k + 1, weight + fillBy[i]!, floored + content.isFloored[i]!);
        picked.pop();
      }
    };
    extend(0, 0, 0);
    return best;
  }

  /** Exchanges items, cheapest first, until no kind exceeds its maximum. */
  #repairKinds(): void {
    const { maxPerKind } = this.content;
    for (let kind = 0; kind < maxPerKind.length; kind++) {
      while (this.#used[kind]! > maxPerKind[kind]!) {
        const exchange = this.#cheapest(
          (out) => this.content.kindsOfItem[out]!.includes(kind),
          (_out, into) => !this.content.kindsOfItem[into]!.includes(kind),
        );
        if (exchange === null) break;
        this.prices[kind] = Math.max(0, exchange.loss);
        this.#exchange(exchange);
      }
    }
  }

  #repairWords(): void {
    const { words, control } = this.content;
    while (this.#words > control.maxWords) {
      const over = this.#words - control.maxWords;
      const exchange = this.#cheapest(
        () => true,
        (out, into) => words[out]! - words[into]! >= 1,
        (out, into) => 1 / Math.min(over, words[out]! - words[into]!),
      );
      if (exchange === null) break;
      this.#exchange(exchange);
    }
  }

  /** Makes all exchanges that gain weight, because the repair of one kind can leave room in another kind. */
  #improve(): void {
    for (;;) {
      const exchange = this.#cheapest(
        () => true,
        () => true,
        undefined,
        -noGain,
      );
      if (exchange === null) break;
      this.#exchange(exchange);
    }
  }

  /** Finds the exchange of two items of one domain or text that loses least weight, and less than `below`. */
  #cheapest(
    mayGo: (out: number) => boolean,
    mayCome: (out: number, into: number) => boolean,
    price?: (out: number, into: number) => number,
    below: number = Infinity,
  ): Exchange | null {
    const { weights, free } = this.state;
    let best: Exchange | null = null;
    let min = below;
    const consider = (out: number, into: number): boolean => {
      const loss = weights[out]! - weights[into]!;
      const cost = price === undefined ? loss : loss * price(out, into);
      if (cost >= min) return false;
      if (!mayCome(out, into) || !this.#fits(into, out, false)) return true;
      min = cost;
      best = { out, into, loss };
      return true;
    };
    for (const singles of this.start.singles) {
      // The lightest items are tried first, because their small loss ends the search for the others early.
      for (let k = singles.length - 1; k >= 0; k--) {
        const out = singles[k]!;
        if (this.#chosen[out] === 0 || !mayGo(out)) continue;
        for (const into of singles) {
          if (this.#chosen[into] === 1) continue;
          // All further items are lighter and lose more, unless a price changes the order.
          if (!consider(out, into) && price === undefined) break;
        }
      }
    }
    for (const { items } of this.pool.passages) {
      for (const out of items) {
        if (this.#chosen[out] === 0 || !mayGo(out)) continue;
        for (const into of items) {
          if (this.#chosen[into] === 1 || free[into] === 0 || !this.#keepsFloor(out, into)) continue;
          consider(out, into);
        }
      }
    }
    return best;
  }

  #keepsFloor(out: number, into: number): boolean {
    const { hasFloor, isFloored } = this.content;
    return hasFloor[out] === 0 || isFloored[out] === 0 || isFloored[into] === 1;
  }

  /** Whether an item can replace `out`. Filling ignores response types, because a later step repairs them. */
  #fits(into: number, out: number, filling: boolean): boolean {
    const { kindsOfItem, maxPerKind, typeOfItem, words, control } = this.content;
    for (const enemy of this.pool.enemies[into]!) if (this.#chosen[enemy] === 1 && enemy !== out) return false;
    for (const kind of kindsOfItem[into]!) {
      if (filling && kind === typeOfItem[into]) continue;
      if (out >= 0 && kindsOfItem[out]!.includes(kind)) continue;
      if (this.#used[kind]! + 1 > maxPerKind[kind]!) return false;
    }
    if (out < 0) return true;
    const more = words[into]! - words[out]!;
    return more <= 0 || this.#words + more <= control.maxWords;
  }

  #take(i: number): void {
    this.#chosen[i] = 1;
    this.#count(i, 1);
  }

  #exchange({ out, into }: Exchange): void {
    this.#chosen[out] = 0;
    this.#count(out, -1);
    this.#take(into);
  }

  #count(i: number, by: 1 | -1): void {
    for (const kind of this.content.kindsOfItem[i]!) this.#used[kind]! += by;
    this.#words += by * this.content.words[i]!;
    const passage = this.pool.passageOfItem[i]!;
    if (passage < 0) return;
    const before = this.#passageCounts[passage]!;
    const after = (this.#passageCounts[passage] = before + by);
    if (before === 0 || after === 0) this.#words += by * this.pool.passages[passage]!.words;
  }
}
