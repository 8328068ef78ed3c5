import { pruneIdempotency } from '../api/idempotency.ts';
import type { App } from '../platform/app.ts';
import { dropAuditMonths, makeAuditMonths } from '../platform/audit/months.ts';
import { scrubDigest } from '../feed/digest-repair.ts';
import { membershipRuns } from '../organisations/groups/runs.ts';
import { foldRefused } from '../platform/audit/refused.ts';
import { sealAudit } from '../platform/audit/seal.ts';
import { pruneRequests } from '../governance/subject-requests/subject-requests.ts';
import { isOutage } from '../platform/db/connection/unavailable.ts';
import { type UnitOfWork, withUnitOfWork } from '../platform/db/unit-of-work.ts';
import { pruneAccessLog } from '../governance/access-log/access-log.ts';
import { importRuns, pruneImports } from '../records/import/run.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { remindLearners } from '../sittings/invitations/reminders.ts';
import { invitationRuns } from '../sittings/invitations/runs/run.ts';
import { pruneMails } from '../platform/mail/outbox.ts';
import { giveUpMails } from '../platform/mail/worker.ts';
import { forgetLeavingLearners } from '../governance/erasure/forget.ts';
import { writeScheduledReports } from '../organisations/scheduled-reports/worker.ts';
import { pruneUserInvitations } from '../organisations/users/invitations.ts';
import { pruneSessions } from '../organisations/users/sessions.ts';
import { pruneAttempts } from '../organisations/users/throttle.ts';
import { carryOutRuns, retentionRuns } from '../governance/retention/run.ts';
import { followRestores } from '../governance/restore/erasures.ts';
import { dropEventMonths, makeEventMonths, pruneDeliveries } from '../integrations/webhooks/retention.ts';
import { renewEncryption } from '../integrations/webhooks/endpoints/secrets.ts';
import { resends } from '../integrations/webhooks/resend.ts';
import { closeIdleSittings } from '../sittings/expire.ts';

const everyMs = 60_000;
/** Restores are checked often, because a standby or a backup may replace the database while the process runs. */
const restoresEveryMs = 10_000;

type Chore = (app: App, signal: AbortSignal) => Promise<unknown>;

const inOne =
  (chore: (work: UnitOfWork) => Promise<void>): Chore =>
  (app) =>
    withUnitOfWork(app, null, chore);

/** Each chore has its own timer, so that a slow or failing chore delays no other. */
const chores: Record<string, Chore> = {
  clock: (app) => app.adjustClock(),
  idempotency: pruneIdempotency,
  audit_months: makeAuditMonths,
  audit: sealAudit,
  refused_calls: foldRefused,
  old_audit_months: dropAuditMonths,
  event_months: makeEventMonths,
  old_event_months: dropEventMonths,
  old_deliveries: pruneDeliveries,
  webhook_secrets: renewEncryption,
  sittings: closeIdleSittings,
  retention: carryOutRuns,
  leaving_learners: forgetLeavingLearners,
  resends: resends.run,
  imports: importRuns.run,
  old_imports: pruneImports,
  moves: membershipRuns.run,
  old_moves: membershipRuns.prune,
  invitations: invitationRuns.run,
  old_drafts: invitationRuns.prune,
  reminders: remindLearners,
  scheduled_reports: writeScheduledReports,
  digest: scrubDigest,
  dry_runs: retentionRuns.prune,
  subject_requests: inOne((work) => pruneRequests(work, limits.subjectRequestTextsMs)),
  access_log: inOne((work) => pruneAccessLog(work, limits.accessLogMs)),
  sessions: inOne(pruneSessions),
  sign_in_attempts: inOne(pruneAttempts),
  user_invitations: inOne(pruneUserInvitations),
  overdue_mails: giveUpMails,
  mails: inOne(pruneMails),
};

export function startHousekeeping(app: App, choreEveryMs = everyMs): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const loop = (name: string, firstMs: number, ms: number, once: Chore) =>
    startRounds(firstMs, ms, () =>
      once(app, stopping.signal).then(
        () => {},
        (error: unknown) => {
          const fields = { chore: name, ...errorFields(error) };
          if (stopping.signal.aborted) return;
          if (isOutage(error)) app.log.error('database.unavailable', fields);
          else app.log.error('housekeeping.failed', fields);
        },
      ),
    );
  const all = Object.entries(chores);
  const stops = all.map(([name, chore], i) =>
    // The first rounds are staggered, so that they do not all take a connection together.
    loop(name, choreEveryMs * (1 + i / 60), choreEveryMs, async () => {
      if (!app.restored.pending) await chore(app, stopping.signal);
    }),
  );
  stops.push(loop('restores', restoresEveryMs, restoresEveryMs, followRestores));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

function startRounds(firstMs: number, ms: number, once: () => Promise<void>): () => Promise<void> {
  let round = Promise.resolve();
  let timer: NodeJS.Timeout;
  const wait = (waitMs: number) => {
    timer = setTimeout(() => {
      round = once().then(() => wait(ms));
    }, waitMs);
    timer.unref();
  };
  wait(firstMs);
  return async () => {
    clearTimeout(timer);
    await round;
    clearTimeout(timer);
  };
}
