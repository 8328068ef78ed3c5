import type { App } from '../app.ts';
import type { Statement, Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { isOutage } from '../db/unavailable.ts';
import { errorFields } from '../log.ts';
import { limits } from '../limits.ts';
import { auditSealed } from '../measures.ts';
import { hashOf, lineOf } from './line.ts';

/**
 * Sealing: rows of the log are put into blocks after their commit, in an order that the sealer fixes, and each block's
 * hash goes over its rows and the block before. A row's number is drawn before its commit, so a row may turn up below
 * what is sealed already: it gets into a later block. A block has the rows of one organisation, of at most a minute and
 * of one month.
 */

const idOf = ({ organisation_id: id }: { organisation_id: number }) => id;

type Chain = { organisation_id: number; blocks: number; hash: Buffer };

// Of those that have rows: one that was deleted meanwhile has none.
const begin = statement(
  'audit.chain_begin',
  `
  insert into audit_chain (organisation_id)
  select distinct a.organisation_id from audit a where a.organisation_id = any($1) on conflict do nothing`,
);
// Of no organisation: it may have counts of refused calls alone.
const beginNobodys = statement(
  'audit.chain_begin_nobodys',
  'insert into audit_chain (organisation_id) values (0) on conflict do nothing',
);
// By itself, so that what is read next sees what the sealer before has committed. Whom another process is at is passed over.
const lock = statement(
  'audit.chain_lock',
  'select organisation_id, blocks, hash from audit_chain where organisation_id = any($1) order by organisation_id for update skip locked',
);

type Seen = {
  organisation_id: number;
  all_sealed: boolean;
  waiting: number;
  oldest: number;
  next: number;
  own: number;
  begun: number;
};

/**
 * Of each of these organisations: whether the blocks since the floor hold all rows since the floor, late ones of before it not
 * counted (true for those of $2, which were looked at before); and how many rows wait, $3 at most. Which transactions had ended by
 * then; and this one, which began after all that drew a number below what is sealed.
 */
const look = statement(
  'audit.look_for_late',
  `
  select c.organisation_id,
         c.organisation_id = any($2)
         or (select count(*) from audit a where a.organisation_id = c.organisation_id and a.audit_id > c.floor_id and a.audit_id <= c.sealed_id)
            = (select coalesce(sum(case when b.ids[1] > c.floor_id then b.rows else (select count(*) from unnest(b.ids) as i where i > c.floor_id) end), 0)
                 from audit_block b where b.organisation_id = c.organisation_id and b.number > c.floor_block) as all_sealed,
         (select count(*) from (
            select from audit a where a.organisation_id = c.organisation_id and a.audit_id > c.sealed_id order by a.audit_id limit $3) a) as waiting,
         pg_snapshot_xmin(pg_current_snapshot())::text::int8 as oldest, pg_snapshot_xmax(pg_current_snapshot())::text::int8 as next,
         pg_current_xact_id()::text::int8 as own, (select audit_id from audit_begun) as begun
    from audit_chain c where c.organisation_id = any($1)`,
);

/**
 * Where everything that was open at the mark has ended, the floor goes up to it, and the mark to what is sealed now. Transactions
 * of another server than that of the mark, as after a restore, are all over. $5: a mark of later than this waits.
 */
const mark = statement(
  'audit.chain_mark',
  `
  update audit_chain c
     set floor_id = c.mark_id, floor_block = c.mark_block, mark_id = c.sealed_id, mark_block = c.blocks, mark_xid = greatest($3::int8, $4::int8)
   where c.organisation_id = any($1) and (c.mark_xid < $2 or c.mark_xid > $3)
     and not exists (select from audit_block b where b.organisation_id = c.organisation_id and b.number = c.mark_block and b.sealed_at > $5)`,
);

const rowsOf = {
  next: 'r.audit_id > c.sealed_id',
  late: `r.audit_id > c.floor_id and r.audit_id <= c.sealed_id
           and not exists (select from (select unnest(b.ids) as id from audit_block b
                                         where b.organisation_id = c.organisation_id and b.number > c.floor_block) s where s.id = r.audit_id)`,
};

/**
 * The next block of each of these organisations: of its first rows, as many as fit into one.
 * $1 organisations, $2 now, $3 most rows, $4 the last row of before there was sealing.
 */
const block = (which: keyof typeof rowsOf) => `
  insert into audit_block as n (organisation_id, number, sealed_at, first_at, last_at, rows, ids, hash)
  select c.organisation_id, c.blocks + 1, $2::timestamptz, f.first_at, f.last_at, f.rows, f.ids,
         ${hashOf('c.hash', 'c.blocks + 1', 'f.rows', 'f.lines')}
    from audit_chain c cross join lateral (
      select min(at) as first_at, max(at) as last_at, count(*)::int4 as rows, array_agg(audit_id order by audit_id) as ids,
             string_agg(${lineOf}, '' order by audit_id) as lines
        from (select r.*, min(at) over w as lowest, max(at) over w as highest
                from (select r.* from audit r where r.organisation_id = c.organisation_id and ${rowsOf[which]}
                       order by r.audit_id limit $3) r
              window w as (order by audit_id rows unbounded preceding)) r
       -- What was written before there was sealing needn't be in blocks of a minute.
       where date_trunc('month', lowest, 'UTC') = date_trunc('month', highest, 'UTC')
         and (audit_id <= $4 or highest - lowest <= interval '${limits.auditBlockMs} milliseconds')) f
   where c.organisation_id = any($1) and f.rows > 0
  returning n.organisation_id, n.rows`;
const blocks = {
  next: statement('audit.seal_next', block('next')),
  late: statement('audit.seal_late', block('late')),
};

/** What was put into blocks just now, by hours; the rows are found by the blocks, for others may have come. */
const count = statement(
  'audit.seal_hours',
  `
  insert into audit_hour as h (organisation_id, hour, actor, action, status, code, calls, last_at, lowest_id, highest_id, pages, first_position, last_position)
  select organisation_id, date_trunc('hour', at, 'UTC') as hour, actor, action, coalesce(status, 0) as status,
         case when status >= 400 then coalesce(substring(detail from '"code":"([a-z_]+)"'), '') else '' end as code,
         count(*), max(at), min(audit_id), max(audit_id), count(first), min(first), max(last)
    from (select a.*, case when a.status = 200 then substring(a.detail from '"first":(\\d+)')::int8 end as first,
                      case when a.status = 200 then substring(a.detail from '"last":(\\d+)')::int8 end as last
            from audit_chain c join audit_block b on b.organisation_id = c.organisation_id and b.number = c.blocks + 1
            join audit a on a.organisation_id = b.organisation_id and a.audit_id = any(b.ids) and a.at >= b.first_at and a.at <= b.last_at
           where c.organisation_id = any($1)) a
   group by 1, 2, 3, 4, 5, 6
  on conflict (organisation_id, hour, actor, action, status, code) do update
     set calls = h.calls + excluded.calls, last_at = greatest(h.last_at, excluded.last_at),
         lowest_id = least(h.lowest_id, excluded.lowest_id), highest_id = greatest(h.highest_id, excluded.highest_id),
         pages = h.pages + excluded.pages,
         first_position = least(h.first_position, excluded.first_position), last_position = greatest(h.last_position, excluded.last_position)`,
);
const move = statement(
  'audit.chain_move',
  `
  update audit_chain c set blocks = b.number, hash = b.hash, sealed_id = greatest(c.sealed_id, b.ids[b.rows])
    from audit_block b
   where b.organisation_id = c.organisation_id and b.number = c.blocks + 1 and c.organisation_id = any($1)`,
);

/** Counts of refused calls in the first minute that is over and has some which aren't sealed. */
const sealCounts = statement(
  'audit.seal_counts',
  `
  with counted as (
    update refused_calls set sealed_calls = calls
     where calls > sealed_calls and address <> ''
       and minute = (select min(minute) from refused_calls where calls > sealed_calls and address <> '' and minute <= $3)
    returning minute, address, calls),
  text as (
    select min(minute) as minute,
           string_agg(concat((extract(epoch from minute) * 1000)::int8, e'\\x1f', encode(address, 'hex'), e'\\x1f', calls, e'\\n'), '' order by address) as lines
      from counted having count(*) > 0),
  block as (
    insert into audit_block (organisation_id, number, sealed_at, first_at, last_at, rows, ids, counters, hash)
    select 0, $1::int8 + 1, $4, minute, minute, 0, '{}', lines, ${hashOf('$2::bytea', '$1::int8 + 1', '0', 'lines')} from text
    returning hash),
  moved as (
    update audit_chain c set blocks = c.blocks + 1, hash = b.hash from block b where c.organisation_id = 0)
  select from block`,
);

type Sealing = { signal?: AbortSignal | undefined; mostRows?: number };

/** `made`: a block; `looked`: nothing below what is sealed is missing in blocks; `left`: there is more to seal. */
type Step = { made: boolean; looked: boolean; left: boolean };

/** Begins the chains of those of these organisations that have none. */
async function beginChains(tx: Tx, organisationIds: number[]): Promise<void> {
  if (organisationIds.includes(0)) await tx.query(beginNobodys);
  await tx.query(begin, [organisationIds]);
}

/** Writes the next block of each, of late rows or of those that wait. @returns how many rows each got, by organisation */
async function writeBlocks(
  tx: Tx,
  which: keyof typeof blocks,
  organisationIds: number[],
  now: Date,
  mostRows: number,
  begun: number,
): Promise<Map<number, number>> {
  if (organisationIds.length === 0) return new Map();
  type Made = { organisation_id: number; rows: number };
  const made = await tx.query<Made>(blocks[which], [organisationIds, now, mostRows, begun]);
  const ids = made.map((row) => row.organisation_id);
  if (ids.length > 0) {
    await tx.query(count, [ids]);
    await tx.query(move, [ids]);
  }
  return new Map(made.map((row) => [row.organisation_id, row.rows]));
}

/** How many numbers of a cluster's coordinator may still be on their way to rows of its nodes, whose transactions don't tell. */
const onTheirWayMs = 5 * 60_000;

/**
 * The next block of each of these organisations, all of one node, inside a transaction: whoever is killed in it leaves whole blocks
 * behind. Among several, one that has more rows than `auditBlockRowsTogether` gets none: it is sealed by itself.
 * @param looked whose log was looked through for late rows before, and has none
 * @returns one step each; of none that another process is at
 */
async function sealBlocks(
  app: App,
  tx: Tx,
  organisationIds: number[],
  looked: number[],
  { signal, mostRows }: Sealing,
): Promise<Map<number, Step>> {
  const alone = organisationIds.length === 1;
  const most = mostRows ?? (alone ? limits.auditBlockRows : limits.auditBlockRowsTogether);
  const steps = new Map<number, Step>();
  const [chain, ...others] = await tx.query<Chain>(lock, [organisationIds]);
  if (chain === undefined) return steps;
  const nowMs = app.clock.nowMs();
  const now = new Date(nowMs);
  const seen = await tx.query<Seen>(look, [[chain, ...others].map(idOf), looked, most]);
  signal?.throwIfAborted();

  const { oldest, next, own, begun } = seen[0]!;
  const behind = seen.filter((one) => !one.all_sealed);
  const late = await writeBlocks(tx, 'late', behind.map(idOf), now, most, begun);
  for (const id of late.keys()) steps.set(id, { made: true, looked: false, left: true });
  const whole = seen.filter((one) => !late.has(one.organisation_id));
  const known = new Set(looked);
  const toMark = whole.map(idOf).filter((id) => !known.has(id));
  const before = tx.distributed === true ? new Date(nowMs - onTheirWayMs) : 'infinity';
  if (toMark.length > 0) await tx.query(mark, [toMark, oldest, next, own, before]);
  const ready = whole.filter(({ waiting }) => waiting > 0 && (alone || waiting < most));
  const made = await writeBlocks(tx, 'next', ready.map(idOf), now, most, begun);
  for (const { organisation_id: id, waiting } of whole) {
    const rows = made.get(id) ?? 0;
    steps.set(id, { made: rows > 0, looked: true, left: waiting > rows || waiting === most });
  }
  if (steps.get(0)?.made === false) {
    const closed = new Date(nowMs - 2 * 60_000);
    const counted = (await tx.query(sealCounts, [chain.blocks, chain.hash, closed, now])).length > 0;
    steps.set(0, { made: counted, looked: true, left: counted });
  } else if (steps.has(0)) steps.get(0)!.left = true;
  return steps;
}

/**
 * Seals what these organisations have that isn't sealed, block after block.
 * @param state who is still to be done, for whoever goes on after a failure, and who has to be sealed alone
 * @returns how many blocks it made
 */
async function sealRest(app: App, state: { pending: number[]; alone: number[] }, sealing: Sealing): Promise<number> {
  const looked = new Set<number>();
  let made = 0;
  while (state.pending.length > 0 && sealing.signal?.aborted !== true) {
    const ids = state.pending;
    const known = ids.filter((id) => looked.has(id));
    const steps = await app.db.transaction((tx) => sealBlocks(app, tx, ids, known, sealing));
    state.pending = [];
    for (const [id, step] of steps) {
      if (step.looked) looked.add(id);
      if (step.made) {
        made++;
        auditSealed.count();
      }
      if (step.left) (step.made ? state.pending : state.alone).push(id);
    }
  }
  return made;
}

/** Seals what an organisation has that isn't sealed. @returns how many blocks it made */
export async function sealOrganisation(app: App, organisationId: number, options: Sealing = {}): Promise<number> {
  await beginChains(app.db, [organisationId]);
  return sealRest(app, { pending: [organisationId], alone: [] }, options);
}

/** Seals organisations of one node; where their transaction fails, each half by itself, so that those only stay behind that fail. */
async function sealTogether(app: App, organisationIds: number[], signal?: AbortSignal): Promise<void> {
  const state = { pending: organisationIds, alone: [] as number[] };
  try {
    await sealRest(app, state, { signal });
  } catch (error) {
    if (signal?.aborted === true) return;
    if (isOutage(error)) throw error;
    const { pending } = state;
    if (pending.length === 1)
      app.log.error('audit.not_sealed', { organisation_id: pending[0]!, ...errorFields(error) });
    else
      for (const half of [pending.slice(0, pending.length / 2), pending.slice(pending.length / 2)])
        await sealTogether(app, half, signal);
  }
  for (const id of state.alone) await sealTogether(app, [id], signal);
}

// An organisation is looked at again until no row can turn up below what is sealed.
const waiting = statement(
  'audit.waiting',
  `
  select o.organisation_id, c.organisation_id is null as fresh, 0 as shard
    from (select organisation_id from organisation union all select 0) o
    left join audit_chain c on c.organisation_id = o.organisation_id
    left join lateral (
      select at from audit a where a.organisation_id = o.organisation_id and a.audit_id > coalesce(c.sealed_id, 0)
       order by a.audit_id limit 1) a on true
   where c.floor_id < c.sealed_id or a.at not between $1 and $2
      or (o.organisation_id = 0 and exists (select from refused_calls where calls > sealed_calls and address <> '' and minute <= $1))
   order by 1`,
);

// The same on several nodes, of those whose log has been sealed before; the others, and what belongs to no organisation, are just tried.
const waitingAnywhere = statement(
  'audit.waiting_anywhere',
  `
  select c.organisation_id from audit_chain c
   where c.floor_id < c.sealed_id
      or exists (select from (select a.at from audit a where a.organisation_id = c.organisation_id and a.audit_id > c.sealed_id
                               order by a.audit_id limit 1) a
                  where a.at not between $1 and $2)`,
);
const chained = statement('audit.chained', 'select organisation_id from audit_chain');
const everyOrganisation = statement('audit.every_organisation', 'select organisation_id from organisation');
// Not prepared: only a cluster knows the function.
const shardsOf = `
  select organisation_id, organisation_id = any($2) as fresh, get_shard_id_for_distribution_column('audit_chain', organisation_id) as shard
    from unnest($1::int8[]) as organisation_id`;

/** `fresh`: its log has never been sealed; `shard`: those of one are on one node. */
type Waiting = { organisation_id: number; fresh: boolean; shard: number };

async function whoWaits(tx: Tx, from: Date, to: Date): Promise<Waiting[]> {
  if (tx.distributed !== true) return tx.query<Waiting>(waiting, [from, to]);
  const ids = async (sql: Statement, values: unknown[] = []) => (await tx.query<Waiting>(sql, values)).map(idOf);
  const known = new Set(await ids(chained));
  const fresh = [0, ...(await ids(everyOrganisation))].filter((id) => !known.has(id));
  const found = await ids(waitingAnywhere, [from, to]);
  return tx.query<Waiting>(shardsOf, [[...new Set([0, ...found, ...fresh])], fresh]);
}

/**
 * How old the first row that isn't sealed has to be: what came later goes into the same block. A clock that was ahead
 * is no reason to wait.
 */
const youngMs = limits.auditBlockMs / 2;

/**
 * A round of every process's housekeeping; an organisation that another process is at is passed over. Where a node is away the
 * others' organisations are sealed all the same.
 */
export async function sealAudit(app: App, signal?: AbortSignal): Promise<void> {
  const nowMs = app.clock.nowMs();
  const waits = await whoWaits(app.db, new Date(nowMs - youngMs), new Date(nowMs + youngMs));
  const together = Map.groupBy(waits, ({ organisation_id: id, shard }) => (id === 0 ? 'nobody' : shard));
  const failed: unknown[] = [];
  for (const some of together.values()) {
    try {
      for (let from = 0; from < some.length && signal?.aborted !== true; from += limits.auditSealedTogether) {
        const set = some.slice(from, from + limits.auditSealedTogether);
        const fresh = set.filter((one) => one.fresh);
        if (fresh.length > 0) await beginChains(app.db, fresh.map(idOf));
        await sealTogether(app, set.map(idOf), signal);
      }
    } catch (error) {
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}
