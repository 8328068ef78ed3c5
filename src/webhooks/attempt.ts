import type { App } from '../app.ts';
import type { LaneEndpoint } from './claim.ts';
import { secretContext } from './register.ts';
import { SecretUnreadableError } from './secret.ts';
import type { Attempt, Sender } from './send.ts';
import { deliveryHeaders } from './signing.ts';

type Secrets = Pick<
  LaneEndpoint,
  'organisation_id' | 'endpoint_id' | 'secret' | 'previous_secret' | 'previous_secret_until'
>;

type Opened = { secret: string; previous: string | null; newest: string; before: string | null };

/** Opening costs more than signing, and an endpoint's next attempt mostly needs the same. */
const opened = new WeakMap<Secrets, Opened>();

function open(app: App, endpoint: Secrets): Opened {
  const known = opened.get(endpoint);
  if (known !== undefined && known.secret === endpoint.secret && known.previous === endpoint.previous_secret)
    return known;
  const context = secretContext(endpoint.organisation_id, endpoint.endpoint_id);
  const fresh = {
    secret: endpoint.secret,
    previous: endpoint.previous_secret,
    newest: app.keyring.decrypt(endpoint.secret, context),
    before: endpoint.previous_secret === null ? null : app.keyring.decrypt(endpoint.previous_secret, context),
  };
  opened.set(endpoint, fresh);
  return fresh;
}

/**
 * The secrets that sign now, the newest first: the one before signs too until its time is over.
 * @throws SecretUnreadableError when the service's secret is not the one that encrypted them
 */
export function signingSecrets(app: App, endpoint: Secrets, nowMs: number): string[] {
  const { newest, before } = open(app, endpoint);
  const both =
    before !== null && endpoint.previous_secret_until !== null && endpoint.previous_secret_until.getTime() > nowMs;
  return both ? [newest, before] : [newest];
}

/** Signs and makes one attempt; like the sender, it never throws. */
export async function attemptDelivery(
  app: App,
  sender: Sender,
  endpoint: Secrets & { url: string },
  delivery: { delivery_id: string; payload: string },
  signal?: AbortSignal,
): Promise<Attempt> {
  const nowMs = app.clock.nowMs();
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
    };
  }
  const headers = deliveryHeaders({ deliveryId: delivery.delivery_id, secrets, body: delivery.payload, nowMs });
  return sender.send({ url: endpoint.url, headers, body: delivery.payload, signal });
}
