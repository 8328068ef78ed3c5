/**
 * Ids of events and deliveries name the day of the event, by which alone their month is found: 32 zero bits, the day
 * since 1970 in 16, and then bits of chance or of a hash (a version 8 UUID, RFC 9562). See
 * docs/decisions/0007-lease-endpoint-queues.md. Here they are made, as SQL.
 */

/** The id of an event of a time, made from one of chance. */
export const eventIdAt = (at: string, id: string): string =>
  `(left(event_day(${at})::text, 14) || '8' || substr(${id}::text, 16))::uuid`;

/** The one id of an event's delivery to an endpoint, whoever makes it, and however often. */
export const deliveryIdOf = (event: string, endpoint: string): string =>
  `(left(${event}::text, 15) || substr(md5(${event}::text || ${endpoint}), 14, 3) || '-a'
             || substr(md5(${event}::text || ${endpoint}), 18))::uuid`;
