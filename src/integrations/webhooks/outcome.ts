import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../platform/time/clock.ts';
import { arrayLiteral, joinedTexts, joinedTextsOf, uuidArray } from '../../platform/db/arrays.ts';
import { type Tx, statement } from '../../platform/db/database.ts';
import { DatabaseUnavailable } from '../../platform/db/connection/unavailable.ts';
import { type EndpointNews, followHealth } from './endpoints/health.ts';

export type Outcome = {
  organisationId: number;
  endpointId: string;
  deliveryId: string;
  /**
   * The number of earlier attempts. The number identifies the attempt, so writing its outcome twice changes nothing.
   */
  attemptsBefore: number;
  /**
   * The delivery's `resent_after` before the attempt. If the stored value differs, an operator has resent the delivery
   * during the attempt.
   */
  resentAfter: number;
  status: 'pending' | 'succeeded' | 'dead';
  nextAttemptMs: number | null;
  atMs: number;
  endedMs: number;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** The URL and the signatures (signing.ts). */
  sent: string | null;
};

// The planner would search the large index of due deliveries for `status = 'pending'`, so the condition is `not in`.
const isNotRecorded = `
     where d.organisation_id = o.organisation_id and d.delivery_id = o.delivery_id and d.attempts = o.before and d.status not in ('succeeded', 'dead')`;
const listed = `
  listed as (
    insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error, sent)
    select organisation_id, delivery_id, o.before + 1, o.at, o.status_code, o.duration_ms, o.error, o.sent
      from moved join outcome o using (organisation_id, delivery_id)
    returning delivery_id)`;

// Records successes of endpoints that are not failing, in half the database time of `record`, which records all other
// outcomes.
const recordSuccesses = statement('outcome.record_successes')`
  with outcome as materialized (
    select organisation_id, delivery_id, endpoint_id, before, to_timestamp(at / 1000) as at, to_timestamp(ended / 1000) as ended_at, status_code, duration_ms,
           null as error, sent
      from unnest($1::int8[], $2::uuid[], $3::uuid[], $4::int4[], $5::float8[], $6::float8[], $7::int2[], $8::int4[], ${joinedTextsOf('$9', 'emptyAsNull')})
        as o(organisation_id, delivery_id, endpoint_id, before, at, ended, status_code, duration_ms, sent)
     order by delivery_id),
  moved as (
    update delivery d set attempts = o.before + 1, status = 'succeeded', next_attempt_at = null, finished_at = o.ended_at
      from outcome o ${isNotRecorded} and not exists (
        select from webhook_endpoint w
         where w.organisation_id = o.organisation_id and w.endpoint_id = o.endpoint_id and w.failing_since is not null)
    returning d.organisation_id, d.delivery_id),${listed}
  select delivery_id from listed`;

// A failure must not delay or end a delivery that was resent during the attempt, or revive a cancelled delivery.
const sentAgain = `(o.status <> 'succeeded' and d.resent_after <> o.resent_after)`;
const cancelled = `(o.status <> 'succeeded' and d.status = 'cancelled')`;
// A failure at an earlier URL says nothing about the present URL, so the delivery is due there immediately.
const elsewhere = `(o.status <> 'succeeded' and o.is_elsewhere)`;

// The lock makes workers with one endpoint write in turn. Citus locks rows of a single organisation only.
// Outcomes are separate JSON texts, because for a single text the planner expects 100 rows and scans a small table.
const record = statement('outcome.record')`
  with endpoint as materialized (
    select * from webhook_endpoint where organisation_id = $1 and endpoint_id = any($2::uuid[]) order by endpoint_id for update),
  outcome as materialized (
    select $1 as organisation_id, o."deliveryId" as delivery_id, o."endpointId" as endpoint_id, o."attemptsBefore" as before,
           o."resentAfter" as resent_after, o.status, to_timestamp(o."nextAttemptMs" / 1000) as next_attempt_at,
           to_timestamp(o."atMs" / 1000) as at, to_timestamp(o."endedMs" / 1000) as ended_at, o."statusCode" as status_code,
           o."durationMs" as duration_ms, nullif(o.error, '') as error, o.sent, starts_with(o.sent, w.url || E'\n') is false as is_elsewhere
      from unnest(${joinedTextsOf('$3')}) as one(text) cross join lateral
           json_to_record(one.text::json) as o("endpointId" uuid, "deliveryId" uuid, "attemptsBefore" int4, "resentAfter" int4,
             status text, "nextAttemptMs" float8, "atMs" float8, "endedMs" float8, "statusCode" int2, "durationMs" int4, error text, sent text)
      left join endpoint w on w.endpoint_id = o."endpointId"
     order by delivery_id),
  moved as (
    update delivery d set attempts = o.before + 1,
           status = case when ${cancelled} then 'cancelled' when ${sentAgain} or ${elsewhere} then 'pending' else o.status end,
           next_attempt_at = case when ${cancelled} then null when ${sentAgain} then d.next_attempt_at when ${elsewhere} then o.ended_at else o.next_attempt_at end,
           finished_at = case when ${cancelled} then d.finished_at when o.status <> 'pending' and not ${sentAgain} and not ${elsewhere} then o.ended_at end
      from outcome o ${isNotRecorded} and d.organisation_id = $1
    returning d.organisation_id, d.delivery_id, d.status, d.next_attempt_at),${listed},
  ${followHealth}
  select (select count(*) from listed) as written, (select n.all from news n) as news,
         (select json_object_agg(m.delivery_id, m.status) from moved m join outcome o using (organisation_id, delivery_id)
           where m.status <> o.status or m.next_attempt_at <> o.next_attempt_at) as otherwise`;

export type Stored = {
  /** A change of the endpoint's health. Only the endpoint's first outcome of a batch contains the change. */
  news: EndpointNews | null;
  /** The delivery's status if it was resent, cancelled or moved to another URL during the attempt; otherwise null. */
  otherwise: 'pending' | 'cancelled' | null;
};

type Written = { news: EndpointNews[] | null; otherwise: Record<string, 'pending' | 'cancelled'> | null };

/**
 * @returns the successes that were not written, because their endpoint has failed before or they are already recorded
 */
async function writeSuccesses(tx: Tx, outcomes: Outcome[]): Promise<Outcome[]> {
  const numbers = (of: (one: Outcome) => number | null) => arrayLiteral(outcomes.map(of));
  const rows = await tx.query<{ delivery_id: string }>(recordSuccesses, [
    numbers((one) => one.organisationId),
    uuidArray(outcomes.map((one) => one.deliveryId)),
    uuidArray(outcomes.map((one) => one.endpointId)),
    numbers((one) => one.attemptsBefore),
    numbers((one) => one.atMs),
    numbers((one) => one.endedMs),
    numbers((one) => one.statusCode),
    numbers((one) => one.durationMs),
    joinedTexts(outcomes.map((one) => one.sent ?? '')),
  ]);
  const written = new Set(rows.map((row) => row.delivery_id));
  return outcomes.filter((one) => !written.has(one.deliveryId));
}

async function write(tx: Tx, outcomes: Outcome[]): Promise<Stored[]> {
  const failed = new Set(outcomes.filter((one) => one.status !== 'succeeded').map((one) => one.endpointId));
  // Citus refuses a statement that changes rows of several organisations.
  const plain = tx.distributed === true ? [] : outcomes.filter((one) => !failed.has(one.endpointId));
  const others = tx.distributed === true ? outcomes : outcomes.filter((one) => failed.has(one.endpointId));
  const left = plain.length === 0 ? [] : await writeSuccesses(tx, plain);
  const news = new Map<string, EndpointNews>();
  const otherwise: NonNullable<Written['otherwise']> = {};
  for (const [id, some] of Map.groupBy([...left, ...others], (one) => one.organisationId)) {
    const endpointIds = [...new Set(some.map((one) => one.endpointId))];
    const texts = joinedTexts(some.map((one) => JSON.stringify(one)));
    const [row] = await tx.query<Written>(record, [id, uuidArray(endpointIds), texts]);
    for (const one of row!.news ?? []) news.set(one.endpoint_id, one);
    Object.assign(otherwise, row!.otherwise);
  }
  return outcomes.map(({ endpointId, deliveryId }) => {
    const stored = { news: news.get(endpointId) ?? null, otherwise: otherwise[deliveryId] ?? null };
    news.delete(endpointId);
    return stored;
  });
}

const maxBatch = 500;
const retryMs = 250;
/**
 * Recorded outcomes stay in memory for this time. PostgreSQL writes a commit to disk within 3 times `wal_writer_delay`:
 * by default 0.6 s.
 */
const forgetMs = 5_000;

/**
 * Whether a failed write is repeated: the database is unavailable, had a deadlock, or lacks memory or disk space
 * (classes 53 and 58).
 */
const canPass = (error: unknown) =>
  error instanceof DatabaseUnavailable || /^(?:40P01|53|58)/.test((error as { code?: string } | null)?.code ?? '');

export type Recording = {
  /** Resolves when the statement has been sent to the database, which runs it even if this process is killed. */
  sent: Promise<void>;
  /** Resolves when the outcome is in the database, however long the database is unavailable. */
  written: Promise<Stored>;
};

type Entry = { outcome: Outcome; sent: PromiseWithResolvers<void>; written: PromiseWithResolvers<Stored> };

function fail({ sent, written }: Entry, error: unknown): void {
  sent.resolve();
  written.reject(error);
}

/**
 * Writes outcomes in batches, one statement at a time. If this process is killed, PostgreSQL still finishes that
 * statement.
 *
 * The connection commits without waiting for the disk, so a crash of the database can lose commits. Recent outcomes are
 * therefore kept, and written again on each new connection.
 */
export class Recorder {
  readonly #connection: Tx;
  readonly #waiting: Entry[] = [];
  readonly #kept: { outcomes: Outcome[]; writtenMs: number }[] = [];
  #recorded = 0;
  #timer: NodeJS.Timeout | null = null;
  #isWriting = false;
  #isStopped = false;

  constructor(connection: Tx) {
    this.#connection = connection;
  }

  record(outcome: Outcome): Recording {
    const entry: Entry = { outcome, sent: Promise.withResolvers(), written: Promise.withResolvers() };
    this.#waiting.push(entry);
    this.#gather();
    return { sent: entry.sent.promise, written: entry.written.promise };
  }

  /**
   * The maximum number of deliveries whose outcome has not been sent to the database. If the worker is killed, these
   * deliveries are sent again. The limit grows with the recorded outcomes, because a larger batch costs less for each
   * outcome.
   */
  maxUnrecorded(): number {
    return Math.min(32, Math.max(8, Math.floor(this.#recorded / 1000)));
  }

  /**
   * Writes outcomes again that a crash of the database may have lost. This must be the first call on each new
   * connection.
   */
  async replay(tx: Tx): Promise<void> {
    for (const { outcomes } of this.#kept) await write(tx, outcomes);
  }

  stop(): void {
    this.#isStopped = true;
    for (const entry of this.#waiting.splice(0)) fail(entry, new DatabaseUnavailable(null));
  }

  /** Waits up to 4 ms for a larger batch, because each statement costs as much database time as a delivery. */
  #gather(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    if (this.#waiting.length >= 0.75 * this.maxUnrecorded()) {
      this.#isWriting = true;
      setImmediate(() => void this.#flush());
    } else this.#timer ??= setTimeout(() => void this.#flush(), this.maxUnrecorded() / 8);
  }

  async #flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isWriting = true;
    const batch = this.#waiting.splice(0, maxBatch);
    setImmediate(() => batch.forEach(({ sent }) => sent.resolve()));
    try {
      const outcomes = batch.map((entry) => entry.outcome);
      const stored = await this.#writeAtLast(outcomes);
      const nowMs = systemClock.monotonicMs();
      while (this.#kept.length > 0 && this.#kept[0]!.writtenMs < nowMs - forgetMs) this.#kept.shift();
      this.#kept.push({ outcomes, writtenMs: nowMs });
      this.#recorded += batch.length;
      for (const [i, { written }] of batch.entries()) written.resolve(stored[i]!);
    } catch (error) {
      for (const entry of batch) fail(entry, error);
    }
    this.#isWriting = false;
    this.#gather();
  }

  async #writeAtLast(outcomes: Outcome[]): Promise<Stored[]> {
    for (;;) {
      try {
        return await write(this.#connection, outcomes);
      } catch (error) {
        if (this.#isStopped || !canPass(error)) throw error;
        await delay(retryMs);
      }
    }
  }
}
