/**
 * The version of the payloads, as a number that a release raises when it changes what existing records show. A record is
 * shown in the version that it was last stamped under, so that no payload changes without its `updated_at` (law 2): an
 * organisation's `shape_position` parts what was stamped before from what was stamped since, and a restamp (src/governance/upgrade/restamp.ts)
 * moves the former, slice by slice (docs/decisions/0014-restart-the-feed-after-a-restore.md).
 */
export const currentPayloadVersion = 1;

/** SQL for the payload version of a record at this position, where `v` is the row of `feed` in the same snapshot. */
export function payloadVersionAt(position: string, v = 'v'): string {
  return `${v}.shape - (${position} <= ${v}.shape_position)::int4`;
}

/** The name of every connection tells which payload version its process writes and shows. */
export const applicationName = `ars/${currentPayloadVersion}`;

/** SQL: whether a process that shows an older version is connected. */
export const olderProcesses = `
  select from pg_stat_activity
   where datname = current_database() and substring(application_name from '^ars/(\\d{1,4})$')::int4 < ${currentPayloadVersion} limit 1`;
