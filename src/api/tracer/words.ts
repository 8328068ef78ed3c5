/** Reasons that call for an action, the most urgent first. */
export const actable = [
  'own_clock',
  'cursor_stuck',
  'delivery_dead',
  'filter_excludes',
  'polls_refused',
  'walk_unfinished',
  'suspended',
  'delivery_disabled',
  'delivery_paused',
  'fetched_before_change',
  'walk_under_way',
  'delivery_pending',
  'not_polled_since',
  'never_polled',
  'not_known',
] as const;

/**
 * Reasons why a key or an endpoint cannot receive a result. Such a reason is the verdict only if no other key or
 * endpoint can receive the result.
 */
export const outOfReach = [
  'key_expired',
  'key_revoked',
  'key_bounded',
  'import_silent',
  'made_later',
  'changed_later',
  'other_groups',
  'not_subscribed',
  'delivery_cancelled',
] as const;

export type Reason = 'fetched' | 'read_by_id' | 'delivered' | (typeof actable)[number] | (typeof outOfReach)[number];

export const time = (at: Date) => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** Converts microseconds, such as a position, to a Date. */
export const timeOf = (us: number) => new Date(Math.floor(us / 1000));
