import type { App } from '../app.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
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

type Chain = {
  blocks: number;
  hash: Buffer;
  sealed_id: number;
  mark_id: number;
  mark_block: number;
  mark_xid: number;
  floor_id: number;
  floor_block: number;
};

const chainOf = statement(
  'audit.chain_of',
  `
  select exists (select from audit_chain where organisation_id = $1) as begun,
         $1::int8 = 0 or exists (select from audit where organisation_id = $1) as logged`,
);
const begin = statement(
  'audit.chain_begin',
  'insert into audit_chain (organisation_id) values ($1) on conflict do nothing',
);
// By itself, so that what is read next sees what the sealer before has committed.
const lock = statement(
  'audit.chain_lock',
  `select blocks, hash, sealed_id, mark_id, mark_block, mark_xid, floor_id, floor_block from audit_chain
    where organisation_id = $1 for update skip locked`,
);

/**
 * Whether the blocks since the floor hold all rows since the floor, late ones of before it not counted; which transactions had
 * ended by then; and this one, which began after all that drew a number below what is sealed.
 */
const look = statement(
  'audit.look_for_late',
  `
  select (select count(*) from audit where organisation_id = $1 and audit_id > $2 and audit_id <= $4)
         = (select coalesce(sum(case when ids[1] > $2 then rows else (select count(*) from unnest(ids) as i where i > $2) end), 0)
              from audit_block where organisation_id = $1 and number > $3) as all_sealed,
         pg_snapshot_xmin(pg_current_snapshot())::text::int8 as oldest, pg_snapshot_xmax(pg_current_snapshot())::text::int8 as next,
         pg_current_xact_id()::text::int8 as own`,
);

const mark = statement(
  'audit.chain_mark',
  `
  update audit_chain set floor_id = $2, floor_block = $3, mark_id = $4, mark_block = $5, mark_xid = $6 where organisation_id = $1`,
);

const late = `not exists (select from (select unnest(ids) as id from audit_block where organisation_id = $1 and number > $8) s where s.id = r.audit_id)`;

/**
 * Seals the first rows of a range of numbers, as many as fit into one block.
 * $1 organisation, $2 and $3 the range, $4 number and $5 hash of the block before, $6 now, $7 most rows, $8 floor's
 * block.
 */
const seal = (which: 'next' | 'late') => `
  with found as materialized (
    select r.* from audit r
     where r.organisation_id = $1 and r.audit_id > $2 and r.audit_id <= $3 ${which === 'late' ? `and ${late}` : 'and $8::int8 is not null'}
     order by r.audit_id limit $7),
  spread as (
    select audit_id, min(at) over w as first_at, max(at) over w as last_at from found
    window w as (order by audit_id rows unbounded preceding)),
  -- What was written before there was sealing needn't be in blocks of a minute.
  fitting as (
    select spread.audit_id from spread cross join audit_begun b
     where date_trunc('month', first_at, 'UTC') = date_trunc('month', last_at, 'UTC')
       and (spread.audit_id <= b.audit_id or last_at - first_at <= interval '${limits.auditBlockMs} milliseconds')),
  chosen as materialized (
    select f.* from found f where f.audit_id <= (select max(audit_id) from fitting)),
  block as (
    insert into audit_block (organisation_id, number, sealed_at, first_at, last_at, rows, ids, hash)
    select $1, $4::int8 + 1, $6, min(at), max(at), count(*), array_agg(audit_id order by audit_id),
           ${hashOf('$5::bytea', '$4::int8 + 1', 'count(*)', `string_agg(${lineOf}, '' order by audit_id)`)}
      from chosen having count(*) > 0
    returning rows, ids[rows] as last_id, hash, first_at),
  counted as (
    insert into audit_hour as h (organisation_id, hour, actor, action, status, code, calls, last_at, lowest_id, highest_id, pages, first_position, last_position)
    select $1, date_trunc('hour', at, 'UTC'), actor, action, coalesce(status, 0),
           case when status >= 400 then coalesce(substring(detail from '"code":"([a-z_]+)"'), '') else '' end as code,
           count(*), max(at), min(audit_id), max(audit_id), count(first), min(first), max(last)
      from (select c.*, case when status = 200 then substring(detail from '"first":(\\d+)')::int8 end as first,
                        case when status = 200 then substring(detail from '"last":(\\d+)')::int8 end as last from chosen c) c
     group by 2, 3, 4, 5, 6
    on conflict (organisation_id, hour, actor, action, status, code) do update
       set calls = h.calls + excluded.calls, last_at = greatest(h.last_at, excluded.last_at),
           lowest_id = least(h.lowest_id, excluded.lowest_id), highest_id = greatest(h.highest_id, excluded.highest_id),
           pages = h.pages + excluded.pages,
           first_position = least(h.first_position, excluded.first_position), last_position = greatest(h.last_position, excluded.last_position)),
  moved as (
    update audit_chain c set blocks = c.blocks + 1, hash = b.hash, sealed_id = greatest(c.sealed_id, b.last_id)
      from block b where c.organisation_id = $1)
  select rows, count > rows or count = $7 as left from block, (select count(*) as count from found) f`;
const sealNext = statement('audit.seal_next', seal('next'));
const sealLate = statement('audit.seal_late', seal('late'));

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

/** Higher than any number of a row. */
const everything = Number.MAX_SAFE_INTEGER;

type Block = { rows: number; left: boolean };

type Sealing = { signal?: AbortSignal | undefined; mostRows?: number };

/** `looked`: nothing below what is sealed is missing in blocks; `left`: there is more to seal. */
type Step = { made: boolean; looked: boolean; left: boolean };

async function lockChain(tx: Tx, organisationId: number): Promise<Chain | undefined> {
  const [chain] = await tx.query<Chain>(lock, [organisationId]);
  if (chain !== undefined) return chain;
  const [found] = await tx.query<{ begun: boolean; logged: boolean }>(chainOf, [organisationId]);
  // Another process is at it: to insert would be to wait for its end. Or there is nothing of it, as when the organisation was deleted meanwhile.
  if (found!.begun || !found!.logged) return undefined;
  await tx.query(begin, [organisationId]);
  return (await tx.query<Chain>(lock, [organisationId]))[0];
}

/** One block of an organisation, inside a transaction: whoever is killed in it leaves whole blocks behind. */
async function sealBlock(
  app: App,
  tx: Tx,
  organisationId: number,
  looked: boolean,
  { signal, mostRows = limits.auditBlockRows }: Sealing,
): Promise<Step> {
  const chain = await lockChain(tx, organisationId);
  if (chain === undefined) return { made: false, looked, left: false };
  const { blocks, hash, sealed_id: sealedId, floor_id: floorId, floor_block: floorBlock } = chain;
  const now = new Date(app.clock.nowMs());
  const values = (from: number, to: number) => [organisationId, from, to, blocks, hash, now, mostRows, floorBlock];
  if (!looked) {
    type Seen = { all_sealed: boolean; oldest: number; next: number; own: number };
    const [seen] = await tx.query<Seen>(look, [organisationId, floorId, floorBlock, sealedId]);
    signal?.throwIfAborted();
    if (!seen!.all_sealed) {
      const found = await tx.query(sealLate, values(floorId, sealedId));
      if (found.length > 0) return { made: true, looked: false, left: true };
    }
    // Transactions of another server than that of the mark, as after a restore, are all over.
    const over = seen!.oldest > chain.mark_xid || chain.mark_xid > seen!.next;
    await tx.query(mark, [
      organisationId,
      over ? chain.mark_id : floorId,
      over ? chain.mark_block : floorBlock,
      ...(over
        ? [sealedId, blocks, Math.max(seen!.own, seen!.next)]
        : [chain.mark_id, chain.mark_block, chain.mark_xid]),
    ]);
  }
  const [block] = await tx.query<Block>(sealNext, values(sealedId, everything));
  if (block !== undefined) return { made: true, looked: true, left: block.left || organisationId === 0 };
  if (organisationId !== 0) return { made: false, looked: true, left: false };
  const closed = new Date(app.clock.nowMs() - 2 * 60_000);
  const counted = (await tx.query(sealCounts, [blocks, hash, closed, now])).length > 0;
  return { made: counted, looked: true, left: counted };
}

/** Goes on after a step until nothing is left. @returns how many blocks it made, that step's included */
async function sealRest(app: App, organisationId: number, first: Step, sealing: Sealing): Promise<number> {
  let step = first;
  let made = 0;
  const count = () => {
    if (!step.made) return;
    made++;
    auditSealed.count();
  };
  count();
  while (step.left && sealing.signal?.aborted !== true) {
    const { looked } = step;
    step = await app.db.transaction((tx) => sealBlock(app, tx, organisationId, looked, sealing));
    count();
  }
  return made;
}

/** Seals what an organisation has that isn't sealed. @returns how many blocks it made */
export function sealOrganisation(app: App, organisationId: number, options: Sealing = {}): Promise<number> {
  return sealRest(app, organisationId, { made: false, looked: false, left: true }, options);
}

/** A block of each, in one transaction, their statements side by side on its connection. @returns one step each */
async function sealTogether(app: App, organisationIds: number[], signal?: AbortSignal): Promise<Step[]> {
  return app.db.transaction(async (tx) => {
    const steps = organisationIds.map((id) => sealBlock(app, tx, id, false, { signal }));
    // All of them, before the connection is given back.
    await Promise.allSettled(steps);
    return Promise.all(steps);
  });
}

// An organisation is looked at again until no row can turn up below what is sealed.
const waiting = statement(
  'audit.waiting',
  `
  select o.organisation_id from (select organisation_id from organisation union all select 0) o
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
  select organisation_id from audit_chain c
   where floor_id < sealed_id
      or exists (select from audit a where a.organisation_id = c.organisation_id and a.audit_id > c.sealed_id and a.at not between $1 and $2)`,
);
const chained = statement('audit.chained', 'select organisation_id from audit_chain');
const everyOrganisation = statement('audit.every_organisation', 'select organisation_id from organisation');

async function whoWaits(tx: Tx, from: Date, to: Date): Promise<number[]> {
  type Id = { organisation_id: number };
  const ids = (rows: Id[]) => rows.map((row) => row.organisation_id);
  if (tx.distributed !== true) return ids(await tx.query<Id>(waiting, [from, to]));
  const known = new Set(ids(await tx.query<Id>(chained)));
  const fresh = ids(await tx.query<Id>(everyOrganisation)).filter((id) => !known.has(id));
  return [...new Set([0, ...ids(await tx.query<Id>(waitingAnywhere, [from, to])), ...fresh])].sort((a, b) => a - b);
}

/**
 * How old the first row that isn't sealed has to be: what came later goes into the same block. A clock that was ahead
 * is no reason to wait.
 */
const youngMs = limits.auditBlockMs / 2;

/**
 * A round of every process's housekeeping; an organisation that another process is at is passed over. Several share a
 * transaction where all are on one node; if that one fails, each is sealed by itself.
 */
export async function sealAudit(app: App, signal?: AbortSignal): Promise<void> {
  const nowMs = app.clock.nowMs();
  const stopped = () => signal?.aborted === true;
  const waits = await whoWaits(app.db, new Date(nowMs - youngMs), new Date(nowMs + youngMs));
  const most = app.db.distributed === true ? 1 : limits.auditSealedTogether;
  for (let from = 0; from < waits.length; from += most) {
    if (stopped()) return;
    const ids = waits.slice(from, from + most);
    const steps = ids.length > 1 ? await sealTogether(app, ids, signal).catch(() => []) : [];
    for (const [i, organisationId] of ids.entries()) {
      if (stopped()) return;
      try {
        const step = steps[i];
        if (step === undefined) await sealOrganisation(app, organisationId, { signal });
        else await sealRest(app, organisationId, step, { signal });
      } catch (error) {
        app.log.error('audit.not_sealed', { organisation_id: organisationId, ...errorFields(error) });
      }
    }
  }
}
