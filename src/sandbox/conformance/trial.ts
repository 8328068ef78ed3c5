import type { Front } from './front.ts';
import type { Stage } from './stage.ts';
import type { Facts } from './written.ts';

export type Held = {
  /** `updated_at` by ID. */
  held: Map<string, string>;
  /** IDs that are stored more than once. */
  repeated: readonly string[];
};

/** A consumer that this program starts and kills. */
export type Runner = {
  start(): Promise<void>;
  /** Kills it without a warning, and waits for its end. */
  kill(): Promise<void>;
  /** Whether it ended without a kill. */
  hasEnded(): boolean;
};

export type Differences = { lost: string[]; kept: string[]; outdated: string[]; ahead: string[]; repeated: string[] };

export type Found = { fault: string; sentence: string; ids: string[] };

/** Why a scenario cannot be played with this consumer. */
export class NotPlayed extends Error {}

const settleMs = 1500;
const fairWalks = 3;
const lookMs = 100;
const maxIds = 5;

/** One run with one consumer. */
export class Trial {
  readonly stage: Stage;
  readonly front: Front;
  readonly runner: Runner | null;
  readonly signal: AbortSignal;
  readonly patienceMs: number;
  readonly readFacts: () => Promise<Facts>;
  /** Before the consumer began. */
  readonly factsBefore: Facts;
  wasRead = false;
  #readHeld: (isNeeded: boolean) => Promise<Held | null>;
  #readShown: (filters: string) => Promise<Map<string, string>>;

  constructor(given: {
    stage: Stage;
    front: Front;
    runner: Runner | null;
    signal: AbortSignal;
    patienceMs: number;
    readHeld: (isNeeded: boolean) => Promise<Held | null>;
    readShown: (filters: string) => Promise<Map<string, string>>;
    readFacts: () => Promise<Facts>;
    factsBefore: Facts;
  }) {
    this.stage = given.stage;
    this.front = given.front;
    this.runner = given.runner;
    this.signal = given.signal;
    this.patienceMs = given.patienceMs;
    this.#readHeld = given.readHeld;
    this.#readShown = given.readShown;
    this.readFacts = given.readFacts;
    this.factsBefore = given.factsBefore;
  }

  nowMs(): number {
    return this.stage.app.clock.monotonicMs();
  }

  /**
   * Waits until a condition is true, the consumer has ended, or patience is over.
   * @returns whether it is true
   */
  async until(isSo: () => boolean, patienceMs = this.patienceMs): Promise<boolean> {
    const endMs = this.nowMs() + patienceMs;
    while (!isSo()) {
      if (this.signal.aborted || this.runner?.hasEnded() === true || this.nowMs() >= endMs) return false;
      await this.front.next(lookMs);
    }
    return true;
  }

  /** Starts the consumer, and waits for its first request. */
  async starts(): Promise<void> {
    const before = this.front.requests;
    await this.runner?.start();
    await this.until(() => this.front.requests > before);
  }

  /**
   * The consumer's mirror; empty before there is one. A mirror that is being rebuilt is waited for.
   * @throws why the mirror cannot be read, once patience is over
   */
  async #held(): Promise<Held> {
    const endMs = this.nowMs() + this.patienceMs;
    for (;;) {
      const held = await this.#readHeld(this.wasRead && this.nowMs() >= endMs);
      if (held !== null) {
        this.wasRead = true;
        return held;
      }
      const comesBack = this.wasRead && !this.signal.aborted && this.runner?.hasEnded() !== true;
      if (!comesBack) return { held: new Map(), repeated: [] };
      await this.front.next(lookMs);
    }
  }

  async differences(): Promise<Differences> {
    const { followed, filters } = this.front;
    const shown = new Map<string, string>();
    // A mirror may consist of several walks, for example one for each subject.
    for (const one of followed.size > 0 ? followed : [filters ?? ''])
      for (const [id, updatedAt] of await this.#readShown(one)) shown.set(id, updatedAt);
    const { held, repeated } = await this.#held();
    const found: Differences = { lost: [], kept: [], outdated: [], ahead: [], repeated: [...repeated] };
    for (const [id, updatedAt] of shown) {
      const own = held.get(id);
      if (own === undefined) found.lost.push(id);
      else if (own < updatedAt) found.outdated.push(id);
      else if (own > updatedAt) found.ahead.push(id);
    }
    for (const id of held.keys()) if (!shown.has(id)) found.kept.push(id);
    return found;
  }

  /**
   * Waits until mirror and service agree, or the consumer has completed enough walks and had time to store them.
   * @param walks to wait for before agreement counts, so that actions after a response are seen
   */
  async settles(walks = 0): Promise<Differences> {
    const beganMs = this.nowMs();
    for (;;) {
      const differences = await this.differences();
      const ended = this.front.walksSince(beganMs);
      const nowMs = this.nowMs();
      const waited = nowMs - beganMs;
      if (isSame(differences) && (ended.length >= walks || waited >= settleMs)) return differences;
      const fair = ended.at(fairWalks - 1);
      if (fair !== undefined && nowMs - fair.endedMs >= settleMs) return differences;
      if (waited >= this.patienceMs || this.signal.aborted) return differences;
      if (this.runner?.hasEnded() === true) return differences;
      await this.front.next(lookMs);
    }
  }
}

export function isSame(differences: Differences): boolean {
  return Object.values(differences).every((ids) => ids.length === 0);
}

export const some = (ids: string[]) => ids.slice(0, maxIds);

export function faultsOf(
  differences: Differences,
  behind: Partial<Record<keyof Differences, [fault: string, sentence: string]>> = {},
): Found[] {
  const usual: Record<keyof Differences, [string, string]> = {
    lost: ['lost', 'It lost results that the service shows'],
    kept: ['kept', 'It still shows results that the service no longer shows'],
    outdated: ['outdated', 'It shows results as they were before they changed'],
    ahead: ['ahead', 'It shows results in a state that the service does not have'],
    repeated: ['duplicate', 'It holds results more than once: store each under its assessment_id'],
  };
  return (Object.keys(usual) as (keyof Differences)[]).flatMap((kind) => {
    const ids = differences[kind];
    if (ids.length === 0) return [];
    const [fault, sentence] = behind[kind] ?? usual[kind];
    return [{ fault, sentence: `${sentence} (${ids.length}).`, ids: some(ids) }];
  });
}
