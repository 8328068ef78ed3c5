import type { Clock } from '../platform/time/clock.ts';
import { limits } from '../platform/config/limits.ts';
import type { Secrets } from '../platform/crypto/secrets.ts';
import { AddressWindows, manyAddresses } from './address-windows.ts';

export type Refused = {
  /** A keyed hash of the IP address, for the audit log. */
  address: Buffer;
  /** Whether the call gets its own audit row. */
  listed: boolean;
  /** Seconds to wait when there were too many, otherwise 0. */
  waitSeconds: number;
};

/**
 * Counts calls without valid credentials by IP address, in this process only. The limit slows guessing and the writing of
 * audit rows. Calls with valid credentials are never counted.
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
