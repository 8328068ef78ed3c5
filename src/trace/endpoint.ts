import { keepMs } from '../webhooks/deliveries.ts';
import type { TracedEndpoint, TracedResult } from './facts.ts';
import { time } from './words.ts';
import { assessmentCompleted } from '../event-types.ts';

/** Whether a webhook endpoint was told of a result, and if it wasn't, why. */

export type EndpointReason =
  | 'delivered'
  | 'delivery_dead'
  | 'delivery_paused'
  | 'delivery_disabled'
  | 'delivery_pending'
  | 'delivery_cancelled'
  | 'not_subscribed'
  | 'other_groups'
  | 'made_later'
  | 'import_silent'
  | 'changed_later'
  | 'not_known';

export type EndpointVerdict = { reason: EndpointReason; sentence: string; at: Date | null };

export function explainEndpoint(endpoint: TracedEndpoint, result: TracedResult, nowMs: number): EndpointVerdict {
  const { host, delivery } = endpoint;
  const verdict = (reason: EndpointReason, sentence: string, at: Date | null = null) => ({ reason, sentence, at });
  if (delivery !== null) {
    const why =
      delivery.last_error ?? (delivery.last_status === null ? 'no attempt yet' : `HTTP ${delivery.last_status}`);
    const tries = `${delivery.attempts} ${delivery.attempts === 1 ? 'attempt' : 'attempts'}`;
    switch (delivery.status) {
      case 'succeeded':
        return verdict('delivered', `Delivered to ${host} at ${time(delivery.finished_at!)}.`, delivery.finished_at);
      case 'dead':
        return verdict(
          'delivery_dead',
          `The delivery to ${host} failed for good after ${tries} (${why}): send it again.`,
          delivery.finished_at,
        );
      case 'cancelled':
        return verdict(
          'delivery_cancelled',
          `The delivery to ${host} was cancelled: the result was withdrawn.`,
          delivery.finished_at,
        );
      case 'pending':
        if (endpoint.status === 'paused')
          return verdict('delivery_paused', `The delivery to ${host} waits: the endpoint is paused.`);
        if (endpoint.status === 'disabled')
          return verdict('delivery_disabled', `The delivery to ${host} waits: the endpoint is disabled (${why}).`);
        return verdict(
          'delivery_pending',
          `The delivery to ${host} is under way after ${tries} (${why}).`,
          delivery.next_attempt_at,
        );
    }
  }
  const { event, recorded_at: recorded } = result;
  const happened = event?.occurred_at ?? recorded;
  if (happened !== null && endpoint.created_at > happened)
    return verdict('made_later', `${host} was registered at ${time(endpoint.created_at)}, after the result.`);
  if (!endpoint.event_types.includes(assessmentCompleted))
    return verdict('not_subscribed', `${host} is not subscribed to assessment.completed.`);
  const groups = event?.group_ids ?? result.group_ids;
  if (endpoint.group_ids !== null && !endpoint.group_ids.some((id) => groups.includes(id)))
    return verdict(
      'other_groups',
      `${host} is scoped to groups that the learner ${event === null ? "isn't" : "wasn't"} in.`,
    );
  const areKept = happened !== null && nowMs - happened.getTime() < keepMs;
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
      ? `Not known for ${host}: events are emptied with the withdrawal.`
      : `Not known for ${host}: events and deliveries are kept for ${keepMs / 86_400_000} days.`,
  );
}
