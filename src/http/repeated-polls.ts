import type { IncomingMessage } from 'node:http';

/** A list's reply 304: the same request has the same reply for as long as the organisation's feed stands where it stood. */
export type Unchanged = {
  organisationId: number;
  /** The feed's position when it was answered. */
  position: number;
  /** For the audit log. */
  action: string;
  /** Names and values in turn. */
  headers: string[];
};

/** The oldest goes when there are more. */
const most = 10_000;
const longestUrl = 500;

/**
 * Polls that were answered 304, so that the next one that is the same can be answered by the very statement that admits
 * it. Nothing here is trusted: that statement looks whose the key is and where the feed stands.
 */
export class RepeatedPolls {
  /** By the ETag that the caller holds: it stands for organisation, path, query and position at once. */
  #kept = new Map<string, Unchanged & { url: string }>();

  find({ method, url, headers }: IncomingMessage): Unchanged | null {
    const etag = headers['if-none-match'];
    if (etag === undefined || method !== 'GET' || headers.host === undefined) return null;
    const found = this.#kept.get(etag);
    return found !== undefined && found.url === url ? found : null;
  }

  keep({ method, url, headers }: IncomingMessage, unchanged: Unchanged): void {
    const etag = headers['if-none-match'];
    if (etag === undefined || method !== 'GET' || url === undefined || url.length > longestUrl) return;
    if (this.#kept.size >= most) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(etag, { ...unchanged, url });
  }
}
