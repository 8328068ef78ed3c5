import type { App } from '../app.ts';
import type { LaneEndpoint } from './claim.ts';
import { secretContext } from './register.ts';
import { SecretUnreadableError } from '../keyring.ts';
import type { Attempt, Sender } from './send.ts';
import { sentText } from './sent.ts';
import { deliveryHeaders } from './signing.ts';

type Secrets = Pick<
  LaneEndpoint,
  'organisation_id' | 'endpoint_id' | 'secret' | 'previous_secret' | 'previous_secret_until' | 'earlier_secrets'
>;

type Opened = { from: string; newest: string; earlier: { secret: string; untilMs: number }[] };

/** Opening costs more than signing, and an endpoint's next attempt mostly needs the same. */
const opened = new WeakMap<Secrets, Opened>();

function open(app: App, endpoint: Secrets): Opened {
  const { secret, previous_secret, previous_secret_until, earlier_secrets } = endpoint;
  const from = [secret, previous_secret, ...earlier_secrets.map((one) => one.secret)].join(' ');
  const known = opened.get(endpoint);
  if (known?.from === from) return known;
  const context = secretContext(endpoint.organisation_id, endpoint.endpoint_id);
  const rotated = earlier_secrets.map((one) => ({ secret: one.secret, untilMs: Date.parse(one.until) }));
  if (previous_secret !== null && previous_secret_until !== null)
    rotated.unshift({ secret: previous_secret, untilMs: previous_secret_until.getTime() });
  const earlier = rotated.flatMap(({ secret: encrypted, untilMs }) => {
    try {
      return [{ secret: app.keyring.decrypt(encrypted, context), untilMs }];
    } catch (error) {
      // The secret was rotated because this one was lost with the service's secret: the new one signs alone.
      if (error instanceof SecretUnreadableError) return [];
      throw error;
    }
  });
  const fresh = { from, newest: app.keyring.decrypt(secret, context), earlier };
  opened.set(endpoint, fresh);
  return fresh;
}

/**
 * The secrets that sign now, the newest first: each one before signs too until its time is over.
 * @throws SecretUnreadableError when the service's secret is not the one that encrypted the newest
 */
export function signingSecrets(app: App, endpoint: Secrets, nowMs: number): string[] {
  const { newest, earlier } = open(app, endpoint);
  return [newest, ...earlier.filter(({ untilMs }) => untilMs > nowMs).map(({ secret }) => secret)];
}

/** Signs and makes one attempt; like the sender, it never throws. */
export async function attemptDelivery(
  app: App,
  sender: Sender,
  endpoint: Secrets & { url: string },
  delivery: { delivery_id: string; payload: string },
  signal?: AbortSignal,
): Promise<Attempt & { sent: string | null }> {
  const nowMs = app.clock.nowMs();
  // The endpoint's may be another one when this attempt ends.
  const { url } = endpoint;
  let secrets: string[];
  try {
    secrets = signingSecrets(app, endpoint, nowMs);
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    return {
      outcome: 'secret_unreadable',
      status_code: null,
      duration_ms: 0,
      error: error.message,
      retry_after_ms: null,
      sent: null,
    };
  }
  const headers = deliveryHeaders({ deliveryId: delivery.delivery_id, secrets, body: delivery.payload, nowMs });
  const attempt = await sender.send({ url, headers, body: delivery.payload, signal });
  return { ...attempt, sent: sentText(url, headers) };
}
