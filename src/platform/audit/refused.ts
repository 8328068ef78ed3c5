import type { App } from '../app.ts';
import { arrayLiteral } from '../db/arrays.ts';
import { batcher } from '../db/batcher.ts';
import { type Dedicated, statement, type Tx } from '../db/database.ts';
import { type AuditEntry, auditInside, auditor } from './audit.ts';

/** Calls without a valid access key belong to organisation 0. */
const refused = { organisationId: 0, actor: '-', resource: null };

export type RefusedCall = Pick<AuditEntry, 'atMs' | 'requestId' | 'action' | 'status'> & {
  address: Buffer;
  /** A listed call has its own row. Other calls are counted in one row for their IP address and minute. */
  listed: boolean;
};

// The rows are sorted, so that two processes cannot deadlock.
const addCounts = (from: string) => `
  insert into refused_calls as r (minute, address, calls) ${from}
  on conflict (minute, address) do update set calls = r.calls + excluded.calls`;
const count = statement(
  'refused.count',
  addCounts(`
  select to_timestamp(ms / 60000 * 60), address, count(*) from unnest($1::int8[], $2::bytea[]) as e(ms, address)
   group by 1, 2 order by 1, 2`),
);

/**
 * Records a refused call and resolves after the commit. In a flood, calls share the row of their IP address and minute.
 */
export function refusedCalls(connection: Dedicated): (call: RefusedCall) => Promise<void> {
  const list = auditor(connection);
  const counted = batcher<RefusedCall, void>(async (calls) => {
    await connection.query(count, [arrayLiteral(calls.map((call) => call.atMs)), calls.map((call) => call.address)]);
    return new Array<void>(calls.length).fill(undefined);
  }, 1000);
  return ({ listed, ...call }) => (listed ? list({ ...refused, ...call }) : counted({ listed, ...call }));
}

/** This empty IP address marks the row that counts a day's older calls. */
const everyAddress = `'\\x'::bytea`;
const atOnce = 5000;
const takeCounts = statement('refused.take_counts')`
  delete from refused_calls where (minute, address) in (
    select minute, address from refused_calls where address <> ${everyAddress} and minute < $1 order by minute, address limit ${atOnce})
  returning minute, address, calls`;

/** How many of the newest rows stay in the log. Older rows in the same blocks stay as well. */
export const refusedKept = 1_000_000;
const foldedBlocks = 5;
// Folding removes all rows of a block or none, so that verification can tell folding from tampering. A block with an
// entry of the operator keeps all rows.
const fold = statement('refused.fold')`
  with old as materialized (
    select number, ids, first_at, last_at,
           not exists (select from audit a where a.organisation_id = 0 and a.audit_id = any(b.ids)
                          and a.at between b.first_at and b.last_at and a.actor <> '-') as goes
      from audit_block b
     where organisation_id = 0 and number > (select folded_block from audit_chain where organisation_id = 0)
       and coalesce(ids[rows], 0) <= (select audit_id from audit where organisation_id = 0 order by audit_id desc offset $1 limit 1)
     order by number limit ${foldedBlocks}),
  gone as (
    delete from audit a using old
     where a.organisation_id = 0 and old.goes and a.audit_id = any(old.ids) and a.at between old.first_at and old.last_at
    returning date_trunc('day', a.at, 'UTC') as day, coalesce(substring(a.detail from '"calls":(\\d+)')::int8, 1) as calls),
  emptied as (update audit_block b set ids = null from old where b.organisation_id = 0 and b.number = old.number and old.goes),
  moved as (
    update audit_chain c set folded_block = o.number from (select max(number) as number from old) o
     where c.organisation_id = 0 and o.number is not null)
  select array(select day from gone group by day order by day) as days,
         array(select sum(calls)::int8 from gone group by day order by day) as calls, (select count(*) from old) as blocks`;
const addDays = statement(
  'refused.add_days',
  addCounts(
    `select day, ${everyAddress}, calls from unnest($1::timestamptz[], $2::int8[]) as d(day, calls) order by day`,
  ),
);

/** Turns counts of past minutes into rows of the log. @returns how many rows */
async function listCounts(app: App, tx: Tx): Promise<number> {
  type Count = { minute: Date; address: Buffer; calls: number };
  const counts = await tx.query<Count>(takeCounts, [new Date(app.clock.nowMs() - 2 * 60_000)]);
  const entries = counts.map(({ minute, address, calls }): AuditEntry => {
    const requestId = app.random.uuid();
    const atMs = minute.getTime();
    return {
      ...refused,
      atMs,
      requestId,
      action: 'refused calls',
      status: null,
      detail: `{"calls":${calls}}`,
      address,
    };
  });
  if (entries.length > 0) await auditInside(tx, ...entries);
  return entries.length;
}

/** Turns the oldest sealed rows into a count for each day. @returns how many blocks were read */
async function foldBlocks(tx: Tx, kept: number): Promise<number> {
  const [folded] = await tx.query<{ days: Date[]; calls: number[]; blocks: number }>(fold, [kept]);
  if (folded!.days.length > 0) await tx.query(addDays, [folded!.days, arrayLiteral(folded!.calls)]);
  return folded!.blocks;
}

export async function foldRefused(app: App, signal?: AbortSignal, kept = refusedKept): Promise<void> {
  const goOn = async (inside: (tx: Tx) => Promise<number>, max: number) =>
    signal?.aborted !== true && (await app.db.transaction(inside)) === max;
  while (await goOn((tx) => listCounts(app, tx), atOnce));
  while (await goOn((tx) => foldBlocks(tx, kept), foldedBlocks));
}
