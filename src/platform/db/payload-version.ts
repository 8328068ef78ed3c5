/**
 * The version of the payloads. A release that changes what existing records show raises it. A record keeps the version
 * of its last stamp, so no payload changes without its `updated_at` (law 2). The organisation's `shape_position`
 * divides older stamps from newer ones, and a restamp moves the older records in slices
 * (src/governance/upgrade/restamp.ts, decision 0014).
 */
export const currentPayloadVersion = 1;

/** SQL of the payload version at a position. `v` is the row of `feed` in the same snapshot. */
export function payloadVersionAt(position: string, v = 'v'): string {
  return `${v}.shape - (${position} <= ${v}.shape_position)::int4`;
}

export const applicationName = `ars/${currentPayloadVersion}`;

export const olderProcesses = `
  select from pg_stat_activity
   where datname = current_database() and substring(application_name from '^ars/(\\d{1,4})$')::int4 < ${currentPayloadVersion} limit 1`;
