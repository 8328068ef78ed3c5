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

/** Rows that stay: the newest ones, and those that share a block with one of them, or with an operator's. */
export const refusedKept = { listed: 1_000_000, counted: 100_000 };

/** Stands for all addresses, in the row that holds a day's older calls. */
const everyAddress = `'\\x'::bytea`;

const addToDays = (from: string) => `
  insert into refused_calls as r (minute, address, calls) ${from}
  on conflict (minute, address) do update set calls = r.calls + excluded.calls`;

// The sealer passes over what is locked here; a process that folds waits until the sealer is done.
const lockChain = statement(
  'refused.lock_chain',
  'select folded_block from audit_chain where organisation_id = 0 for update',
);
const newestToFold = statement(
  'refused.newest_to_fold',
  'select audit_id from audit where organisation_id = 0 order by audit_id desc offset $1 limit 1',
);
/** The next blocks in their order; `old` are those without one of the newest rows. */
const nextBlocks = statement(
  'refused.next_blocks',
  `
  select number, first_at, last_at, case when coalesce(ids[rows], 0) <= $2 then ids end as ids, coalesce(ids[rows], 0) <= $2 as old,
         coalesce(ids[rows], 0) <= $2 and exists (
           select from audit where organisation_id = 0 and audit_id = any(ids) and at >= first_at and at <= last_at and actor <> '-') as mixed
    from audit_block where organisation_id = 0 and number > $1 order by number limit $3`,
);
const takeOut = statement(
  'refused.take_out',
  `
  with gone as (
    delete from audit where organisation_id = 0 and audit_id = any($1) and at >= $2 and at <= $3 returning at)
  select date_trunc('day', at, 'UTC') as day, count(*) as calls from gone group by 1`,
);
/** As of blocks that went with their month: what the chain needs of them stays. */
const forgetIds = statement(
  'refused.forget_ids',
  'update audit_block set ids = null where organisation_id = 0 and number = any($1) and rows > 0',
);
const countDays = statement(
  'refused.count_days',
  addToDays(`select day, ${everyAddress}, calls from unnest($1::timestamptz[], $2::int8[]) as d(day, calls)`),
);
const advance = statement('refused.advance', 'update audit_chain set folded_block = $1 where organisation_id = 0');

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
  folded as (${addToDays(`select date_trunc('day', at, 'UTC'), ${everyAddress}, sum(calls)::int8 from gone group by 1`)} returning 1)
  select count(*) as count from gone`,
);

const foldRows = 5000;
const foldBlocks = 100;
/** Of one transaction, but one block at least. */
const foldedAtOnce = 20_000;

type Next = { number: number; first_at: Date; last_at: Date; ids: number[] | null; old: boolean; mixed: boolean };

/**
 * Folds the rows of the next blocks, all of a block or none: what stays can be compared with what was sealed, and a block is
 * missing as a whole or has been tampered with. One with an operator's row stays.
 * @returns whether there may be more
 */
async function foldListed(app: App, kept: number): Promise<boolean> {
  return app.db.transaction(async (tx) => {
    const [chain] = await tx.query<{ folded_block: number }>(lockChain);
    const [newest] = await tx.query<{ audit_id: number }>(newestToFold, [kept]);
    if (chain === undefined || newest === undefined) return false;
    const next = await tx.query<Next>(nextBlocks, [chain.folded_block, newest.audit_id, foldBlocks]);
    const firstKept = next.findIndex(({ old }) => !old);
    const all = firstKept === -1 ? next : next.slice(0, firstKept);
    let rows = 0;
    const old = all.filter((block, i) => {
      rows += block.ids?.length ?? 0;
      return i === 0 || rows <= foldedAtOnce;
    });
    if (old.length === 0) return false;
    const going = old.filter((block) => !block.mixed);
    const ids = going.flatMap((block) => block.ids ?? []);
    const times = old.flatMap((block) => [block.first_at.getTime(), block.last_at.getTime()]);
    const span = [new Date(Math.min(...times)), new Date(Math.max(...times))];
    const days = await tx.query<{ day: Date; calls: number }>(takeOut, [ids, ...span]);
    if (days.length > 0)
      await tx.query(countDays, [days.map(({ day }) => day), arrayLiteral(days.map(({ calls }) => calls))]);
    await tx.query(forgetIds, [going.map((block) => block.number)]);
    await tx.query(advance, [old.at(-1)!.number]);
    return old.length < all.length || old.length === foldBlocks;
  });
}

/**
 * Folds the oldest refused calls, once they are sealed, into one row for each day, so that neither table can grow
 * without end.
 */
export async function foldRefused(app: App, signal?: AbortSignal, kept = refusedKept): Promise<void> {
  while (signal?.aborted !== true && (await foldListed(app, kept.listed)));
  while (signal?.aborted !== true) {
    const [row] = await app.db.query<{ count: number }>(foldCounted, [kept.counted, foldRows]);
    if (row!.count < foldRows) break;
  }
}
