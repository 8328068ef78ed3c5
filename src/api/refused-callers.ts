import type { Clock } from '../platform/time/clock.ts';
import { limits } from '../platform/config/limits.ts';
import type { Secrets } from '../platform/crypto/secrets.ts';
import { AddressWindows, manyAddresses } from './address-windows.ts';

export type Refused = {
  /** For the audit log: a keyed hash, the same for all calls of an address. */
  address: Buffer;
  /** Whether the call gets a row of its own. */
  listed: boolean;
  /** Seconds to wait when there were too many, otherwise 0. */
  waitSeconds: number;
};

/**
 * Counts calls that proved no organisation, by address and in this process only: it slows guessing, and bounds what
 * such calls can write. Valid credentials pass whatever others at their address do.
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
      // Many addresses together are bounded, too.
      listed: !throttled && this.#everybody.count(manyAddresses).calls <= limits.refusedListed,
      waitSeconds: throttled ? this.#windows.waitSeconds(window) : 0,
    };
  }
}
