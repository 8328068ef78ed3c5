import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../platform/app.ts';
import { unsealedBacklog } from '../platform/audit/seal.ts';
import { statement, type Tx } from '../platform/db/database.ts';
import { findStorageFault, type StorageFault } from '../platform/db/connection/storage-fault.ts';
import { newestPositionSeconds } from '../feed/position.ts';
import { outboxBacklog } from '../platform/mail/outbox.ts';
import * as metricDefinitions from '../platform/observability/metric-definitions.ts';
import type { Gauge } from '../platform/observability/metrics.ts';
import { throughPooler, whyAway } from './probes.ts';
import { setStatusMetrics } from './status/metrics.ts';
import type { StatusReader } from './status/reader.ts';
import { countOpenSittings } from '../sittings/sittings.ts';

/** The collectors read the database at most once in this time; scrapes in between get the last figures. */
const freshMs = 5000;
/** A figure that takes longer is left out, so that metrics never slow a busy database. */
const maxMs = 1000;
/** The time for all figures of a process. Prometheus waits 10 s, and several processes answer one after the other. */
const allMs = 2000;

const statusMs = 60_000;

const patience = `set statement_timeout = ${maxMs}`;
const due = statement('collectors.due')`
  select count(*) as due, min(d.next_attempt_at) as oldest from delivery d
    join webhook_endpoint w on w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id
   where d.status = 'pending' and d.next_attempt_at <= $1 and w.status = 'active'`;
const endpoints = statement('collectors.endpoints')`
  select case when status = 'active' and failing_since is not null then 'failing' else status end as status, count(*) as count
    from webhook_endpoint group by 1`;
const bytes = statement('collectors.bytes')`select pg_database_size(current_database()) as bytes`;

type Collector = { of: readonly Gauge[]; ask(tx: Tx, nowMs: number): Promise<void> };

const secondsSince = (nowMs: number, ms: number | null) => (ms === null ? 0 : Math.max(0, nowMs - ms) / 1000);

/** Figures that alerts depend on come first, because the time for all figures may end before the last one. */
const collectors: Collector[] = [
  {
    of: [metricDefinitions.webhookBacklog, metricDefinitions.webhookOldest],
    async ask(tx, nowMs) {
      const [row] = await tx.query<{ due: number; oldest: Date | null }>(due, [new Date(nowMs)]);
      metricDefinitions.webhookBacklog.set(row!.due);
      metricDefinitions.webhookOldest.set(secondsSince(nowMs, row!.oldest?.getTime() ?? null));
    },
  },
  {
    of: [metricDefinitions.mailWaiting, metricDefinitions.mailOldest, metricDefinitions.mailStuck],
    async ask(tx, nowMs) {
      const { count, oldestMs, stuckMs } = await outboxBacklog(tx);
      metricDefinitions.mailWaiting.set(count);
      metricDefinitions.mailOldest.set(secondsSince(nowMs, oldestMs));
      metricDefinitions.mailStuck.set(secondsSince(nowMs, stuckMs));
    },
  },
  {
    of: [metricDefinitions.auditUnsealed, metricDefinitions.auditUnsealedAge],
    async ask(tx, nowMs) {
      const { count, oldestMs } = await unsealedBacklog(tx);
      metricDefinitions.auditUnsealed.set(count);
      metricDefinitions.auditUnsealedAge.set(secondsSince(nowMs, oldestMs));
    },
  },
  {
    of: [metricDefinitions.webhookEndpoints],
    async ask(tx) {
      const rows = await tx.query<{ status: string; count: number }>(endpoints);
      const counts = new Map(rows.map(({ status, count }) => [status, count]));
      for (const status of ['active', 'failing', 'paused', 'disabled'])
        metricDefinitions.webhookEndpoints.set(counts.get(status) ?? 0, status);
    },
  },
  {
    of: [metricDefinitions.newestPosition],
    async ask(tx) {
      const newest = await newestPositionSeconds(tx);
      if (newest !== null) metricDefinitions.newestPosition.set(newest);
    },
  },
  {
    of: [metricDefinitions.sittingsOpen],
    async ask(tx) {
      metricDefinitions.sittingsOpen.set(await countOpenSittings(tx));
    },
  },
  {
    of: [metricDefinitions.databaseBytes],
    async ask(tx) {
      const [row] = await tx.query<{ bytes: number }>(bytes);
      metricDefinitions.databaseBytes.set(row!.bytes);
    },
  },
];

/** The status of all organisations costs more than other figures, so it is read once a minute, in parallel. */
async function followStatus({ settings }: App, readStatus: StatusReader): Promise<void> {
  setStatusMetrics(await readStatus(statusMs).catch(() => null), settings.metricsOrganisations);
}

/**
 * Opens a connection for metrics only, because metrics matter most when all other connections are busy.
 * @returns a function that updates the figures; it never throws, and clears figures that it cannot read in time
 */
export function databaseCollectors(app: App, readStatus: StatusReader): () => Promise<void> {
  let connection = app.db.dedicated();
  let pooler = throughPooler(app);
  let last: Promise<void> | null = null;
  let askedMs = 0;

  function setStorageFault(what: StorageFault | null): void {
    metricDefinitions.databaseDiskFull.set(what === 'disk_full' ? 1 : 0);
    metricDefinitions.databaseReadOnly.set(what === 'read_only' ? 1 : 0);
  }

  function renew(): void {
    void connection.close();
    void pooler?.close();
    connection = app.db.dedicated();
    pooler = throughPooler(app);
  }

  async function askEach(on: Tx): Promise<void> {
    await pooler?.query('select 1');
    await on.query(patience);
    metricDefinitions.databaseUp.set(1);
    const storageFault = await findStorageFault(app.db.storageFaults, on);
    setStorageFault(storageFault);
    // A session that began read-only stays read-only after the fault ends, so a new session replaces it.
    if (storageFault === 'read_only') return renew();
    for (const { ask } of collectors) {
      // If a cancelled statement has ended the connection, the new connection has no time limit yet.
      await on.query(patience);
      await ask(on, app.clock.nowMs()).catch(() => {});
    }
  }

  async function askAll(): Promise<void> {
    metricDefinitions.databaseEmbedded.set(app.settings.databaseUrl === undefined ? 1 : 0);
    metricDefinitions.databaseUp.set(0);
    setStorageFault(await whyAway(app));
    for (const { of } of collectors) for (const gauge of of) gauge.clear();
    const over = new AbortController();
    const answered = askEach(connection).catch(() => {});
    const late = delay(allMs, true, { signal: over.signal }).catch(() => false);
    const isLate = await Promise.race([answered.then(() => false), late]);
    over.abort();
    if (!isLate) return;
    // Closing the connection makes the remaining statements fail.
    renew();
  }

  return () => {
    const nowMs = app.clock.monotonicMs();
    if (last === null || nowMs - askedMs >= freshMs) {
      askedMs = nowMs;
      last = Promise.race([
        Promise.all([askAll(), followStatus(app, readStatus)]),
        delay(allMs, undefined, { ref: false }),
      ]).then(() => {});
    }
    return last;
  };
}
