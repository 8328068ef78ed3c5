import type { App } from './app.ts';
import { unsealedBacklog } from './audit/unsealed.ts';
import type { Tx } from './db/database.ts';
import { statement } from './db/database.ts';
import { newestPositionSeconds } from './feed/position.ts';
import { outboxBacklog } from './mail/outbox.ts';
import * as measures from './measures.ts';
import type { Gauge } from './metrics.ts';
import { countOpenSittings } from './sittings/sittings.ts';
import { dueBacklog, endpointCounts } from './webhooks/backlog.ts';

/** What the metrics say of the database as a whole. Any one process may ask for it: all would say the same. */

/** However often somebody collects, it is asked no more often. */
const freshMs = 5000;
/** What takes longer is left out: a reading must not be what makes a busy database slow. */
const mostMs = 1000;

const patience = `set local statement_timeout = ${mostMs}`;
const bytes = statement('figures.bytes', 'select pg_database_size(current_database()) as bytes');

type Figure = { of: readonly Gauge[]; ask(tx: Tx, nowMs: number): Promise<void> };

const secondsSince = (nowMs: number, ms: number | null) => (ms === null ? 0 : Math.max(0, nowMs - ms) / 1000);

const figures: Figure[] = [
  {
    of: [measures.newestPosition],
    async ask(tx) {
      const newest = await newestPositionSeconds(tx);
      if (newest !== null) measures.newestPosition.set(newest);
    },
  },
  {
    of: [measures.webhookBacklog, measures.webhookOldest],
    async ask(tx, nowMs) {
      const { due, oldestMs } = await dueBacklog(tx, nowMs);
      measures.webhookBacklog.set(due);
      measures.webhookOldest.set(secondsSince(nowMs, oldestMs));
    },
  },
  {
    of: [measures.webhookEndpoints],
    async ask(tx) {
      const counts = new Map((await endpointCounts(tx)).map(({ status, count }) => [status, count]));
      for (const status of ['active', 'failing', 'paused', 'disabled'])
        measures.webhookEndpoints.set(counts.get(status) ?? 0, status);
    },
  },
  {
    of: [measures.mailWaiting, measures.mailOldest],
    async ask(tx, nowMs) {
      const { count, oldestMs } = await outboxBacklog(tx);
      measures.mailWaiting.set(count);
      measures.mailOldest.set(secondsSince(nowMs, oldestMs));
    },
  },
  {
    of: [measures.auditUnsealed, measures.auditUnsealedAge],
    async ask(tx, nowMs) {
      const { count, oldestMs } = await unsealedBacklog(tx);
      measures.auditUnsealed.set(count);
      measures.auditUnsealedAge.set(secondsSince(nowMs, oldestMs));
    },
  },
  {
    of: [measures.sittingsOpen],
    async ask(tx) {
      measures.sittingsOpen.set(await countOpenSittings(tx));
    },
  },
  {
    of: [measures.databaseBytes],
    async ask(tx) {
      const [row] = await tx.query<{ bytes: number }>(bytes);
      measures.databaseBytes.set(row!.bytes);
    },
  },
];

/**
 * @param reached whether the database answers, told within seconds even where it hangs
 * @returns what brings the figures up to date; it never throws: a figure that can't be had is left out
 */
export function databaseFigures(app: App, reached: () => Promise<boolean>): () => Promise<void> {
  let last: Promise<void> | null = null;
  let askedMs = 0;

  async function askAll(): Promise<void> {
    measures.databaseEmbedded.set(app.settings.databaseUrl === undefined ? 1 : 0);
    for (const { of } of figures) for (const gauge of of) gauge.clear();
    const up = await reached();
    measures.databaseUp.set(up ? 1 : 0);
    if (!up) return;
    for (const { ask } of figures) {
      let answered = false;
      try {
        await app.db.snapshot(async (tx) => {
          await tx.query(patience);
          answered = true;
          await ask(tx, app.clock.nowMs());
        });
      } catch {
        // Nothing answers the others either.
        if (!answered) break;
      }
    }
  }

  return () => {
    const nowMs = app.clock.monotonicMs();
    if (last === null || nowMs - askedMs >= freshMs) {
      askedMs = nowMs;
      last = askAll();
    }
    return last;
  };
}
