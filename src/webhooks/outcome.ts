import { systemClock } from '../clock.ts';
import { joinedTexts, joinedTextsOf } from '../db/arrays.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import type { EndpointNews } from './health.ts';
import { followHealth, sentElsewhere } from './health.ts';

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
  /** URL and signatures, as sent.ts keeps them. */
  sent: string | null;
};

// A failure must not put off or end what was to be sent again in the meantime, nor bring back what was cancelled.
const sentAgain = `(o.status <> 'succeeded' and d.resent_after <> o.resent_after)`;
const cancelled = `(o.status <> 'succeeded' and d.status = 'cancelled')`;
// An answer of an earlier URL doesn't speak for the present one: the delivery is due there now.
const elsewhere = `(o.status <> 'succeeded' and ${sentElsewhere})`;

/**
 * A list that is one JSON text would be taken for 100 rows, and a young table be read whole to find them.
 * "Not in": status = 'pending' would let the planner search the index of what is due, whose organisation's part grows with the
 * backlog.
 * @param organisation the organisation of the row of an alias
 */
const recorded = (organisation: (alias: string) => string, lock: string) => `
  with outcome as materialized (
    select ${organisation('o')} as organisation_id, o."deliveryId" as delivery_id, o."attemptsBefore" as before, o."resentAfter" as resent_after, o.status,
           to_timestamp(o."nextAttemptMs" / 1000) as next_attempt_at, to_timestamp(o."atMs" / 1000) as at, to_timestamp(o."endedMs" / 1000) as ended_at,
           o."statusCode" as status_code, o."durationMs" as duration_ms, nullif(o.error, '') as error, o.sent,
           (select w.url from webhook_endpoint w where w.organisation_id = ${organisation('o')} and w.endpoint_id = o."endpointId") as url
      from (select o."organisationId" as organisation_id, o.* from unnest(${joinedTextsOf('$1')}) as one(text) cross join lateral
              json_to_record(one.text::json) as o("organisationId" int8, "endpointId" uuid, "deliveryId" uuid, "attemptsBefore" int4, "resentAfter" int4,
                status text, "nextAttemptMs" float8, "atMs" float8, "endedMs" float8, "statusCode" int2, "durationMs" int4, error text, sent text)) o
     order by delivery_id),
  moved as (
    update delivery d set attempts = o.before + 1,
           status = case when ${cancelled} then 'cancelled' when ${sentAgain} or ${elsewhere} then 'pending' else o.status end,
           next_attempt_at = case when ${cancelled} then null when ${sentAgain} then d.next_attempt_at when ${elsewhere} then o.ended_at else o.next_attempt_at end,
           finished_at = case when ${cancelled} then d.finished_at when o.status <> 'pending' and not ${sentAgain} and not ${elsewhere} then o.ended_at end
      from outcome o
     where d.organisation_id = ${organisation('o')} and d.delivery_id = o.delivery_id and d.attempts = o.before and d.status not in ('succeeded', 'dead')
    returning d.organisation_id, d.delivery_id, d.endpoint_id, d.attempts, d.status, d.next_attempt_at),
  listed as (
    insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error, sent)
    select organisation_id, delivery_id, m.attempts, o.at, o.status_code, o.duration_ms, o.error, o.sent
      from moved m join outcome o using (organisation_id, delivery_id)
    returning 1),
  ${followHealth(organisation, lock)}
  select (select count(*) from listed) as written, (select n.all from news n) as news,
         (select json_object_agg(m.delivery_id, m.status) from moved m join outcome o using (organisation_id, delivery_id)
           where m.status <> o.status or m.next_attempt_at <> o.next_attempt_at) as otherwise`;
const record = statement(
  'outcome.record',
  recorded((alias) => `${alias}.organisation_id`, 'for update of w'),
);
// On several nodes the outcomes of one organisation. No row can be locked there that is found by what a statement has put
// aside; the endpoint's lease keeps other workers away.
const recordOf = statement(
  'outcome.record_of',
  recorded(() => '$2::int8', ''),
);

export type Stored = {
  /** One of an endpoint's attempts brings its news. */
  news: EndpointNews | null;
  /** What became of the delivery, if something else happened to it during the attempt. */
  otherwise: 'pending' | 'cancelled' | null;
};

type Written = { news: EndpointNews[] | null; otherwise: Record<string, 'pending' | 'cancelled'> | null };

const valuesOf = (outcomes: Outcome[]) => joinedTexts(outcomes.map((one) => JSON.stringify(one)));

async function write(tx: Tx, outcomes: Outcome[]): Promise<Stored[]> {
  const news = new Map<string, EndpointNews>();
  const otherwise: NonNullable<Written['otherwise']> = {};
  const add = (rows: Written[]) => {
    for (const one of rows[0]!.news ?? []) news.set(one.endpoint_id, one);
    Object.assign(otherwise, rows[0]!.otherwise);
  };
  if (tx.distributed === true)
    for (const [id, some] of Map.groupBy(outcomes, (one) => one.organisationId))
      add(await tx.query<Written>(recordOf, [valuesOf(some), id]));
  else add(await tx.query<Written>(record, [valuesOf(outcomes)]));
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

export type Recorder = {
  record(outcome: Outcome): Recording;
  /**
   * How many deliveries may be between their first byte and the departure of their outcome: a killed worker sends them again.
   * A larger batch costs less for each outcome, so their number grows to a thousandth of what was recorded.
   */
  maxUnrecorded(): number;
  /** Writes again what a crash of the database may have forgotten: to be done first on each new connection. */
  replay(tx: Tx): Promise<void>;
  /** Gives up what the database doesn't take. */
  stop(): void;
};

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
export function createRecorder(connection: Tx): Recorder {
  const waiting: Entry[] = [];
  const kept: { outcomes: Outcome[]; writtenMs: number }[] = [];
  let recorded = 0;
  let timer: NodeJS.Timeout | null = null;
  let writing = false;
  let stopped = false;

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
    setImmediate(() => {
      for (const entry of batch) entry.left();
    });
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
        await new Promise((resolve) => {
          setTimeout(resolve, retryMs);
        });
      }
    }
  }

  return {
    record(outcome) {
      const entry = entryOf(outcome);
      waiting.push(entry);
      gather();
      return entry;
    },
    maxUnrecorded,
    async replay(tx) {
      for (const { outcomes } of kept) await write(tx, outcomes);
    },
    stop() {
      stopped = true;
      for (const entry of waiting.splice(0)) entry.failed(new DatabaseUnavailable(null));
    },
  };
}
