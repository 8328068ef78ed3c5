import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { EndpointRow } from '../../../integrations/webhooks/endpoints/endpoints.ts';
import {
  pauseEndpoint,
  removeEndpoint,
  resumeEndpoint,
  rotateSecret,
  rotationMs,
  SecretsHeldError,
  countUndelivered,
  findEndpoint,
} from '../../../integrations/webhooks/endpoints/endpoints.ts';
import { sendTest } from '../../../integrations/webhooks/attempt.ts';
import { moment, countWords, code } from '../kit/blocks.ts';
import { readonlyField } from '../kit/form.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, findOr404, routesOf, unless } from '../kit/route.ts';
import { integrators } from '../../../organisations/users/roles.ts';
import { messagePage, confirmPage, refusal } from '../kit/page.ts';

export const endpointOf = (visit: Visit): Promise<EndpointRow> => findOr404(visit, 'endpoint_id', findEndpoint);
const ofEndpoint = routesOf(endpointOf);
export const webhookActs: ConsoleRoute[] = [
  ofEndpoint.post('/webhooks/{endpoint_id}/test', integrators, test),
  ofEndpoint.post('/webhooks/{endpoint_id}/pause', integrators, switched(pauseEndpoint, 'paused')),
  ofEndpoint.post('/webhooks/{endpoint_id}/resume', integrators, switched(resumeEndpoint, 'resumed')),
  ...ofEndpoint.form('/webhooks/{endpoint_id}/rotate', integrators, showRotate, rotate, { proof: true }),
  ...ofEndpoint.form('/webhooks/{endpoint_id}/remove', integrators, showRemove, remove, { proof: true }),
];

export function shownSecret({ base }: Visit, endpointId: string, secret: string | null, title: string, also: Content) {
  return {
    title,
    back: { to: `${base}/webhooks/${endpointId}`, label: 'Webhook endpoint' },
    main: html`${also}${
      secret === null
        ? html`<p>The secret was shown once. If the secret is lost, rotate it.</p>`
        : html`<p>Copy the secret now: <strong>it is not shown again.</strong> Your webhook endpoint checks every delivery with it. Then <a href="${base}/webhooks/${endpointId}">send a test event</a>.</p>${readonlyField('secret', 'Signing secret', secret)}`
    }`,
  };
}

async function test(visit: Visit, row: EndpointRow): Promise<Answer> {
  const { app, base, change } = visit;
  await change(async () => true, row.endpoint_id);
  const sent = await sendTest(app, row);
  const isTaken = sent.outcome === 'succeeded';
  return {
    ...messagePage(
      isTaken ? 'The test event is delivered' : 'The test event failed',
      isTaken ? `Status ${sent.status_code} in ${sent.duration_ms} ms.` : `${sent.error} (${sent.duration_ms} ms)`,
      html`The event is <code>webhook.test</code>, with the delivery ID ${code(sent.deliveryId)}. It is signed like every event. A failed test is not retried.`,
    ),
    back: { to: `${base}/webhooks/${row.endpoint_id}`, label: 'Webhook endpoint' },
  };
}

function switched(act: typeof pauseEndpoint, did: string) {
  return async ({ base, organisationId, change }: Visit, { endpoint_id: id }: EndpointRow): Promise<Answer> => {
    const done = await change((work) => act(work, organisationId, id), id);
    // If nothing was changed, another person made the change first. The page shows the present state.
    return { to: `${base}/webhooks/${id}${done === undefined ? '' : `?did=${did}`}` };
  };
}

async function showRotate(visit: Visit, row: EndpointRow): Promise<Answer> {
  return confirmPage(visit, {
    title: 'Rotate signing secret?',
    back: { to: `${visit.base}/webhooks/${row.endpoint_id}` },
    says: [
      `The new secret is shown once. Both secrets sign for ${rotationMs / 3600_000} hours: store the new one in your webhook endpoint within that time. This can’t be undone.`,
    ],
    button: 'Rotate signing secret',
    danger: false,
  });
}

async function rotate(visit: Visit, { endpoint_id: id }: EndpointRow): Promise<Answer> {
  const { base, zone, organisationId, change } = visit;
  const rotating = change((work) => rotateSecret(work, organisationId, id), id);
  const back = { to: `${base}/webhooks/${id}`, label: 'Webhook endpoint' };
  const made = await unless(rotating, SecretsHeldError, ({ message }) =>
    refusal('The signing secret can’t be rotated yet', message, back),
  );
  if (made === undefined) throw new NoSuchPage();
  if ('title' in made) return made;
  const old = html`<p>The old secret also signs until ${moment(made.row.previous_secret_until!, zone)}.</p>`;
  return shownSecret(visit, id, made.secret, 'The signing secret is rotated', old);
}

async function showRemove(visit: Visit, { url, endpoint_id: endpointId }: EndpointRow): Promise<Answer> {
  const max = limits.reachCounted;
  const counted = await countUndelivered(visit.app.db, visit.organisationId, { endpointId, upTo: max + 1 });
  const { pending = 0, dead = 0 } = counted.get(endpointId) ?? {};
  return confirmPage(visit, {
    title: 'Remove webhook endpoint?',
    back: { to: `${visit.base}/webhooks/${endpointId}` },
    says: [
      url,
      `Waiting deliveries that are dropped: ${countWords(pending, max)}. Dead letters that can’t be sent again: ${countWords(dead, max)}. This can’t be undone. The feed still contains all results.`,
    ],
    button: 'Remove webhook endpoint',
  });
}

async function remove({ base, organisationId, change }: Visit, { endpoint_id: id }: EndpointRow): Promise<Answer> {
  await change((work) => removeEndpoint(work, organisationId, id), id);
  return { to: `${base}/webhooks?did=removed` };
}
