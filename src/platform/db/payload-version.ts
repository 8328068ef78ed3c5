/**
 * A release raises this version if it changes the payload of existing records. A record keeps its version until it gets
 * a new feed position, so no payload changes without its `updated_at` (law 2).
 * Positions up to the organisation's `shape_position` have the previous version. A job gives these records new
 * positions (src/governance/upgrade/restamp.ts, decision 0014).
 */
export const currentPayloadVersion = 1;

/** SQL for the payload version at a position. `v` is the row of `feed` in the same snapshot. */
export function payloadVersionAt(position: string, v = 'v'): string {
  return `${v}.shape - (${position} <= ${v}.shape_position)::int4`;
}

export const applicationName = `ars/${currentPayloadVersion}`;

export const olderProcesses = `
  select from pg_stat_activity
   where datname = current_database() and substring(application_name from '^ars/(\\d{1,4})$')::int4 < ${currentPayloadVersion} limit 1`;
