import type { Clock } from '../clock.ts';

const soonestMs = 250;
const retryMs = 500;

/** What one look came to. */
type Look = { more: boolean; dueInMs: number | null };

/** When a worker looks for deliveries. Looks never overlap: what is announced during one is looked for after it. */
export type Lookout = {
  /** Looks for everything now. */
  everywhere(): void;
  /** Looks for one organisation's now. */
  at(organisationId: number): void;
  /** Looks for everything in so long, or sooner. */
  within(ms: number): void;
  stop(): void;
  /** True when no look is under way or waits for its turn. */
  readonly idle: boolean;
};

/**
 * @param look looks once; organisations null: everywhere
 * @param looked is told after each row of looks
 * @param latestMs the safety net beneath what is announced: it looks this often anyhow
 */
export function createLookout({
  clock,
  latestMs,
  look,
  looked,
  failed,
}: {
  clock: Clock;
  latestMs: number;
  look(organisations: number[] | null): Promise<Look>;
  looked(): void;
  failed(error: unknown): void;
}): Lookout {
  const announced = new Set<number>();
  let everything = true;
  let looking = false;
  let stopped = false;
  let timer: NodeJS.Timeout | null = null;
  let timerAtMs = Infinity;

  async function lookWhileAsked(): Promise<void> {
    if (looking || stopped) return;
    looking = true;
    let nextMs = latestMs;
    try {
      while (!stopped && (everything || announced.size > 0)) {
        const organisations = everything ? null : [...announced];
        everything = false;
        announced.clear();
        const { more, dueInMs } = await look(organisations);
        if (more) everything = true;
        if (dueInMs !== null) nextMs = Math.min(nextMs, dueInMs);
      }
    } catch (error) {
      failed(error);
      everything = true;
      nextMs = retryMs;
    }
    looking = false;
    within(nextMs);
    looked();
  }

  function everywhere(): void {
    everything = true;
    void lookWhileAsked();
  }

  function within(ms: number): void {
    const atMs = clock.monotonicMs() + Math.min(latestMs, Math.max(soonestMs, ms));
    if (stopped || (timer !== null && timerAtMs <= atMs)) return;
    if (timer !== null) clearTimeout(timer);
    timerAtMs = atMs;
    timer = setTimeout(() => {
      timer = null;
      everywhere();
    }, atMs - clock.monotonicMs());
    timer.unref();
  }

  return {
    everywhere,
    at(organisationId) {
      announced.add(organisationId);
      void lookWhileAsked();
    },
    within,
    stop() {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
    },
    get idle() {
      return !looking && (stopped || (!everything && announced.size === 0));
    },
  };
}
