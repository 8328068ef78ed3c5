import { keepMs } from '../../integrations/webhooks/retention.ts';
import type { TracedDelivery, TracedEndpoint, TracedResult } from './facts.ts';
import { type Reason, time } from './words.ts';
import { assessmentCompleted } from '../../platform/validation/event-types.ts';

export type EndpointVerdict = { reason: Reason; sentence: string; at: Date | null };

const verdict = (reason: Reason, sentence: string, at: Date | null = null) => ({ reason, sentence, at });

function explainDelivery(
  { host, status: endpointStatus }: TracedEndpoint,
  { status, attempts, last_error, last_status, finished_at: finished, next_attempt_at: next }: TracedDelivery,
): EndpointVerdict {
  const why = last_error ?? (last_status === null ? 'no attempt yet' : `HTTP ${last_status}`);
  const tries = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;
  if (status === 'succeeded') return verdict('delivered', `Delivered to ${host} at ${time(finished!)}.`, finished);
  const name = `The delivery to ${host}`;
  if (status === 'dead')
    return verdict('delivery_dead', `${name} failed for good after ${tries} (${why}): send it again.`, finished);
  if (status === 'cancelled')
    return verdict('delivery_cancelled', `${name} was cancelled: the result was withdrawn.`, finished);
  if (endpointStatus === 'paused') return verdict('delivery_paused', `${name} waits: the endpoint is paused.`);
  if (endpointStatus === 'disabled')
    return verdict('delivery_disabled', `${name} waits: the endpoint is disabled (${why}).`);
  return verdict('delivery_pending', `${name} is under way after ${tries} (${why}).`, next);
}

export function explainEndpoint(endpoint: TracedEndpoint, result: TracedResult, nowMs: number): EndpointVerdict {
  const { host, delivery } = endpoint;
  if (delivery !== null) return explainDelivery(endpoint, delivery);
  const { event } = result;
  const happened = event?.occurred_at ?? result.recorded_at;
  if (endpoint.created_at > happened)
    return verdict('made_later', `${host} was registered at ${time(endpoint.created_at)}, after the result.`);
  if (!endpoint.event_types.includes(assessmentCompleted))
    return verdict('not_subscribed', `${host} is not subscribed to assessment.completed.`);
  const groups = event?.group_ids ?? result.group_ids;
  if (endpoint.group_ids !== null && !endpoint.group_ids.some((id) => groups.includes(id)))
    return verdict(
      'other_groups',
      `${host} is scoped to groups that the learner ${event === null ? "isn't" : "wasn't"} in.`,
    );
  const areKept = nowMs - happened.getTime() < keepMs;
  if (event === null && result.source === 'imported' && areKept && !result.deleted)
    return verdict('import_silent', `${host} was not notified: the result was imported without events.`);
  if (event !== null && endpoint.updated_at > event.occurred_at && areKept)
    return verdict(
      'changed_later',
      `${host} was not notified. It was changed at ${time(endpoint.updated_at)}, after the result: its events or groups were others before.`,
    );
  return verdict(
    'not_known',
    result.deleted
      ? `Not known for ${host}: a withdrawal deletes the content of events.`
      : `Not known for ${host}: events and deliveries are kept for ${keepMs / 86_400_000} days.`,
  );
}
