import { arrayLiteral, joinedTexts, joinedTextsOf } from '../db/arrays.ts';
import type { Dedicated } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import type { EndpointNews } from './health.ts';
import { followHealth, sentElsewhere } from './health.ts';

/** What one attempt did to its delivery. */
export type Outcome = {
  organisationId: number;
  endpointId: string;
  deliveryId: string;
  /** Attempts before this one: the result is written once, whoever writes it again. */
  attemptsBefore: number;
  /** As the attempt found it; another value now means that the delivery was to be sent again while the attempt was under way. */
  resentAfter: number;
  status: 'pending' | 'succeeded' | 'dead';
  /** Null unless it is pending. */
  nextAttemptMs: number | null;
  atMs: number;
  endedMs: number;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** Address and signatures, as sent.ts keeps them. */
  sent: string | null;
};

// A failure must not put off or end what was to be sent again in the meantime, nor bring back what was cancelled.
const sentAgain = `(o.status <> 'succeeded' and d.resent_after <> o.resent_after)`;
const cancelled = `(o.status <> 'succeeded' and d.status = 'cancelled')`;
// What the address of before answers doesn't speak for the one that replaced it: the delivery is due there at once.
const elsewhere = `(o.status <> 'succeeded' and ${sentElsewhere})`;

// The endpoint's lease keeps other workers away: Citus can't lock rows that it finds by what a statement has put aside.
const healthOfOne = followHealth
  .replace(' for update of w', '')
  .replaceAll(/w\.organisation_id = [ft]\.organisation_id/g, 'w.organisation_id = $14');

// "Not in": status = 'pending' would let the planner search the index of what is due, whose organisation's part grows with the backlog.
const recorded = (where: 'anybody' | 'one') => `
  with outcome as materialized (
    select ${where === 'one' ? '$14::int8 as organisation_id' : 'organisation_id'}, delivery_id, before, resent_after, status, to_timestamp(next_ms / 1000) as next_attempt_at, to_timestamp(at_ms / 1000) as at,
           to_timestamp(ended_ms / 1000) as ended_at, status_code, duration_ms, error, sent,
           (select w.url from webhook_endpoint w where w.organisation_id = ${where === 'one' ? '$14' : 'o.organisation_id'} and w.endpoint_id = o.endpoint_id) as url
      from unnest($1::int8[], $2::uuid[], $3::int4[], $4::int4[], $5::text[], $6::float8[], $7::float8[], $8::float8[], $9::int2[], $10::int4[], ${joinedTextsOf('$11', 'emptyAsNull')},
             ${joinedTextsOf('$12', 'emptyAsNull')}, $13::uuid[])
        as o(organisation_id, delivery_id, before, resent_after, status, next_ms, at_ms, ended_ms, status_code, duration_ms, error, sent, endpoint_id)
     order by delivery_id),
  moved as (
    update delivery d set attempts = o.before + 1,
           status = case when ${cancelled} then 'cancelled' when ${sentAgain} or ${elsewhere} then 'pending' else o.status end,
           next_attempt_at = case when ${cancelled} then null when ${sentAgain} then d.next_attempt_at when ${elsewhere} then o.ended_at else o.next_attempt_at end,
           finished_at = case when ${cancelled} then d.finished_at when o.status <> 'pending' and not ${sentAgain} and not ${elsewhere} then o.ended_at end
      from outcome o
     where d.organisation_id = ${where === 'one' ? '$14' : 'o.organisation_id'} and d.delivery_id = o.delivery_id and d.attempts = o.before and d.status not in ('succeeded', 'dead')
    returning d.organisation_id, d.delivery_id, d.endpoint_id, d.attempts, d.status, d.next_attempt_at),
  listed as (
    insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error, sent)
    select organisation_id, delivery_id, m.attempts, o.at, o.status_code, o.duration_ms, o.error, o.sent
      from moved m join outcome o using (organisation_id, delivery_id)
    returning 1),
  ${where === 'one' ? healthOfOne : followHealth}
  select (select count(*) from listed) as written, (select n.all from news n) as news,
         (select json_object_agg(m.delivery_id, m.status) from moved m join outcome o using (organisation_id, delivery_id)
           where m.status <> o.status or m.next_attempt_at <> o.next_attempt_at) as otherwise,
         (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text as reached, (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::text as durable, pg_backend_pid() as backend`;
const record = statement('outcome.record', recorded('anybody'));
const recordWhere = statement('outcome.record_where_it_is', recorded('one'));

// Nearly every batch is this: all of them succeeded, at endpoints that weren't failing, so that nothing is put off and how the
// endpoints fare stays as it is. Where one was failing it writes nothing (docs/decisions/0121).
const recordSuccesses = statement(
  'outcome.record_successes',
  `
  with calm as materialized (
    select not exists (select from webhook_endpoint w
                        where w.organisation_id = any($1::int8[]) and w.endpoint_id = any($2::uuid[]) and w.failing_since is not null) as so),
  outcome as materialized (
    select organisation_id, delivery_id, before, to_timestamp(at_ms / 1000) as at, to_timestamp(ended_ms / 1000) as ended_at, status_code, duration_ms, sent
      from unnest($1::int8[], $3::uuid[], $4::int4[], $5::float8[], $6::float8[], $7::int2[], $8::int4[], ${joinedTextsOf('$9', 'emptyAsNull')})
        as o(organisation_id, delivery_id, before, at_ms, ended_ms, status_code, duration_ms, sent)
     where (select so from calm) order by delivery_id),
  moved as (
    update delivery d set attempts = o.before + 1, status = 'succeeded', next_attempt_at = null, finished_at = o.ended_at
      from outcome o
     where d.organisation_id = o.organisation_id and d.delivery_id = o.delivery_id and d.attempts = o.before and d.status not in ('succeeded', 'dead')
    returning d.organisation_id, d.delivery_id, d.attempts, o.at, o.status_code, o.duration_ms, o.sent),
  listed as (
    insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, sent)
    select organisation_id, delivery_id, attempts, at, status_code, duration_ms, sent from moved)
  select (select so from calm) as calm, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text as reached, (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::text as durable, pg_backend_pid() as backend`,
);

const mostInBatch = 500;
/** A statement costs the worker as much as a delivery does, so fewer outcomes than three quarters of what the worker's gate lets through wait for company. */
const worthwhile = 0.75;
/** For so long, for each eight that the gate lets through. */
const gatherMs = 1;
const retryMs = 250;

/**
 * A deadlock is one too, whoever sends a range again locks many deliveries at once; and so are a full disk and what else
 * PostgreSQL lacks (classes 53 and 58): what was sent and not written would be sent again and again.
 */
const passes = (error: unknown) =>
  error instanceof DatabaseUnavailable || /^(?:40P01|53|58)/.test((error as { code?: string } | null)?.code ?? '');

type Kept = {
  /** One of an endpoint's attempts brings its news. */
  news: EndpointNews | null;
  /** What the delivery became, where that isn't what the attempt made of it: something happened to it meanwhile. */
  otherwise: 'pending' | 'cancelled' | null;
};

export type Recording = {
  /** The statement has left for the database, which carries it out even if this process is killed now. */
  sent: Promise<void>;
  /** The database has the outcome; waits as long as the database is away. */
  written: Promise<Kept>;
};

export type Recorder = {
  record(outcome: Outcome): Recording;
  /** The database may have restarted: writes again what it may have forgotten. Nothing may be claimed or read before. */
  recover(): Promise<void>;
  /** Gives up on what the database won't take. */
  stop(): void;
};

type Entry = { outcome: Outcome; sent(): void; written(kept: Kept): void; failed(error: unknown): void };
type Told = { news: EndpointNews[] | null; otherwise: Record<string, 'pending' | 'cancelled'> | null };
/** `backend` has answered it; `reached` is where the log ended after the batch, known from the statement behind it. */
type Batch = { entries: Entry[]; backend: number | null; reached: bigint | null; told: Told };

type Of = (outcome: Outcome) => string | number | null;
const arrayOf = (entries: Entry[]) => (of: Of) => arrayLiteral(entries.map(({ outcome }) => of(outcome)));

/** Errors, and what was sent, travel joined by a control character, which none of them holds. */
function values(entries: Entry[]): string[] {
  const array = arrayOf(entries);
  return [
    array((o) => o.organisationId),
    array((o) => o.deliveryId),
    array((o) => o.attemptsBefore),
    array((o) => o.resentAfter),
    array((o) => o.status),
    array((o) => o.nextAttemptMs),
    array((o) => o.atMs),
    array((o) => o.endedMs),
    array((o) => o.statusCode),
    array((o) => o.durationMs),
    joinedTexts(entries.map(({ outcome }) => outcome.error ?? '')),
    joinedTexts(entries.map(({ outcome }) => outcome.sent ?? '')),
    array((o) => o.endpointId),
  ];
}

function valuesOfSuccesses(entries: Entry[]): string[] {
  const array = arrayOf(entries);
  return [
    array((o) => o.organisationId),
    arrayLiteral([...new Set(entries.map(({ outcome }) => outcome.endpointId))]),
    array((o) => o.deliveryId),
    array((o) => o.attemptsBefore),
    array((o) => o.atMs),
    array((o) => o.endedMs),
    array((o) => o.statusCode),
    array((o) => o.durationMs),
    joinedTexts(entries.map(({ outcome }) => outcome.sent ?? '')),
  ];
}

/** Where the log ended while the statement ran, up to where it was on disk, and which process of PostgreSQL says so. */
type Log = { reached: string; durable: string; backend: number };
type Written = Log & Told;
type WrittenSuccesses = Log & { calm: boolean };

/** Records a batch by the statement that does for it. */
async function recordBatch(connection: Dedicated, entries: Entry[]): Promise<Written> {
  if (entries.every(({ outcome }) => outcome.status === 'succeeded')) {
    const [row] = await connection.query<WrittenSuccesses>(recordSuccesses, valuesOfSuccesses(entries));
    if (row!.calm) return { ...row!, news: null, otherwise: null };
  }
  const [row] = await connection.query<Written>(record, values(entries));
  return row!;
}

/** One of an endpoint's attempts brings its news. */
function tell(entries: Entry[], told: Told): void {
  const news = new Map(told.news?.map((one) => [one.endpoint_id, one]));
  for (const entry of entries) {
    const { endpointId, deliveryId } = entry.outcome;
    entry.written({ news: news.get(endpointId) ?? null, otherwise: told.otherwise?.[deliveryId] ?? null });
    news.delete(endpointId);
  }
}

/**
 * What was sent to the database and may not be on its disk yet, in the order in which it was sent: a delivery's second
 * outcome follows its first.
 */
function createKept(connection: Dedicated) {
  let kept: Batch[] = [];

  /** Writes a batch, and forgets those that the log on disk is beyond. */
  async function write(batch: Batch): Promise<void> {
    const written = await recordBatch(connection, batch.entries);
    // It tells of what it changes, and written again it changes nothing.
    batch.told = {
      news: [...(batch.told.news ?? []), ...(written.news ?? [])],
      otherwise: { ...batch.told.otherwise, ...written.otherwise },
    };
    // In a crash all processes end, and the log may begin again below what another one has said.
    if (kept.some(({ backend }) => backend !== null && backend !== written.backend))
      throw new DatabaseUnavailable(null);
    // A statement sees the log's end before its own commit, so it bounds the batches before it.
    const [reached, durable] = [BigInt(written.reached), BigInt(written.durable)];
    for (const earlier of kept) if (earlier.backend !== null) earlier.reached ??= reached;
    kept = kept.filter((earlier) => earlier.reached === null || earlier.reached > durable);
    batch.backend = written.backend;
    tell(batch.entries, batch.told);
  }

  /** The same on several nodes, each of which has it on its disk when it answers (openDatabase). */
  async function writeWhere(batch: Batch): Promise<void> {
    for (const [id, entries] of Map.groupBy(batch.entries, ({ outcome }) => outcome.organisationId)) {
      const [row] = await connection.query<Written>(recordWhere, [...values(entries), id]);
      tell(entries, row!);
    }
    kept = kept.filter((other) => other !== batch);
  }

  return {
    write: connection.distributed === true ? writeWhere : write,
    begin(entries: Entry[]): Batch {
      const batch: Batch = { entries, backend: null, reached: null, told: { news: null, otherwise: null } };
      kept.push(batch);
      return batch;
    },
    giveUp(batch: Batch, error: unknown): void {
      kept = kept.filter((other) => other !== batch);
      for (const entry of batch.entries) entry.failed(error);
    },
    /** Writes everything again. What fails leaves everything to the next time. */
    async writeAgain(): Promise<void> {
      const again = kept.map((batch) => ({ ...batch, backend: null, reached: null }));
      kept = again.slice();
      for (const batch of again) await this.write(batch);
    },
    giveUpAll(error: unknown): void {
      for (const batch of kept) for (const entry of batch.entries) entry.failed(error);
      kept = [];
    },
  };
}

/** An outcome that waits to be written, and what its writer is told. */
function enter(outcome: Outcome): { entry: Entry; recording: Recording } {
  const sent = Promise.withResolvers<void>();
  const written = Promise.withResolvers<Kept>();
  const failed = (error: unknown) => {
    sent.resolve();
    written.reject(error);
  };
  return {
    entry: { outcome, sent: sent.resolve, written: written.resolve, failed },
    recording: { sent: sent.promise, written: written.promise },
  };
}

/**
 * Writes outcomes in batches that grow with the load. The connection commits without waiting for the disk, which alone
 * would take most of a delivery's time: a worker that is killed loses nothing by that, because the database has the commit.
 * When the database itself crashes, it may forget its last fractions of a second; so outcomes are kept here until the log
 * is known to be on disk beyond them, and are written again after a restart. Writing one twice changes nothing.
 * @param atOnce outcomes that can wait here at a time
 */
export function createRecorder(connection: Dedicated, atOnce: () => number = () => 8): Recorder {
  const waiting: Entry[] = [];
  let gathering: NodeJS.Timeout | null = null;
  const kept = createKept(connection);
  let leaving = false;
  let writing = false;
  let recovering: Promise<void> | null = null;
  let stopped = false;

  /** Lets a batch leave once it is large enough, or has waited. */
  function gather(): void {
    if (writing || leaving || waiting.length === 0) return;
    if (waiting.length >= worthwhile * atOnce()) {
      leaving = true;
      setImmediate(pump);
    } else gathering ??= setTimeout(pump, (gatherMs * atOnce()) / 8);
  }

  // One statement at a time: PostgreSQL finishes the one that it has begun when its client is killed, and drops those behind it.
  function pump(): void {
    leaving = false;
    if (gathering !== null) clearTimeout(gathering);
    gathering = null;
    if (writing || recovering !== null || stopped || waiting.length === 0) return;
    const batch = kept.begin(waiting.splice(0, mostInBatch));
    writing = true;
    kept
      .write(batch)
      .catch((error: unknown) => {
        if (stopped || !passes(error)) kept.giveUp(batch, error);
        else void recover();
      })
      .finally(() => {
        writing = false;
        gather();
      });
    setImmediate(() => {
      for (const entry of batch.entries) entry.sent();
    });
  }

  async function rewrite(): Promise<void> {
    for (;;) {
      try {
        return await kept.writeAgain();
      } catch (error) {
        if (stopped || !passes(error)) return kept.giveUpAll(error);
        await new Promise((resolve) => {
          setTimeout(resolve, retryMs);
        });
      }
    }
  }

  function recover(): Promise<void> {
    recovering ??= rewrite().finally(() => {
      recovering = null;
      pump();
    });
    return recovering;
  }

  return {
    record(outcome) {
      const { entry, recording } = enter(outcome);
      waiting.push(entry);
      gather();
      return recording;
    },
    recover,
    stop() {
      stopped = true;
      for (const entry of waiting.splice(0)) entry.failed(new DatabaseUnavailable(null));
    },
  };
}
