import type { App } from '../app.ts';
import { inWork, rowsLane } from '../db/work.ts';
import { auditInside } from '../audit/audit.ts';
import { banksOf } from './banks.ts';
import type { Link } from './link.ts';
import { drawWithheld } from './selection.ts';
import { standards } from './standards.ts';
import type { FrozenSettings } from './step.ts';
import { takeStep } from './step.ts';
import { addItem, insertSitting, itemsSeenBefore, updateSitting } from './store.ts';
import { timeLimitMs } from './working-time.ts';

/** Who acts on a sitting, in audit logs: whoever holds the learner's link. */
export const learnerActor = 'learner';

/**
 * Begins the link's next subject, or does nothing where a sitting is under way, everything is done or the link has
 * expired. Of two requests at once, one begins it. Bank version, delivery settings, time limit and the items that the
 * sitting does without are frozen here.
 */
export async function startSitting(app: App, link: Link): Promise<void> {
  const { invitation, next: subject } = link;
  if (link.open !== null || subject === null || link.expired) return;
  await inWork(app, rowsLane(invitation.organisation_id), async (work) => {
    const { bank, pools } = await banksOf(app).currentStored(work.tx, work.nowMs);
    const pool = pools[subject];
    const settings: FrozenSettings = { delivery: pool.settings, extra_time_pct: invitation.extra_time_pct };
    const key = { organisation_id: invitation.organisation_id, sitting_id: work.uuid() };
    const seen = await itemsSeenBefore(work.tx, { ...key, learner_id: invitation.learner_id });
    const sitting = await insertSitting(work.tx, {
      ...key,
      invitation_id: invitation.invitation_id,
      learner_id: invitation.learner_id,
      subject,
      bank_version: bank.version,
      settings: JSON.stringify(settings),
      time_limit_ms: timeLimitMs(standards[subject].timeLimitMs, invitation.extra_time_pct),
      withheld: [...new Set([...drawWithheld(pool, app.random), ...seen])],
      started_at: new Date(work.nowMs),
    });
    if (sitting === undefined) return;
    const first = takeStep(work, sitting, { bank, pool }, []);
    if (first !== null) await addItem(work.tx, sitting, first);
    await updateSitting(work.tx, sitting);
    await auditInside(work.tx, {
      organisationId: sitting.organisation_id,
      atMs: work.nowMs,
      requestId: work.uuid(),
      actor: learnerActor,
      action: 'sitting start',
      resource: sitting.sitting_id,
      status: null,
    });
  });
}
