/**
 * SQL that makes the IDs of events and deliveries (decision 0007). An ID contains the event's day, so that a query by
 * ID finds the partition of the month. Layout: 32 zero bits, 16 bits for the day since 1970, then random bits or a hash
 * (a version 8 UUID, RFC 9562).
 */

export const eventIdAt = (at: string, id: string): string =>
  `(left(event_day(${at})::text, 14) || '8' || substr(${id}::text, 16))::uuid`;

export const deliveryIdOf = (event: string, endpoint: string): string =>
  `(left(${event}::text, 15) || substr(md5(${event}::text || ${endpoint}), 14, 3) || '-a'
             || substr(md5(${event}::text || ${endpoint}), 18))::uuid`;
