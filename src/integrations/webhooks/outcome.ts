import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../platform/time/clock.ts';
import { arrayLiteral, joinedTexts, joinedTextsOf, uuidArray } from '../../platform/db/arrays.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { DatabaseUnavailable } from '../../platform/db/connection/unavailable.ts';
import type { EndpointNews } from './endpoints/health.ts';
import { followHealth } from './endpoints/health.ts';

/** What one attempt did to its delivery. */
export type Outcome = {
  organisationId: number;
  endpointId: string;
  deliveryId: string;
  /** Attempts before this one: an outcome that is written again changes nothing. */
  attemptsBefore: number;
  /** As the attempt found it. Another value now means that the delivery was to be sent again during the attempt. */
  resentAfter: number;
  status: 'pending' | 'succeeded' | 'dead';
  /** Null unless it is pending. */
  nextAttemptMs: number | null;
  atMs: number;
  endedMs: number;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** URL and signatures (signing.ts). */
  sent: string | null;
};

// "Not in": status = 'pending' would let the planner search the index of what is due, whose organisation's part grows with the
// backlog.
const isNotRecorded = `
     where d.organisation_id = o.organisation_id and d.delivery_id = o.delivery_id and d.attempts = o.before and d.status not in ('succeeded', 'dead')`;
const listed = `
  listed as (
    insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error, sent)
    select organisation_id, delivery_id, o.before + 1, o.at, o.status_code, o.duration_ms, o.error, o.sent
      from moved join outcome o using (organisation_id, delivery_id)
    returning delivery_id)`;

// The usual case, with half the database time. If the endpoint has failed before, the success is left to the other statement.
const recordSuccesses = statement(
  'outcome.record_successes',
  `
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
  select delivery_id from listed`,
);

// A failure must not put off or end what was to be sent again in the meantime, nor bring back what was cancelled.
const sentAgain = `(o.status <> 'succeeded' and d.resent_after <> o.resent_after)`;
const cancelled = `(o.status <> 'succeeded' and d.status = 'cancelled')`;
// An answer of an earlier URL doesn't speak for the present one: the delivery is due there now.
const elsewhere = `(o.status <> 'succeeded' and o.is_elsewhere)`;

// Of one organisation: several nodes take no other form. The lock makes workers that share an endpoint go one after the other.
// A list that is one JSON text would be taken for 100 rows, and a young table be read whole to find them.
const record = statement(
  'outcome.record',
  `
  with endpoint as materialized (
    select * from webhook_endpoint where organisation_id = $1 and endpoint_id = any($2::uuid[]) order by endpoint_id for update),
  outcome as materialized (
    select $1 as organisation_id, o."deliveryId" as delivery_id, o."endpointId" as endpoint_id, o."attemptsBefore" as before,
           o."resentAfter" as resent_after, o.status, to_timestamp(o."nextAttemptMs" / 1000) as next_attempt_at,
           to_timestamp(o."atMs" / 1000) as at, to_timestamp(o."endedMs" / 1000) as ended_at, o."statusCode" as status_code,
           o."durationMs" as duration_ms, nullif(o.error, '') as error, o.sent, starts_with(o.sent, w.url || E'\\n') is false as is_elsewhere
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
           where m.status <> o.status or m.next_attempt_at <> o.next_attempt_at) as otherwise`,
);

export type Stored = {
  /** One of an endpoint's attempts brings its news. */
  news: EndpointNews | null;
  /** What became of the delivery, if something else happened to it during the attempt. */
  otherwise: 'pending' | 'cancelled' | null;
};

type Written = { news: EndpointNews[] | null; otherwise: Record<string, 'pending' | 'cancelled'> | null };

/** @returns the successes that are not written: the endpoint has failed, or they were written before */
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
  const [plain, others] = [true, false].map((isPlain) =>
    outcomes.filter((one) => !failed.has(one.endpointId) === isPlain),
  );
  // Several nodes take no statement that changes rows of several organisations.
  const left = tx.distributed === true || plain!.length === 0 ? plain! : await writeSuccesses(tx, plain!);
  const news = new Map<string, EndpointNews>();
  const otherwise: NonNullable<Written['otherwise']> = {};
  for (const [id, some] of Map.groupBy([...left, ...others!], (one) => one.organisationId)) {
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
/** PostgreSQL has a commit on its disk within three times `wal_writer_delay`, .6 s unless that was changed. */
const forgetMs = 5_000;

/**
 * The outcome is written again. A deadlock passes, and so do a full disk and what else PostgreSQL lacks (classes 53 and 58):
 * a delivery whose outcome isn't written would be sent again and again.
 */
const passes = (error: unknown) =>
  error instanceof DatabaseUnavailable || /^(?:40P01|53|58)/.test((error as { code?: string } | null)?.code ?? '');

export type Recording = {
  /** The statement has left for the database, which carries it out even if this process is killed now. */
  sent: Promise<void>;
  /** The database has the outcome. Waits as long as the database is away. */
  written: Promise<Stored>;
};

export type Recorder = ReturnType<typeof createRecorder>;

type Entry = Recording & { outcome: Outcome; left(): void; done(stored: Stored): void; failed(error: unknown): void };

function entryOf(outcome: Outcome): Entry {
  const sent = Promise.withResolvers<void>();
  const written = Promise.withResolvers<Stored>();
  const failed = (error: unknown) => {
    sent.resolve();
    written.reject(error);
  };
  return { outcome, left: sent.resolve, done: written.resolve, failed, sent: sent.promise, written: written.promise };
}

/**
 * Writes outcomes in batches, one statement at a time: PostgreSQL finishes the one that it has begun when its client is killed,
 * and drops those behind it. The connection commits without waiting for the disk. A crash of the database may therefore
 * forget what it has just said that it has, so outcomes are kept for a while and replayed on a new connection. To write an
 * outcome twice changes nothing.
 */
export function createRecorder(connection: Tx) {
  const waiting: Entry[] = [];
  const kept: { outcomes: Outcome[]; writtenMs: number }[] = [];
  let recorded = 0;
  let timer: NodeJS.Timeout | null = null;
  let writing = false;
  let stopped = false;

  /**
   * How many deliveries may be between their first byte and the departure of their outcome: a killed worker sends them again.
   * A larger batch costs less for each outcome, so their number grows to a thousandth of what was recorded.
   */
  const maxUnrecorded = () => Math.min(32, Math.max(8, Math.floor(recorded / 1000)));

  /** A statement costs as much as a delivery, so a small batch waits for company, a millisecond for each eight permits. */
  function gather(): void {
    if (writing || waiting.length === 0) return;
    if (waiting.length >= 0.75 * maxUnrecorded()) {
      writing = true;
      setImmediate(() => void flush());
    } else timer ??= setTimeout(() => void flush(), maxUnrecorded() / 8);
  }

  async function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    writing = true;
    const batch = waiting.splice(0, maxBatch);
    setImmediate(() => batch.forEach((entry) => entry.left()));
    try {
      const outcomes = batch.map((entry) => entry.outcome);
      const stored = await writeAtLast(outcomes);
      const nowMs = systemClock.monotonicMs();
      while (kept.length > 0 && kept[0]!.writtenMs < nowMs - forgetMs) kept.shift();
      kept.push({ outcomes, writtenMs: nowMs });
      recorded += batch.length;
      for (const [i, entry] of batch.entries()) entry.done(stored[i]!);
    } catch (error) {
      for (const entry of batch) entry.failed(error);
    }
    writing = false;
    gather();
  }

  async function writeAtLast(outcomes: Outcome[]): Promise<Stored[]> {
    for (;;) {
      try {
        return await write(connection, outcomes);
      } catch (error) {
        if (stopped || !passes(error)) throw error;
        await delay(retryMs);
      }
    }
  }

  return {
    record(outcome: Outcome): Recording {
      const entry = entryOf(outcome);
      waiting.push(entry);
      gather();
      return entry;
    },
    maxUnrecorded,
    /** Writes again what a crash of the database may have forgotten: to be done first on each new connection. */
    async replay(tx: Tx): Promise<void> {
      for (const { outcomes } of kept) await write(tx, outcomes);
    },
    /** Gives up what the database doesn't take. */
    stop(): void {
      stopped = true;
      for (const entry of waiting.splice(0)) entry.failed(new DatabaseUnavailable(null));
    },
  };
}
