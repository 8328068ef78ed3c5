import type { TracedEndpoint, TracedResult } from './facts.ts';
import { time } from './words.ts';

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
  | 'not_known';

export type EndpointVerdict = { reason: EndpointReason; sentence: string; at: Date | null };

export function explainEndpoint(endpoint: TracedEndpoint, result: TracedResult): EndpointVerdict {
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
  if (!endpoint.event_types.includes('assessment.completed'))
    return verdict('not_subscribed', `${host} is not subscribed to assessment.completed.`);
  if (result.completed_at === null)
    return verdict(
      'not_known',
      `Not known for ${host}: the event and its deliveries are kept for 30 days and until their month goes, and taken back with a withdrawal.`,
    );
  if (endpoint.created_at > result.completed_at)
    return verdict('made_later', `${host} was registered after the result was completed.`);
  if (endpoint.group_ids !== null && !endpoint.group_ids.some((id) => result.group_ids.includes(id)))
    return verdict('other_groups', `${host} is scoped to groups that the learner isn't in.`);
  return verdict('not_known', `Not known for ${host}: there is no delivery of it any more.`);
}
