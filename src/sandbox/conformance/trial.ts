import type { Front } from './front.ts';
import type { Stage } from './stage.ts';
import type { Facts } from './written.ts';

export type Held = {
  /** The `updated_at` of each result by ID. */
  held: Map<string, string>;
  /** IDs that the mirror contains more than once. */
  repeated: readonly string[];
};

/** A consumer that this program starts and kills. */
export type Runner = {
  start(): Promise<void>;
  /** Kills the consumer without a warning, and waits until its process has ended. */
  kill(): Promise<void>;
  /** Whether the consumer ended without a kill. */
  hasEnded(): boolean;
};

export type Differences = { lost: string[]; kept: string[]; outdated: string[]; ahead: string[]; repeated: string[] };

export type Found = { fault: string; sentence: string; ids: string[] };

export class NotPlayed extends Error {}

const settleMs = 1500;
const fairWalks = 3;
const lookMs = 100;
const maxIds = 5;

type TrialOptions = {
  stage: Stage;
  front: Front;
  runner: Runner | null;
  signal: AbortSignal;
  patienceMs: number;
  readHeld: (isNeeded: boolean) => Promise<Held | null>;
  /** Reads the results that the service shows under the consumer's filters. */
  readShown: (filters: string) => Promise<Map<string, string>>;
  readFacts: () => Promise<Facts>;
  factsBefore: Facts;
};

export type Trial = ReturnType<typeof createTrial>;

export function createTrial(options: TrialOptions) {
  const { stage, front, runner, signal, patienceMs, readShown } = options;
  const nowMs = () => stage.app.clock.monotonicMs();
  const mirror = mirrorOf(options, nowMs);

  /**
   * Waits until a condition is true, the consumer has ended, or the time is over.
   * @returns whether the condition is true
   */
  async function until(isSo: () => boolean, waitMs = patienceMs): Promise<boolean> {
    const endMs = nowMs() + waitMs;
    while (!isSo()) {
      if (signal.aborted || runner?.hasEnded() === true || nowMs() >= endMs) return false;
      await front.next(lookMs);
    }
    return true;
  }

  /** Starts the consumer, and waits for its first request. */
  async function starts(): Promise<void> {
    const before = front.requests;
    await runner?.start();
    await until(() => front.requests > before);
  }

  async function differences(): Promise<Differences> {
    const { followed, filters } = front;
    const shown = new Map<string, string>();
    // A mirror may be filled by several syncs, for example one for each subject.
    for (const one of followed.size > 0 ? followed : [filters ?? ''])
      for (const [id, updatedAt] of await readShown(one)) shown.set(id, updatedAt);
    return differencesOf(await mirror.read(), shown);
  }

  /**
   * Waits until mirror and service agree, or until the consumer has completed enough syncs and had time to store them.
   * @param walks how many syncs must be completed before agreement counts
   */
  async function settles(walks = 0): Promise<Differences> {
    const beganMs = nowMs();
    for (;;) {
      const found = await differences();
      const ended = front.walksSince(beganMs);
      const waited = nowMs() - beganMs;
      if (isSame(found) && (ended.length >= walks || waited >= settleMs)) return found;
      const fair = ended.at(fairWalks - 1);
      if (fair !== undefined && nowMs() - fair.endedMs >= settleMs) return found;
      if (waited >= patienceMs || signal.aborted || runner?.hasEnded() === true) return found;
      await front.next(lookMs);
    }
  }

  return { ...options, nowMs, until, starts, differences, settles, hasRead: mirror.hasRead };
}

function mirrorOf({ front, runner, signal, patienceMs, readHeld }: TrialOptions, nowMs: () => number) {
  let wasRead = false;
  /**
   * Reads the consumer's mirror, and waits while it is being rebuilt. If there is no mirror yet, the result is empty.
   * @throws the reason why the mirror cannot be read, after `patienceMs` milliseconds
   */
  async function read(): Promise<Held> {
    const endMs = nowMs() + patienceMs;
    for (;;) {
      const held = await readHeld(wasRead && nowMs() >= endMs);
      if (held !== null) {
        wasRead = true;
        return held;
      }
      if (!wasRead || signal.aborted || runner?.hasEnded() === true) return { held: new Map(), repeated: [] };
      await front.next(lookMs);
    }
  }
  const hasRead = () => wasRead;
  return { read, hasRead };
}

function differencesOf({ held, repeated }: Held, shown: ReadonlyMap<string, string>): Differences {
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
