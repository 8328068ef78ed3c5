import type { App } from '../app.ts';
import { arrayLiteral } from '../db/arrays.ts';
import { batcher } from '../db/batcher.ts';
import type { Dedicated } from '../db/database.ts';
import { statement } from '../db/database.ts';

/** A refused call of a caller that proved no organisation. */
export type RefusedCall = {
  atMs: number;
  requestId: string;
  action: string;
  status: number;
  /** Keyed hash of where it came from. */
  address: Buffer;
  /** Whether it gets a row of its own, or is counted in the one of its address and minute. */
  listed: boolean;
};

const list = statement(
  'refused.list',
  `
  insert into audit (organisation_id, at, request_id, actor, action, status, address)
  select 0, to_timestamp(ms / 1000.0::float8), request_id, '-', action, status, address
    from unnest($1::int8[], $2::uuid[], $3::text[], $4::int2[], $5::bytea[]) as e(ms, request_id, action, status, address)`,
);

// In the order of addresses, so that two processes can't deadlock.
const count = statement(
  'refused.count',
  `
  insert into refused_calls as r (minute, address, calls)
  select to_timestamp(ms / 60000 * 60), address, count(*) from unnest($1::int8[], $2::bytea[]) as e(ms, address)
   group by 1, 2 order by 1, 2
  on conflict (minute, address) do update set calls = r.calls + excluded.calls`,
);

/**
 * Returns once the call is in the log, by its row or by its count, and that is committed. Calls that wait at the same
 * time are one statement of each kind, so however fast somebody knocks, the database writes a row a batch.
 */
export function refusedCalls(connection: Dedicated): (call: RefusedCall) => Promise<void> {
  return batcher<RefusedCall, void>(async (calls) => {
    const listed = calls.filter((call) => call.listed);
    const counted = calls.filter((call) => !call.listed);
    if (listed.length > 0)
      await connection.query(list, [
        arrayLiteral(listed.map((call) => call.atMs)),
        listed.map((call) => call.requestId),
        listed.map((call) => call.action),
        arrayLiteral(listed.map((call) => call.status)),
        listed.map((call) => call.address),
      ]);
    if (counted.length > 0)
      await connection.query(count, [
        arrayLiteral(counted.map((call) => call.atMs)),
        counted.map((call) => call.address),
      ]);
    return new Array<void>(calls.length).fill(undefined);
  }, 1000);
}

/** Rows that stay at most: the newest ones. */
export const refusedKept = { listed: 1_000_000, counted: 100_000 };

/** Stands for all addresses, in the row that holds a day's older calls. */
const everyAddress = `'\\x'::bytea`;

const addToDays = `
  insert into refused_calls as r (minute, address, calls)
  select date_trunc('day', at, 'UTC'), ${everyAddress}, sum(calls)::int8 from gone group by 1
  on conflict (minute, address) do update set calls = r.calls + excluded.calls
  returning 1`;

const foldListed = statement(
  'refused.fold_listed',
  `
  with gone as (
    delete from audit where organisation_id = 0 and audit_id = any(array(
      select audit_id from audit
       where organisation_id = 0 and actor = '-'
         and audit_id <= (select audit_id from audit where organisation_id = 0 order by audit_id desc offset $1 limit 1)
         and audit_id <= (select sealed_id from audit_chain where organisation_id = 0)
       order by audit_id limit $2 for update skip locked))
    returning at, 1 as calls),
  folded as (${addToDays})
  select count(*) as count from gone`,
);

const foldCounted = statement(
  'refused.fold_counted',
  `
  with gone as (
    delete from refused_calls where ctid = any(array(
      select ctid from refused_calls
       where address <> ${everyAddress} and calls = sealed_calls
         and minute < (select minute from refused_calls where address <> ${everyAddress} order by minute desc offset $1 limit 1)
       order by minute limit $2 for update skip locked))
    returning minute as at, calls),
  folded as (${addToDays})
  select count(*) as count from gone`,
);

const foldRows = 5000;

/**
 * Folds the oldest refused calls, once they are sealed, into one row for each day, so that neither table can grow
 * without end.
 */
export async function foldRefused(app: App, signal?: AbortSignal, kept = refusedKept): Promise<void> {
  for (const [sql, most] of [
    [foldListed, kept.listed],
    [foldCounted, kept.counted],
  ] as const)
    while (signal?.aborted !== true) {
      const [row] = await app.db.query<{ count: number }>(sql, [most, foldRows]);
      if (row!.count < foldRows) break;
    }
}
