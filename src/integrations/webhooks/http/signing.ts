import { createHmac } from 'node:crypto';
import type { Random } from '../../../platform/crypto/random.ts';

/**
 * Signatures of webhook deliveries: HMAC-SHA256 (RFC 2104) in two headers.
 * The key is the whole secret, `whsec_` included, as UTF-8.
 */

export const legacyHeader = 'X-Svc-Signature';
export const signatureHeader = 'X-Svc-Signature-256';
export const deliveryIdHeader = 'X-Svc-Delivery-Id';

/** Seconds that a signature's time may lie before or after the receiver's clock. */
export const toleranceSeconds = 300;

type Signed = { secrets: readonly string[]; body: Uint8Array | string; nowMs: number };
export type SignatureHeaders = { [legacyHeader]: string; [signatureHeader]: string };

/** A signing secret: `whsec_` and 32 random bytes in base64url, 49 characters. `random` must be the system's. */
export function newSecret(random: Random): string {
  return `whsec_${random.bytes(32).toString('base64url')}`;
}

function mac(secret: string, ...parts: (string | Uint8Array)[]): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

/**
 * Both signature headers of one attempt. `secrets` holds the newest first: every one signs in
 * `X-Svc-Signature-256`, the newest alone in the legacy header, which has room for only one.
 * Each attempt is signed anew, so that a late retry is still inside the receiver's tolerance.
 */
export function sign({ secrets, body, nowMs }: Signed): SignatureHeaders {
  const [newest] = secrets;
  if (newest === undefined) throw new RangeError('A delivery needs at least one signing secret.');
  const t = String(Math.floor(nowMs / 1000));
  const values = secrets.map((secret) => `,v1=${mac(secret, t, '.', body)}`);
  return { [legacyHeader]: mac(newest, body), [signatureHeader]: `t=${t}${values.join('')}` };
}

/** Every header of one attempt. `deliveryId` stays the same over retries and replays; the signatures don't. */
export function deliveryHeaders({ deliveryId, ...signed }: Signed & { deliveryId: string }): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Assessment-Results-Service-Webhooks/1',
    [deliveryIdHeader]: deliveryId,
    ...sign(signed),
  };
}

/** What is kept of a request: the URL and both signatures. The body is the event's, the rest is always the same. */
export function sentText(url: string, headers: Record<string, string>): string {
  return [url, headers[signatureHeader], headers[legacyHeader]].join('\n');
}

/** The request of an attempt as it went out. */
export type SentRequest = { url: string; head: string };

/** @param sent as `sentText` made it; null when nothing was sent, or it wasn't kept */
export function sentRequest(sent: string | null, deliveryId: string, payload: string): SentRequest | null {
  if (sent === null) return null;
  const [url = '', signature = '', legacy = ''] = sent.split('\n');
  const { host, pathname, search } = new URL(url);
  // Signed by nothing: only the names and their order are taken from here.
  const headers = { ...deliveryHeaders({ deliveryId, secrets: [''], body: '', nowMs: 0 }) };
  headers[signatureHeader] = signature;
  headers[legacyHeader] = legacy;
  const lines = [
    `POST ${pathname}${search} HTTP/1.1`,
    `host: ${host}`,
    'connection: keep-alive',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(payload)}`,
  ];
  return { url, head: lines.join('\r\n') };
}
