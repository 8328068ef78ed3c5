/**
 * The shape of what is stored and shown, as a number that a release raises when it changes what existing records show.
 * A record is shown in the shape that it was last stamped under, so that no payload ever changes without its
 * `updated_at` (law 2): an organisation's `shape_position` parts what was stamped before from what was stamped since, and
 * a restamp (src/restamp.ts) moves the former, slice by slice (docs/decisions/0020-releases-that-change-payloads.md).
 *
 * 2: `learner_id` and `level_probabilities` in results, `learner_id` and `status` in learners.
 */
export const currentShape = 2;

/** SQL for the shape of a record at this position, where `v` is the row of `feed` in the same snapshot. */
export function shapeAt(position: string, v = 'v'): string {
  return `${v}.shape - (${position} <= ${v}.shape_position)::int4`;
}

/**
 * The name under which every connection tells which shape its process writes and shows, and that it keeps the digest and the queue of
 * reviews.
 */
export const applicationName = `ars/${currentShape}.digest.reviews`;

/** SQL: whether a process that shows an older shape is connected. Those of before there were shapes call themselves ars. */
export const olderProcesses = `
  select from pg_stat_activity
   where datname = current_database()
     and (application_name = 'ars' or substring(application_name from '^ars/(\\d{1,4})(?:\\.|$)')::int4 < ${currentShape})
   limit 1`;

/** SQL: whether a process that doesn't keep the digest is connected: its name ends with its shape, or is from before those. */
export const processesWithoutDigest = `
  select from pg_stat_activity
   where datname = current_database() and application_name ~ '^ars(/\\d{1,4})?$'
   limit 1`;

/** SQL: whether a process that doesn't keep the queue of reviews is connected. */
export const processesWithoutReviews = `
  select from pg_stat_activity
   where datname = current_database() and application_name ~ '^ars(/\\d{1,4}(\\.digest)?)?$'
   limit 1`;
