import { statement, type Tx } from '../db/database.ts';
import { unsealedRows } from './unsealed.ts';

export type CallHour = {
  hour: Date;
  answered: number;
  /** 304. */
  unchanged: number;
  refused: number;
  /** 429. */
  limited: number;
  failed: number;
};

const ofCalls = `organisation_id = $1 and ($4::text is null or actor = $4) and ($5::text is null or action = $5)`;
const hours = statement('audit.calls_by_hour')`
  select hour, coalesce(sum(calls) filter (where status between 200 and 299), 0)::int8 as answered,
         coalesce(sum(calls) filter (where status = 304), 0)::int8 as unchanged,
         coalesce(sum(calls) filter (where status between 400 and 499 and status <> 429), 0)::int8 as refused,
         coalesce(sum(calls) filter (where status = 429), 0)::int8 as limited,
         coalesce(sum(calls) filter (where status >= 500), 0)::int8 as failed
    from (
      select hour, status, calls from audit_hour
       where hour >= date_trunc('hour', $2::timestamptz, 'UTC') and hour < $3 and ${ofCalls}
      union all
      select date_trunc('hour', at, 'UTC'), status, 1 from ${unsealedRows} a
       where at >= $2 and at < $3 and ${ofCalls}) c
   where status >= 200 group by hour order by hour desc`;

/** The newest hour first, without empty hours. Rows that the sealer has not counted yet are read directly. */
export function callsByHour(
  tx: Tx,
  organisationId: number,
  { actor = null, action = null, from, to }: { actor?: string | null; action?: string | null; from: Date; to: Date },
): Promise<CallHour[]> {
  return tx.query<CallHour>(hours, [organisationId, from, to, actor, action]);
}
