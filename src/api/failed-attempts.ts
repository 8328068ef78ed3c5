import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

/** Addresses remembered at once; beyond it the oldest window goes first. */
const mostAddresses = 10_000;

/**
 * Counts attempts that failed to sign in, by address, in fixed windows and in this process only: it slows guessing, and
 * valid credentials pass whatever others at their address do.
 */
export class FailedAttempts {
  #windows = new Map<string, { startMs: number; count: number }>();
  #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one failure. @returns the seconds to wait when there were too many, otherwise 0 */
  count(address: string): number {
    const nowMs = this.#clock.nowMs();
    let window = this.#windows.get(address);
    if (window === undefined || nowMs - window.startMs >= limits.rateWindowMs) {
      this.#windows.delete(address);
      if (this.#windows.size >= mostAddresses) this.#windows.delete(this.#windows.keys().next().value!);
      window = { startMs: nowMs, count: 0 };
      this.#windows.set(address, window);
    }
    window.count++;
    return window.count <= limits.failedAttempts ? 0 : Math.ceil((window.startMs + limits.rateWindowMs - nowMs) / 1000);
  }
}
