import type { App } from '../platform/app.ts';
import { learnerJson, type ResultContent, storedColumns } from '../records/results/body.ts';
import { recordAssessments } from '../records/results/record.ts';
import type { Tx } from '../platform/db/database.ts';
import { feedQueue, withUnitOfWork, rowsQueue } from '../platform/db/unit-of-work.ts';
import { type Edition, renderEdition, storeEdition, verifyUrl } from '../records/evidence/evidence.ts';
import { lockFeed } from '../feed/position.ts';
import { formatPosition } from '../feed/time.ts';
import { auditAct } from '../platform/audit/act.ts';
import { findInvitation, type Invitation, markInvitationUsed, reopenInvitation } from './invitations/invitations.ts';
import { cancelInvitationEmail } from './invitations/email-templates.ts';
import { findLearnersByIds, type LearnerName } from '../records/learners/learners.ts';
import { readOrganisation } from '../organisations/organisations.ts';
import { publishedResult, score, type ScoredResult, type VoidSitting } from '../engine/scoring/score.ts';
import { banksOf } from './scoring/banks.ts';
import { evidenceOfSitting } from './evidence.ts';
import { readLink } from './link.ts';
import { type Course, courseOf } from './scoring/engagement-flags.ts';
import { frameworkOf } from './scoring/standards.ts';
import { learnerActor } from './start.ts';
import {
  findItems,
  findSitting,
  lockSitting,
  scoredResponses,
  type SittingKey,
  type SittingRow,
  updateSitting,
} from './store.ts';
import { suspensionsDuring } from './suspension.ts';
import { isAbandoned } from './working-time.ts';

/** `not_due`: the sitting can't end now: questions are open, the learner is back, or the organisation is suspended. */
export type Finish = 'completed' | 'void' | 'not_due';

/**
 * Turns the answers into a result. One transaction closes the sitting, stores the result, records the assessment with
 * its evidence and event, and marks the invitation as used. The evidence PDF is made before that transaction, and again
 * if a value in the PDF has changed meanwhile.
 * @param idleSince null if the learner declares; otherwise the time before which an abandoned sitting was last touched
 */
export async function finishSitting(app: App, key: SittingKey, idleSince: Date | null): Promise<Finish> {
  const at = new Date(app.clock.nowMs());
  for (;;) {
    const sitting = await findSitting(app.db, key);
    if (sitting === undefined || (sitting.status === 'open' && sitting.stop === null)) return 'not_due';
    if (sitting.status !== 'open') return sitting.status;
    if (idleSince !== null && sitting.last_seen_at >= idleSince) return 'not_due';
    sitting.declared_at = idleSince === null ? at : null;
    sitting.finished_at = idleSince === null ? at : sitting.last_seen_at;
    sitting.closed_at = idleSince === null ? null : at;
    const items = await findItems(app.db, key);
    const suspended = await suspensionsDuring(app.db, sitting);
    const { bank, scoring } = await banksOf(app).version(app.db, sitting.bank_version);
    const scored = score(scoring[sitting.subject], scoredResponses(items));
    const done =
      scored.outcome === 'void'
        ? await closeVoid(app, sitting, scored, idleSince)
        : await complete(app, sitting, scored, courseOf(sitting, bank, items, suspended), idleSince);
    if (done !== 'changed') return done;
  }
}

/** Closes a sitting with too few answers without a result. The learner may start again without a second credit. */
function closeVoid(app: App, sitting: SittingRow, { reason }: VoidSitting, idleSince: Date | null): Promise<Finish> {
  const { organisation_id: id } = sitting;
  return withUnitOfWork(app, idleSince === null ? rowsQueue(id) : feedQueue(id), async (work) => {
    // Lock order: the feed, the invitation, the sitting.
    const feed = idleSince === null ? null : await lockFeed(work, id);
    await findInvitation(work.tx, sitting.organisation_id, sitting.invitation_id, 'update');
    const row = (await lockSitting(work.tx, sitting))!;
    if (row.status !== 'open') return row.status;
    if (feed !== null && !isAbandoned(row, feed, idleSince!)) return 'not_due';
    await updateSitting(work.tx, { ...sitting, status: 'void', void_reason: reason });
    await reopenInvitation(work, sitting.organisation_id, sitting.invitation_id);
    await auditAct(work, sitting.organisation_id, {
      actor: learnerActor,
      action: 'sitting void',
      resource: sitting.sitting_id,
    });
    return 'void';
  });
}

/** Values in the evidence that may change while the PDF is made. */
type Shown = {
  organisation: string;
  ukprn: string | null;
  learner: LearnerName;
} & Pick<Invitation, 'supervision' | 'supervisor' | 'purpose' | 'retake_reason'>;

async function complete(
  app: App,
  sitting: SittingRow,
  result: ScoredResult,
  course: Course,
  idleSince: Date | null,
): Promise<Finish | 'changed'> {
  const organisationId = sitting.organisation_id;
  const shown = await readShown(app.db, sitting);
  const content: ResultContent = {
    assessed_at_us: sitting.finished_at!.getTime() * 1000,
    subject: sitting.subject,
    framework: frameworkOf(sitting.subject, result.published.rqf_level),
    ...publishedResult(result),
  };
  const texts = storedColumns(content);
  const assessmentId = app.random.uuid();
  const edition = makeEdition(app, assessmentId, sitting, shown, content, result, course);
  return withUnitOfWork(app, feedQueue(organisationId), async (work) => {
    const feed = await lockFeed(work, organisationId);
    const row = (await lockSitting(work.tx, sitting))!;
    if (row.status !== 'open') return row.status;
    if (idleSince !== null && !isAbandoned(row, feed, idleSince)) return 'not_due';
    if (row.learner_id !== sitting.learner_id) return 'changed';
    if (JSON.stringify(await readShown(work.tx, row)) !== JSON.stringify(shown)) return 'changed';
    await recordAssessments(
      work,
      feed,
      [
        {
          assessment_id: assessmentId,
          learner_id: sitting.learner_id,
          source: 'sitting',
          assessed_at: content.assessed_at_us,
          learner: learnerJson(shown.learner.ref, shown.learner.full_name),
          report_sha256: edition.sha256,
          ...texts,
          flags: result.flags.includes('person_fit') ? [...texts.flags, 'person_fit'] : texts.flags,
        },
      ],
      { events: true },
    );
    await storeEdition(work, organisationId, edition);
    await updateSitting(work.tx, {
      ...sitting,
      status: 'completed',
      assessment_id: assessmentId,
      result: JSON.stringify(result),
    });
    const link = await readLink(app, work.tx, organisationId, sitting.invitation_id);
    if (link?.next === null) {
      const used = await markInvitationUsed(work.tx, organisationId, sitting.invitation_id);
      if (used !== undefined) await cancelInvitationEmail(work, used);
    }
    await auditAct(work, organisationId, { actor: learnerActor, action: 'sitting finish', resource: assessmentId });
    return 'completed';
  });
}

async function readShown(tx: Tx, sitting: SittingRow): Promise<Shown> {
  const organisation = await readOrganisation(tx, sitting.organisation_id);
  const [learner] = await findLearnersByIds(tx, sitting.organisation_id, [sitting.learner_id]);
  const invitation = await findInvitation(tx, sitting.organisation_id, sitting.invitation_id);
  const { purpose } = invitation!;
  // The invitation may have been changed for later sittings, so the sitting's own values come first.
  const { supervision, supervisor, retake_reason } = sitting.supervision === null ? invitation! : sitting;
  const { name, ukprn } = organisation;
  return {
    organisation: name,
    ukprn,
    learner: learner!,
    supervision: supervision!,
    supervisor,
    purpose,
    retake_reason,
  };
}

function makeEdition(
  app: App,
  assessmentId: string,
  sitting: SittingRow,
  shown: Shown,
  content: ResultContent,
  result: ScoredResult,
  course: Course,
): Edition {
  const { assessed_at_us, ...fields } = content;
  return renderEdition({
    version: 2,
    source: 'sitting',
    organisation_name: shown.organisation,
    ...(shown.ukprn === null ? {} : { ukprn: shown.ukprn }),
    learner: { full_name: shown.learner.full_name, ref: shown.learner.ref },
    assessment_id: assessmentId,
    edition: 1,
    assessed_at: formatPosition(assessed_at_us),
    ...fields,
    domains: result.domains.map(({ name, scorePct, status, answered }) => ({
      name,
      score_pct: scorePct,
      status,
      answered,
    })),
    verify_url: verifyUrl(app),
    sitting: evidenceOfSitting(sitting, result, course, shown),
  });
}
