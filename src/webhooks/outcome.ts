import type { Dedicated } from '../db/database.ts';
import { DatabaseUnavailable, statement } from '../db/database.ts';
import { batcher } from '../db/batcher.ts';

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

export type Recorder = {
  /** Resolves once the database has the outcome; waits as long as the database is away. */
  record(outcome: Outcome): Promise<void>;
  /** The database may have restarted: writes again what it may have forgotten. Nothing may be claimed or read before. */
  recover(): Promise<void>;
  /** Gives up on what the database won't take. */
  stop(): void;
};

/**
 * Writes outcomes in batches that grow with the load. The connection commits without waiting for the disk, which alone
 * would take most of a delivery's time: a worker that is killed loses nothing by that, because the database has the commit.
 * When the database itself crashes, it may forget its last fractions of a second; so outcomes are kept here until the log
 * is known to be on disk beyond them, and are written again after a restart. Writing one twice changes nothing.
 */
export function createRecorder(connection: Dedicated): Recorder {
  type Kept = { outcomes: Outcome[]; reached: bigint | null };
  let kept: Kept[] = [];
  let forgotten = false;
  let stopped = false;

  async function write(outcomes: Outcome[]): Promise<void> {
    const column = <T>(of: (outcome: Outcome) => T): T[] => outcomes.map(of);
    const [row] = await connection.query<{ written: number; reached: string; durable: string }>(record, [
      column((o) => o.organisationId), column((o) => o.deliveryId), column((o) => o.attemptsBefore), column((o) => o.status),
      column((o) => o.nextAttemptAt), column((o) => o.at), column((o) => o.endedAt), column((o) => o.statusCode),
      column((o) => o.durationMs), column((o) => o.error)]);
    // A statement sees the log's end before its own commit, so it bounds the batches before it.
    const reached = BigInt(row!.reached);
    const durable = BigInt(row!.durable);
    for (const batch of kept) batch.reached ??= reached;
    kept = kept.filter((batch) => batch.reached! > durable);
    kept.push({ outcomes, reached: null });
  }

  async function persist(outcomes: Outcome[]): Promise<void> {
    for (;;) {
      try {
        if (forgotten) {
          // In the order in which they were made: a delivery's second outcome follows its first.
          const again = kept;
          kept = [];
          forgotten = false;
          for (const [i, batch] of again.entries()) {
            await write(batch.outcomes).catch((error: unknown) => { kept.push(...again.slice(i)); throw error; });
          }
        }
        if (outcomes.length > 0) await write(outcomes);
        return;
      } catch (error) {
        if (stopped || !(error instanceof DatabaseUnavailable)) throw error;
        forgotten = true;
        await new Promise((resolve) => { setTimeout(resolve, retryMs); });
      }
    }
  }

  const join = batcher<Outcome | null, void>(async (outcomes) => {
    await persist(outcomes.filter((outcome) => outcome !== null));
    return new Array<void>(outcomes.length).fill(undefined);
  }, mostInBatch);
  return {
    record: (outcome) => join(outcome),
    recover: () => { forgotten = true; return join(null); },
    stop: () => { stopped = true; },
  };
}
