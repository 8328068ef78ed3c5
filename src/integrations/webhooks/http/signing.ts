import { createHmac } from 'node:crypto';
import type { Random } from '../../../platform/crypto/random.ts';

/** Deliveries are signed with HMAC-SHA256 (RFC 2104). The key is the full secret with `whsec_`, as UTF-8. */

export const legacyHeader = 'X-Svc-Signature';
export const signatureHeader = 'X-Svc-Signature-256';
export const deliveryIdHeader = 'X-Svc-Delivery-Id';

/** The time in a signature may differ from the receiver's clock by this many seconds. */
export const toleranceSeconds = 300;

type Signed = { secrets: readonly string[]; body: Uint8Array | string; nowMs: number };

/** A signing secret: `whsec_` and 32 random bytes in base64url, 49 characters. */
export function newSecret(random: Random): string {
  return `whsec_${random.bytes(32).toString('base64url')}`;
}

function mac(secret: string, ...parts: (string | Uint8Array)[]): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

/**
 * Both signature headers of one attempt. Each attempt is signed with its own time, so that a late retry is within the
 * receiver's tolerance.
 * @param secrets the newest first; each signs in `X-Svc-Signature-256`, but only the newest in the legacy header
 */
export function sign({ secrets, body, nowMs }: Signed) {
  const [newest] = secrets;
  if (newest === undefined) throw new RangeError('A delivery needs at least one signing secret.');
  const t = String(Math.floor(nowMs / 1000));
  const values = secrets.map((secret) => `,v1=${mac(secret, t, '.', body)}`);
  return { [legacyHeader]: mac(newest, body), [signatureHeader]: `t=${t}${values.join('')}` };
}

/** All headers of one attempt. Retries and replays have the same `deliveryId`, but other signatures. */
export function deliveryHeaders({ deliveryId, ...signed }: Signed & { deliveryId: string }): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Assessment-Results-Service-Webhooks/1',
    [deliveryIdHeader]: deliveryId,
    ...sign(signed),
  };
}

/**
 * The part of a request that the database stores: the URL and the signatures. The body is stored with the event, and
 * all other headers are constant.
 */
export function sentText(url: string, headers: Record<string, string>): string {
  return [url, headers[signatureHeader], headers[legacyHeader]].join('\n');
}

/**
 * The URL and head of the request of an attempt.
 * @param sent the text from `sentText`; null when nothing was sent
 */
export function sentRequest(sent: string | null, deliveryId: string, payload: string) {
  if (sent === null) return null;
  const [url = '', signature = '', legacy = ''] = sent.split('\n');
  const { host, pathname, search } = new URL(url);
  // The signatures are replaced below: only the names and order of these headers are used.
  const unsigned = deliveryHeaders({ deliveryId, secrets: [''], body: '', nowMs: 0 });
  const headers = { ...unsigned, [signatureHeader]: signature, [legacyHeader]: legacy };
  const lines = [
    `POST ${pathname}${search} HTTP/1.1`,
    `host: ${host}`,
    'connection: keep-alive',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(payload)}`,
  ];
  return { url, head: lines.join('\r\n') };
}
