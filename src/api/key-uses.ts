import type { App } from '../platform/app.ts';
import type { Caller } from './http/route.ts';
import { clientOf, networkOf, recordUses } from '../integrations/access-keys/use.ts';
import { errorFields } from '../platform/observability/log.ts';

const everyMs = 10_000;
const maxUses = 1000;

type Use = { organisationId: number; keyId: string; address: string | null; client: string | undefined; atMs: number };

/**
 * Gathers from which IP addresses and with which clients keys are used. The first use from an address is written
 * immediately, later ones every few seconds. A crash loses only those; rate_window has the time of a key's last use.
 */
export class KeyUses {
  #app: App;
  #uses = new Map<string, Use>();
  /** The last use of each key: the next one is nearly always alike. */
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
      use = this.#uses.get(name);
      if (use === undefined) {
        if (this.#uses.size >= maxUses) {
          this.#uses.clear();
          this.#last.clear();
        }
        use = { organisationId, keyId, address, client, atMs };
        this.#uses.set(name, use);
        this.#waiting.add(use);
        this.#later(0);
      }
      this.#last.set(keyId, use);
    }
    use.atMs = atMs;
    this.#waiting.add(use);
    if (this.#timer === null) this.#later(everyMs);
  }

  #later(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#write();
    }, ms);
    this.#timer.unref();
  }

  /** Writes one batch after the other. */
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

  /** Writes the uses that wait. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#write();
  }
}
