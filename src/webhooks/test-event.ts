import type { App } from '../app.ts';
import { attemptDelivery } from './attempt.ts';
import { testEvent } from './samples.ts';
import type { Attempt } from './send.ts';
import { createSender } from './send.ts';
import type { EndpointRow } from './store.ts';

/** What came of a test event. */
export type Tested = Attempt & { deliveryId: string };

/** Sends an endpoint a signed test event, once. Nothing is stored, and nothing follows from how it ends. */
export function sendTest(app: App, endpoint: EndpointRow, signal?: AbortSignal): Promise<Tested> {
  return sendOnce(app, endpoint, testEvent(app.clock.nowMs()), signal);
}

/** The same with another payload. */
export async function sendOnce(
  app: App,
  endpoint: EndpointRow,
  payload: string,
  signal?: AbortSignal,
): Promise<Tested> {
  const deliveryId = app.random.uuid();
  const sender = createSender({ clock: app.clock, allowNetworks: app.settings.webhookAllowNetworks });
  try {
    const attempt = await attemptDelivery(app, sender, endpoint, { delivery_id: deliveryId, payload }, signal);
    return { ...attempt, deliveryId };
  } finally {
    await sender.close();
  }
}
