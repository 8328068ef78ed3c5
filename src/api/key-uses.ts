import type { App } from '../platform/app.ts';
import type { Caller } from './http/route.ts';
import { clientOf, networkOf, recordUses } from '../integrations/access-keys/use.ts';
import { errorFields } from '../platform/observability/log.ts';

/** How long a use may wait for being written down, once it is known where the key is used from and by what. */
const everyMs = 10_000;

/** Places that are known at once; beyond, they are looked at anew. */
const maxKnown = 1000;

type Use = { organisationId: number; keyId: string; address: string | null; client: string | undefined; atMs: number };

/**
 * From where and by what keys are used, gathered in this process: a key at a new place is written down at once, one
 * that goes on from where it was every few seconds. A crash loses no more than that; the time of a key's last use isn't
 * among it (rate_window has it).
 */
export class KeyUses {
  #app: App;
  #known = new Map<string, Use>();
  /** Of each key, where it was used last: mostly it goes on from there. */
  #last = new Map<string, Use>();
  #waiting = new Set<Use>();
  #timer: NodeJS.Timeout | null = null;
  #written = Promise.resolve();

  constructor(app: App) {
    this.#app = app;
  }

  note({ organisationId, keyId }: Caller, address: string | null, client: string | undefined): void {
    const atMs = this.#app.clock.nowMs();
    let use = this.#last.get(keyId);
    if (use === undefined || use.address !== address || use.client !== client) {
      const name = `${keyId} ${address} ${client}`;
      use = this.#known.get(name);
      if (use === undefined) {
        if (this.#known.size >= maxKnown) this.#forget();
        use = { organisationId, keyId, address, client, atMs };
        this.#known.set(name, use);
        this.#waiting.add(use);
        this.#later(0);
      }
      this.#last.set(keyId, use);
    }
    use.atMs = atMs;
    this.#waiting.add(use);
    if (this.#timer === null) this.#later(everyMs);
  }

  #forget(): void {
    this.#known.clear();
    this.#last.clear();
  }

  #later(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#write();
    }, ms);
    this.#timer.unref();
  }

  /** One after the other, so that what waits meanwhile goes together. */
  #write(): Promise<void> {
    this.#written = this.#written.then(async () => {
      if (this.#waiting.size === 0) return;
      const uses = [...this.#waiting].map(({ address, client, ...use }) => ({
        ...use,
        network: networkOf(address),
        client: clientOf(client),
      }));
      this.#waiting.clear();
      await recordUses(this.#app.db, uses).catch((error: unknown) =>
        this.#app.log.error('key_uses.failed', errorFields(error)),
      );
    });
    return this.#written;
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#write();
  }
}
