import { pruneIdempotency } from './api/idempotency.ts';
import type { App } from './app.ts';
import { makeAuditIndexes } from './audit/indexes.ts';
import { dropAuditMonths, makeAuditMonths } from './audit/months.ts';
import { scrubDigest } from './digest.ts';
import { pruneRuns, runMoves } from './groups/runs.ts';
import { foldRefused } from './audit/refused.ts';
import { sealAudit } from './audit/seal.ts';
import { pruneCases } from './cases/cases.ts';
import { inWork } from './db/work.ts';
import { pruneLookups } from './lookups/lookups.ts';
import { pruneImports, runImports } from './imports/run.ts';
import { limits } from './limits.ts';
import { errorFields } from './log.ts';
import { pruneDrafts, runInvitations } from './invitations/run.ts';
import { keyAll } from './merging/matching.ts';
import { pruneMails } from './mail/outbox.ts';
import { forgetLeavingLearners } from './withdrawals/forget.ts';
import { pruneUserInvitations } from './users/invitations.ts';
import { pruneSessions } from './users/sessions.ts';
import { pruneAttempts } from './users/throttle.ts';
import { carryOutRuns, pruneRehearsals } from './retention/run.ts';
import { followRestores } from './restore/erasures.ts';
import { dropEventMonths, makeEventMonths } from './webhooks/months.ts';
import { runResends } from './webhooks/resend.ts';
import { closeIdleSittings } from './sittings/expire.ts';

const everyMs = 60_000;
/** A process outlives the database that it was connected to: a standby takes over, or a backup comes in its place. */
const restoresEveryMs = 10_000;

/** What every process tidies once a minute, and how it finds restores; a round that takes longer delays the next one. */
export function startHousekeeping(app: App): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const stops = [
    startRounds(everyMs, () => tidy(app, stopping.signal)),
    startRounds(restoresEveryMs, () =>
      followRestores(app).catch((error: unknown) => app.log.error('housekeeping.failed', errorFields(error))),
    ),
  ];
  return {
    async stop() {
      stopping.abort();
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

function startRounds(ms: number, once: () => Promise<void>): () => Promise<void> {
  let round = Promise.resolve();
  let timer: NodeJS.Timeout;
  const wait = () => {
    timer = setTimeout(() => {
      round = once().then(wait);
    }, ms);
    timer.unref();
  };
  wait();
  return async () => {
    clearTimeout(timer);
    await round;
    clearTimeout(timer);
  };
}

/** In this order: only what is sealed is folded or dropped. */
async function tidyAudit(app: App, signal: AbortSignal): Promise<void> {
  await makeAuditMonths(app);
  await sealAudit(app, signal);
  await foldRefused(app, signal);
  await dropAuditMonths(app);
}

async function tidyEvents(app: App): Promise<void> {
  await makeEventMonths(app);
  await dropEventMonths(app);
}

async function tidy(app: App, signal: AbortSignal): Promise<void> {
  if (app.restored.pending) return;
  const done = await Promise.allSettled([
    pruneIdempotency(app, signal),
    tidyAudit(app, signal),
    tidyEvents(app),
    makeAuditIndexes(app, signal),
    closeIdleSittings(app),
    carryOutRuns(app, signal),
    forgetLeavingLearners(app),
    runResends(app, signal),
    runImports(app, signal),
    pruneImports(app),
    runMoves(app, signal),
    runInvitations(app, signal),
    scrubDigest(app),
    keyAll(app, signal),
    inWork(app, null, async (work) => {
      await pruneRehearsals(work, limits.rehearsalMs);
      await pruneCases(work, limits.caseTextsMs);
      await pruneLookups(work.tx, new Date(work.nowMs - limits.lookupsMs));
      await pruneSessions(work);
      await pruneAttempts(work);
      await pruneUserInvitations(work);
      await pruneMails(work);
      await pruneRuns(work);
      await pruneDrafts(work);
    }),
  ]);
  for (const outcome of done)
    if (outcome.status === 'rejected') app.log.error('housekeeping.failed', errorFields(outcome.reason));
}
