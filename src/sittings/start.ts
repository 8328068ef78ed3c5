import type { App } from '../platform/app.ts';
import { withUnitOfWork, rowsQueue } from '../platform/db/unit-of-work.ts';
import { auditAct } from '../platform/audit/act.ts';
import { readOrganisation } from '../organisations/organisations.ts';
import { cancelReminder } from './invitations/email-templates.ts';
import { findInvitation } from './invitations/invitations.ts';
import { retakeWaits } from './invitations/retakes.ts';
import { takeStartCode } from './invitations/start-code.ts';
import { banksOf } from './scoring/banks.ts';
import type { Link } from './link.ts';
import { maxPilotsOf } from './selection/pilot.ts';
import { drawSeed } from './selection/selection.ts';
import { standards } from './scoring/standards.ts';
import { type FrozenSettings, nextQuestion } from './delivery.ts';
import { addItem, insertSitting, invitationOfOpenSitting, itemsSeenSince, updateSitting } from './store.ts';
import { seenForMs, timeLimitMs } from './working-time.ts';

/** The audit log's actor for actions with a learner's link. */
export const learnerActor = 'learner';

/**
 * Begins the link's next subject, unless a sitting is open, all subjects are done, the link has expired or the gap
 * between two assessments is not over. A learner
 * has only one open sitting in a subject, so the first of two requests begins it. Bank version, settings, time limit,
 * seed and the items that the learner saw lately are fixed here.
 * @param code the code that a supervisor released, if the invitation requires a code
 * @returns the invitation of the open sitting, which may differ from the link's invitation; null if the code is wrong
 * or missing
 */
export async function startSitting(app: App, link: Link, code = ''): Promise<string | null> {
  const { invitation, next: subject } = link;
  if (link.open !== null || subject === null || link.expired) return invitation.invitation_id;
  const { organisation_id, invitation_id } = invitation;
  return withUnitOfWork(app, rowsQueue(organisation_id), async (work) => {
    // The learner and the invitation may have changed since the link was read.
    const held = await findInvitation(work.tx, organisation_id, invitation_id, 'share');
    if (held?.status !== 'open' || held.expires_at.getTime() <= work.nowMs) return invitation_id;
    const { learner_id, start_code: needsCode, extra_time_pct } = held;
    const learner = { organisation_id, learner_id, subject };
    // An open sitting is checked before the code, because the code would otherwise be used up without a new sitting.
    const before = await invitationOfOpenSitting(work.tx, learner);
    if (before !== undefined) return before;
    // A sitting that ends at this moment is open above, or its result is found here.
    if ((await retakeWaits(work.tx, held, [subject], work.nowMs)).length > 0) return invitation_id;
    const release = needsCode ? await takeStartCode(work, organisation_id, invitation_id, code) : null;
    if (needsCode && release === null) return null;
    const { bank, pools } = await banksOf(app).currentStored(work.tx, work.nowMs);
    const pool = pools[subject];
    const pilots = maxPilotsOf(pool, await readOrganisation(work.tx, organisation_id));
    const settings: FrozenSettings = {
      delivery: pool.settings,
      extra_time_pct,
      seed: drawSeed(app.random),
      ...(pilots === 0 ? {} : { pilots }),
    };
    const sitting = await insertSitting(work.tx, {
      ...learner,
      sitting_id: work.uuid(),
      invitation_id,
      bank_version: bank.version,
      settings: JSON.stringify(settings),
      time_limit_ms: timeLimitMs(standards[subject].timeLimitMs, extra_time_pct),
      withheld: await itemsSeenSince(work.tx, learner, new Date(work.nowMs - seenForMs)),
      started_at: new Date(work.nowMs),
      released_by: release?.by ?? null,
      released_at: release?.at ?? null,
    });
    if (held.reminded_at !== null) await cancelReminder(work, invitation_id);
    if (sitting === undefined) return (await invitationOfOpenSitting(work.tx, learner)) ?? invitation_id;
    const first = nextQuestion(work, sitting, { bank, pool }, []);
    if (first !== null) await addItem(work.tx, sitting, first);
    await updateSitting(work.tx, sitting);
    await auditAct(work, sitting.organisation_id, {
      actor: learnerActor,
      action: 'sitting start',
      resource: sitting.sitting_id,
    });
    return invitation_id;
  });
}

/** Returns the learner's other invitation under which the next subject has an open sitting, otherwise null. */
export async function begunElsewhere(app: App, { invitation, open, next, expired }: Link): Promise<string | null> {
  if (open !== null || next === null || expired) return null;
  const { organisation_id, learner_id } = invitation;
  return (await invitationOfOpenSitting(app.db, { organisation_id, learner_id, subject: next })) ?? null;
}
