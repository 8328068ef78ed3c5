import type { Dedicated } from '../db/database.ts';
import { DatabaseUnavailable, statement } from '../db/database.ts';

/** What one attempt did to its delivery. */
export type Outcome = {
  organisationId: number; deliveryId: string;
  /** Attempts before this one: the result is written once, whoever writes it again. */
  attemptsBefore: number;
  status: 'pending' | 'succeeded' | 'dead';
  /** Null unless it is pending. */
  nextAttemptAt: Date | null;
  at: Date; endedAt: Date; statusCode: number | null; durationMs: number; error: string | null;
};

const record = statement('outcome.record', `
  with outcome as materialized (
    select * from unnest($1::int8[], $2::uuid[], $3::int4[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[], $8::int2[], $9::int4[], $10::text[])
      as o(organisation_id, delivery_id, before, status, next_attempt_at, at, ended_at, status_code, duration_ms, error)),
  moved as (
    update delivery d set status = o.status, attempts = o.before + 1, next_attempt_at = o.next_attempt_at,
           finished_at = case when o.status <> 'pending' then o.ended_at end
      from outcome o
     where d.organisation_id = o.organisation_id and d.delivery_id = o.delivery_id and d.attempts = o.before and d.status = 'pending'
    returning d.organisation_id, d.delivery_id, d.attempts),
  listed as (
    insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error)
    select organisation_id, delivery_id, m.attempts, o.at, o.status_code, o.duration_ms, o.error
      from moved m join outcome o using (organisation_id, delivery_id)
    returning 1)
  select (select count(*) from listed) as written,
         (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::text as reached, (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::text as durable`);

const mostInBatch = 500;
const retryMs = 250;

export type Recording = {
  /** The statement has left for the database, which carries it out even if this process is killed now. */
  sent: Promise<void>;
  /** The database has the outcome; waits as long as the database is away. */
  written: Promise<void>;
};

export type Recorder = {
  record(outcome: Outcome): Recording;
  /** The database may have restarted: writes again what it may have forgotten. Nothing may be claimed or read before. */
  recover(): Promise<void>;
  /** Gives up on what the database won't take. */
  stop(): void;
};

type Entry = { outcome: Outcome; sent(): void; written(): void; failed(error: unknown): void };
/** `reached` is where the log ended after the batch, known from the statement behind it. */
type Batch = { entries: Entry[]; answered: boolean; reached: bigint | null };

/**
 * Writes outcomes in batches that grow with the load. The connection commits without waiting for the disk, which alone
 * would take most of a delivery's time: a worker that is killed loses nothing by that, because the database has the commit.
 * When the database itself crashes, it may forget its last fractions of a second; so outcomes are kept here until the log
 * is known to be on disk beyond them, and are written again after a restart. Writing one twice changes nothing.
 */
export function createRecorder(connection: Dedicated): Recorder {
  const waiting: Entry[] = [];
  // In the order in which they were sent: a delivery's second outcome follows its first.
  let kept: Batch[] = [];
  let writing = false;
  let recovering: Promise<void> | null = null;
  let stopped = false;

  async function write(batch: Batch): Promise<void> {
    const column = <T>(of: (outcome: Outcome) => T): T[] => batch.entries.map((entry) => of(entry.outcome));
    const [row] = await connection.query<{ written: number; reached: string; durable: string }>(record, [
      column((o) => o.organisationId), column((o) => o.deliveryId), column((o) => o.attemptsBefore), column((o) => o.status),
      column((o) => o.nextAttemptAt), column((o) => o.at), column((o) => o.endedAt), column((o) => o.statusCode),
      column((o) => o.durationMs), column((o) => o.error)]);
    // A statement sees the log's end before its own commit, so it bounds the batches before it.
    const [reached, durable] = [BigInt(row!.reached), BigInt(row!.durable)];
    for (const earlier of kept) if (earlier.answered) earlier.reached ??= reached;
    kept = kept.filter((earlier) => earlier.reached === null || earlier.reached > durable);
    batch.answered = true;
    for (const entry of batch.entries) entry.written();
  }

  function giveUp(batch: Batch, error: unknown): void {
    kept = kept.filter((other) => other !== batch);
    for (const entry of batch.entries) entry.failed(error);
  }

  // One statement at a time: PostgreSQL finishes the one that it has begun when its client is killed, and drops those behind it.
  function pump(): void {
    if (writing || recovering !== null || stopped || waiting.length === 0) return;
    const batch: Batch = { entries: waiting.splice(0, mostInBatch), answered: false, reached: null };
    kept.push(batch);
    writing = true;
    write(batch).catch((error: unknown) => {
      if (stopped || !(error instanceof DatabaseUnavailable)) giveUp(batch, error);
      else void recover();
    }).finally(() => {
      writing = false;
      pump();
    });
    setImmediate(() => { for (const entry of batch.entries) entry.sent(); });
  }

  async function rewrite(): Promise<void> {
    for (;;) {
      const again = kept.map((batch) => ({ ...batch, answered: false, reached: null }));
      kept = again.slice();
      try {
        for (const batch of again) await write(batch);
        return;
      } catch (error) {
        if (stopped || !(error instanceof DatabaseUnavailable)) {
          for (const batch of again) giveUp(batch, error);
          return;
        }
        await new Promise((resolve) => { setTimeout(resolve, retryMs); });
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
      const sent = Promise.withResolvers<void>();
      const written = Promise.withResolvers<void>();
      waiting.push({ outcome, sent: sent.resolve, written: written.resolve, failed: (error) => { sent.resolve(); written.reject(error); } });
      // What arrived in this turn of the event loop goes together.
      if (waiting.length === 1) setImmediate(pump);
      return { sent: sent.promise, written: written.promise };
    },
    recover,
    stop() {
      stopped = true;
      for (const entry of waiting.splice(0)) entry.failed(new DatabaseUnavailable(null));
    },
  };
}
