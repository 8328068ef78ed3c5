import { hex } from './hash.ts';
import { ordinarySurroundings } from './surroundings.ts';
import type { WebhookEvent } from './openapi.ts';

export type Verdict =
  'valid' | 'malformed_header' | 'no_matching_signature' | 'timestamp_too_old' | 'timestamp_in_future';

/** Usual causes of a delivery that does not verify. */
const usualCauses: Record<Exclude<Verdict, 'valid'>, string> = {
  malformed_header: 'the header is not X-Svc-Signature-256, or a proxy changed it',
  no_matching_signature:
    'the body was parsed and written again, or the secret is wrong: from another endpoint, cut, decoded, or rotated more than 24 hours ago',
  timestamp_too_old: 'the delivery waited before it was verified, or it is a replay',
  timestamp_in_future: 'the clock of this machine is behind',
};

export class WebhookError extends Error {
  override name = 'WebhookError';
  readonly verdict: Exclude<Verdict, 'valid'>;

  constructor(verdict: Exclude<Verdict, 'valid'>) {
    super(`the delivery does not verify (${verdict}): usually ${usualCauses[verdict]}`);
    this.verdict = verdict;
  }
}

/** Allowed difference of clocks plus delivery time. */
export const toleranceSeconds = 300;

export type Delivery = {
  /** The full `whsec_…` text. During a rotation, the old and the new one. */
  secret: string | readonly string[];
  /** The value of `X-Svc-Signature-256`. */
  header: string | null | undefined;
  /** The body as it arrived, before any parser. */
  body: Uint8Array | string;
  toleranceSeconds?: number;
  /** Seconds since 1970. Default: the clock. */
  now?: number;
};

const nowSeconds = () => Math.floor(ordinarySurroundings.nowMs() / 1000);

const utf8 = new TextEncoder();

const bytesOf = (body: Uint8Array | string) => (typeof body === 'string' ? utf8.encode(body) : body);

async function macOf(secret: string, time: string, body: Uint8Array): Promise<string> {
  const { subtle } = globalThis.crypto;
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await subtle.importKey('raw', utf8.encode(secret), hmac, false, ['sign']);
  const before = utf8.encode(`${time}.`);
  const signed = new Uint8Array(before.length + body.length);
  signed.set(before);
  signed.set(body, before.length);
  return hex(new Uint8Array(await subtle.sign('HMAC', key, signed)));
}

/** Compares without telling by its time where two texts differ. */
function sameText(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}

/** Accept a delivery only if this returns `valid`. The signature is checked before the time. */
export async function verifyWebhook(delivery: Delivery): Promise<Verdict> {
  const { header, toleranceSeconds: tolerance = toleranceSeconds } = delivery;
  const times: string[] = [];
  const signatures: string[] = [];
  for (const part of (header ?? '').split(',')) {
    const equals = part.indexOf('=');
    if (equals < 1) return 'malformed_header';
    const name = part.slice(0, equals);
    if (name === 't') times.push(part.slice(equals + 1));
    if (name === 'v1') signatures.push(part.slice(equals + 1));
  }
  const [time] = times;
  if (time === undefined || times.length !== 1 || signatures.length === 0 || !/^[0-9]{1,12}$/.test(time))
    return 'malformed_header';

  let isGenuine = false;
  for (const secret of [delivery.secret].flat()) {
    // Anybody can sign with a secret that was never set.
    if (typeof secret !== 'string' || secret === '') continue;
    const expected = await macOf(secret, time, bytesOf(delivery.body));
    for (const signature of signatures) if (sameText(signature, expected)) isGenuine = true;
  }
  if (!isGenuine) return 'no_matching_signature';

  const age = (delivery.now ?? nowSeconds()) - Number(time);
  if (age > tolerance) return 'timestamp_too_old';
  if (age < -tolerance) return 'timestamp_in_future';
  return 'valid';
}

/** The event in a valid delivery. Throws a `WebhookError` for any other delivery: answer it with 400. */
export async function openWebhook(delivery: Delivery): Promise<WebhookEvent> {
  const verdict = await verifyWebhook(delivery);
  if (verdict !== 'valid') throw new WebhookError(verdict);
  const { body } = delivery;
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as WebhookEvent;
}

/**
 * A signed request like the service's, for tests of an endpoint.
 * @param options `secret` may be a list, as during a rotation; `now` may be in the past or the future
 */
export async function testWebhook(options: {
  secret: string | readonly string[];
  event: WebhookEvent;
  deliveryId?: string;
  now?: number;
}): Promise<{ headers: Record<string, string>; body: string }> {
  const body = JSON.stringify(options.event);
  const time = String(options.now ?? nowSeconds());
  const signatures: string[] = [];
  for (const secret of [options.secret].flat()) signatures.push(`v1=${await macOf(secret, time, utf8.encode(body))}`);
  return {
    headers: {
      'content-type': 'application/json',
      'x-svc-delivery-id': options.deliveryId ?? ordinarySurroundings.uuid(),
      'x-svc-signature-256': [`t=${time}`, ...signatures].join(','),
    },
    body,
  };
}
