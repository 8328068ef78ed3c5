import type { Clock } from '../platform/time/clock.ts';
import type { Secrets } from '../platform/crypto/secrets.ts';
import { limits } from '../platform/config/limits.ts';

const maxAddresses = 10_000;

/** The key of the window that all further IP addresses share. */
const manyAddresses = 'many';

type Window = { address: string; startMs: number; calls: number; hash?: Buffer };

/** Counts calls by IP address in fixed windows, in this process only. */
export class AddressWindows {
  #windows = new Map<string, Window>();
  #clock: Clock;
  #whenFull: 'share' | 'forget';

  /**
   * @param whenFull `share`: further addresses share one window, which limits them together (docs/decisions/0009).
   * `forget`: each further address replaces the oldest window.
   */
  constructor(clock: Clock, whenFull: 'share' | 'forget') {
    this.#clock = clock;
    this.#whenFull = whenFull;
  }

  /** @returns the window of the caller's address, in which this call is already counted */
  count(caller: string): Window {
    const nowMs = this.#clock.nowMs();
    // The windows are ordered by their start, so the first window that is still open ends the search.
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

  /** Whole seconds until the window ends; at least 1. */
  waitSeconds({ startMs }: Window): number {
    return Math.max(1, Math.ceil((startMs + limits.rateWindowMs - this.#clock.nowMs()) / 1000));
  }
}

export type Refused = {
  /** A keyed hash of the IP address, for the audit log. */
  address: Buffer;
  /** Whether the call gets its own audit row. */
  listed: boolean;
  /** Seconds that the caller has to wait after too many refused calls; otherwise 0. */
  waitSeconds: number;
};

/**
 * Counts calls without valid credentials by IP address, in this process only. The limit slows the guessing of
 * credentials and the growth of the audit log.
 */
export class RefusedCallers {
  #windows: AddressWindows;
  #secrets: Secrets;
  #everybody: AddressWindows;

  constructor(clock: Clock, secrets: Secrets) {
    this.#windows = new AddressWindows(clock, 'share');
    this.#everybody = new AddressWindows(clock, 'share');
    this.#secrets = secrets;
  }

  count(address: string): Refused {
    const window = this.#windows.count(address);
    const throttled = window.calls > limits.failedAttempts;
    return {
      address: (window.hash ??= this.#secrets.mac('address', window.address, 16)),
      listed: !throttled && this.#everybody.count(manyAddresses).calls <= limits.refusedListed,
      waitSeconds: throttled ? this.#windows.waitSeconds(window) : 0,
    };
  }
}
