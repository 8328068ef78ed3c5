import { deliveryHeaders, legacyHeader, signatureHeader } from './signing.ts';

/** What an attempt sent, as it is kept: the address and both signatures. The body is the event's, the rest is always the same. */
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
