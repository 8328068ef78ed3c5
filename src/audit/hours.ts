import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';

/** What a key asked in an hour, by what came of it, as far as it is sealed: up to a minute ago. */
export type KeyHour = {
  hour: Date;
  answered: number;
  unchanged: number;
  refused: number;
  limited: number;
  failed: number;
};

const hours = statement(
  'audit.hours_of_key',
  `
  select hour, (sum(calls) filter (where status between 200 and 299))::int8 as answered,
         (sum(calls) filter (where status = 304))::int8 as unchanged,
         (sum(calls) filter (where status between 400 and 499 and status <> 429))::int8 as refused,
         (sum(calls) filter (where status = 429))::int8 as limited, (sum(calls) filter (where status >= 500))::int8 as failed
    from audit_hour where organisation_id = $1 and hour >= $2 and actor = $3 group by hour order by hour desc`,
);

/** The newest first; hours without a call are left out. */
export async function hoursOfKey(tx: Tx, organisationId: number, keyId: string, since: Date): Promise<KeyHour[]> {
  const rows = await tx.query<{ [name in keyof KeyHour]: KeyHour[name] | null }>(hours, [organisationId, since, keyId]);
  return rows.map(({ hour, answered, unchanged, refused, limited, failed }) => ({
    hour: hour!,
    answered: answered ?? 0,
    unchanged: unchanged ?? 0,
    refused: refused ?? 0,
    limited: limited ?? 0,
    failed: failed ?? 0,
  }));
}
