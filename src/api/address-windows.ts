import type { Clock } from '../platform/time/clock.ts';
import { limits } from '../platform/config/limits.ts';

const maxAddresses = 10_000;

/** The name of the window that several IP addresses share. */
export const manyAddresses = 'many';

export type Window = { address: string; startMs: number; calls: number; hash?: Buffer };

/** Counts calls by IP address in fixed windows, in this process only. */
export class AddressWindows {
  #windows = new Map<string, Window>();
  #clock: Clock;
  #whenFull: 'share' | 'forget';

  /**
   * @param whenFull with `share`, further addresses share one window, which limits them together (docs/decisions/0009);
   * with `forget`, each takes the place of the oldest window
   */
  constructor(clock: Clock, whenFull: 'share' | 'forget') {
    this.#clock = clock;
    this.#whenFull = whenFull;
  }

  /** Counts a call. @returns the window of its address, this call included */
  count(caller: string): Window {
    const nowMs = this.#clock.nowMs();
    // Windows are in the order of their start.
    for (const [address, { startMs }] of this.#windows) {
      if (nowMs - startMs < limits.rateWindowMs && nowMs >= startMs) break;
      this.#windows.delete(address);
    }
    const isFull = !this.#windows.has(caller) && this.#windows.size >= maxAddresses;
    if (isFull && this.#whenFull === 'forget') this.#windows.delete(this.#windows.keys().next().value!);
    const address = isFull && this.#whenFull === 'share' ? manyAddresses : caller;
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
