import type { Clock } from '../platform/time/clock.ts';
import { limits } from '../platform/config/limits.ts';

/** Addresses that have a window of their own at once. */
const maxAddresses = 10_000;

/** Stands for the addresses that share a window. */
export const manyAddresses = 'many';

export type Window = { address: string; startMs: number; calls: number; hash?: Buffer };

/** Counts calls by address in fixed windows, in this process only and in bounded memory. */
export class AddressWindows {
  #windows = new Map<string, Window>();
  #clock: Clock;
  #whenFull: 'share' | 'forget';

  /**
   * @param whenFull what becomes of addresses that come later in the same minute: they share one window, so that all of them
   * together are bounded (docs/decisions/0009); or the oldest window is forgotten for each, so that nobody waits because
   * of others
   */
  constructor(clock: Clock, whenFull: 'share' | 'forget') {
    this.#clock = clock;
    this.#whenFull = whenFull;
  }

  /** Counts a call. @returns its address's window, this call included */
  count(given: string): Window {
    const nowMs = this.#clock.nowMs();
    // In the order of their beginning, so those that are over come first.
    for (const [address, { startMs }] of this.#windows) {
      if (nowMs - startMs < limits.rateWindowMs && nowMs >= startMs) break;
      this.#windows.delete(address);
    }
    const isFull = !this.#windows.has(given) && this.#windows.size >= maxAddresses;
    if (isFull && this.#whenFull === 'forget') this.#windows.delete(this.#windows.keys().next().value!);
    const address = isFull && this.#whenFull === 'share' ? manyAddresses : given;
    let window = this.#windows.get(address);
    if (window === undefined) {
      window = { address, startMs: nowMs, calls: 0 };
      this.#windows.set(address, window);
    }
    window.calls++;
    return window;
  }

  /** Whole seconds until the window is over. */
  waitSeconds({ startMs }: Window): number {
    return Math.max(1, Math.ceil((startMs + limits.rateWindowMs - this.#clock.nowMs()) / 1000));
  }
}
