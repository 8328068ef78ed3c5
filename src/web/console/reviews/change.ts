import { amendAssessment, readAmendment } from '../../../records/results/amend.ts';
import { type Amendment, RecordRefused } from '../../../records/results/result-fields.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isStorableLines, isStorableText } from '../../../platform/validation/personal-data.ts';
import { type Consequences, countConsequences } from '../../../governance/result-reviews/consequences.ts';
import type { Refusal } from '../../../governance/result-reviews/decide.ts';
import { confirmResult, openReview, refusals, withdrawReviewed } from '../../../governance/result-reviews/decide.ts';
import { recordAgain } from '../../../governance/result-reviews/record-again.ts';
import { placementsOf, prepareReplacement } from '../../../governance/result-reviews/replacement.ts';
import { count } from '../kit/blocks.ts';
import { isFaulty, faultsIn } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { type ReviewedResult, decisionFields, resultPage, ofReview } from './result.ts';
import { keptQueue, levelWords, nextInQueue } from './review.ts';
import { type Answer, type ConsoleRoute, type Visit, again } from '../kit/route.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { reviewers } from '../../../organisations/users/roles.ts';
import { formPage, messagePage } from '../kit/page.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { withQuery } from '../kit/paging.ts';

export const reviewChangeRoutes: ConsoleRoute[] = [
  ofReview.post('/review/{assessment_id}/confirm', reviewers, confirm),
  ...ofReview.form('/review/{assessment_id}/place', reviewers, placePage, place, { proof: true }),
  ...ofReview.form('/review/{assessment_id}/amend', reviewers, amendPage, amend, { proof: true }),
  ...ofReview.form('/review/{assessment_id}/withdraw', reviewers, withdrawPage, withdraw, { proof: true }),
];

export const reasonFault = `Enter a reason on one line of up to ${limits.reasonChars} characters, without a National Insurance number.`;
const answerFault = `Enter an answer of up to ${limits.reviewTextChars} characters, without a National Insurance number.`;

function readDecision(visit: Visit, { waiting }: ReviewedResult, needsReason: boolean) {
  const { form: sent, userId: actor } = visit;
  const reason = sent.text('reason');
  const answer = sent.text('answer').replaceAll('\r\n', '\n');
  const isRequested = waiting?.requested_at != null;
  const faults = faultsIn({
    reason: (reason === '' ? needsReason : !isStorableText(reason, limits.reasonChars)) && reasonFault,
    answer: isRequested && !isStorableLines(answer, limits.reviewTextChars) && answerFault,
  });
  const decision = {
    actor,
    reason: reason || null,
    answer: isRequested ? answer : null,
    version: sent.text('version'),
  };
  return { faults, decision };
}

export const refusalWords: Record<Refusal, [title: string, says: string]> = {
  gone: [
    'The result was withdrawn or changed',
    'Another person has withdrawn the result or changed its placement. Your decision was not saved.',
  ],
  nothing_waits: ['The result is already decided', 'Your decision was not saved.'],
  changed: [
    'The result has changed since you opened the page',
    'Another person has confirmed or changed the result, or the learner has asked for a review. Your decision was not saved. Check the result, and decide again.',
  ],
  unanswered: [
    'The learner has asked for a review',
    'Your decision was not saved. Read the learner’s text, and enter an answer.',
  ],
  same_person: [
    'Another person has to decide',
    'You decided on this result before, and the learner asks for another review. Ask another owner, an admin, a reviewer, or a tutor of the learner to decide. Your decision was not saved.',
  ],
};

export const isRefusal = (value: unknown): value is Refusal => (refusals as readonly unknown[]).includes(value);

function refused({ base, params }: Visit, refusal: Refusal): Answer {
  const [title, says] = refusalWords[refusal];
  const back =
    refusal === 'gone'
      ? { to: `${base}/review`, label: 'Reviews' }
      : { to: `${base}/review/${params.assessment_id!.toLowerCase()}`, label: 'Result' };
  return { ...messagePage(title, says), back, status: 409 };
}

async function confirm(visit: Visit, result: ReviewedResult): Promise<Answer> {
  const { base, organisationId } = visit;
  const { decision, faults } = readDecision(visit, result, false);
  if (isFaulty(faults)) return resultPage({ ...visit, faults }, result);
  const id = result.of.assessment_id;
  const confirmIt = (work: UnitOfWork) => confirmResult(work, organisationId, id, decision);
  return decided(visit, result, confirmIt, { id, did: 'confirmed', to: `${base}/review/${id}` });
}

type Decide = (work: UnitOfWork) => Promise<Refusal | null>;

/** After a decision on a result of a queue, the next waiting result opens. */
async function decided(
  visit: Visit,
  { of, waiting }: ReviewedResult,
  decide: Decide,
  { id, did, to }: { id: string; did: 'confirmed' | 'changed' | 'withdrawn' | 'amended'; to: string },
): Promise<Answer> {
  const { base, query } = visit;
  const refusal = await visit.change(decide, (result) => result === null && id);
  if (refusal !== null) return refused(visit, refusal);
  const kept = keptQueue(query);
  if (!query.has('queue') || did === 'amended') return { to: withQuery(to, kept, { did }) };
  const next = await nextInQueue(visit, of.assessment_id, waiting);
  if (next === null) return { to: withQuery(`${base}/review`, kept, { did, queue: null }) };
  return { to: withQuery(`${base}/review/${next}`, kept, { did: `next-${did}` }) };
}

const consequencesOf = ({ app, organisationId }: Visit, { of }: ReviewedResult): Promise<Consequences> =>
  countConsequences(app.db, organisationId, of.assessment_id, new Date(app.clock.nowMs()));

const withdrawalWords = ({ keys, editions, deliveries }: Consequences): Content =>
  html`<p>1 result is withdrawn. Platforms that use the organisation’s ${count(keys, 'key')} get a tombstone (a note of deletion) at their next poll, and delete their copies.</p><p>${count(editions, 'edition')} of its evidence pack ${editions === 1 ? 'is' : 'are'} deleted. The service keeps only the hash of downloaded files. ${count(deliveries, 'waiting delivery', 'waiting deliveries')} ${deliveries === 1 ? 'is' : 'are'} cancelled.</p>`;

const whose = ({ of, row, content }: ReviewedResult): Content =>
  html`<p>${name(of.full_name)}: ${shortSubjectNames[content.subject]}, ${levelWords(row)}.</p>`;

const backTo = ({ base, query }: Visit, { of: { assessment_id: id } }: ReviewedResult) => ({
  to: withQuery(`${base}/review/${id}`, keptQueue(query), {}),
  label: 'Result',
});

const sentTo = ({ path, query }: Visit): string => withQuery(path, keptQueue(query), {});

async function withdrawPage(visit: Visit, result: ReviewedResult): Promise<Answer> {
  const numbers = await consequencesOf(visit, result);
  const isLast = numbers.others === 0 && !numbers.has_reference;
  return formPage(visit, {
    title: 'Withdraw result?',
    back: backTo(visit, result),
    intro: [
      whose(result),
      withdrawalWords(numbers),
      html`<p>${
        isLast
          ? 'This is the last result of a learner without a reference. The learner is deleted too, unless an invitation or a sitting is open.'
          : `The learner is kept, with ${count(numbers.others, 'other result')}.`
      } A withdrawal can’t be undone.</p>`,
    ],
    button: 'Withdraw result',
    to: sentTo(visit),
    danger: true,
    fields: (f) => decisionFields(f, result, 'Reason', 'Such as “Wrong learner”. The history shows it. No names.'),
  });
}

async function withdraw(visit: Visit, result: ReviewedResult) {
  const { base, organisationId } = visit;
  const { decision, faults } = readDecision(visit, result, true);
  if (isFaulty(faults)) return again(faults);
  const id = result.of.assessment_id;
  const withReason = { ...decision, reason: decision.reason! };
  const withdrawIt = (work: UnitOfWork) => withdrawReviewed(work, organisationId, id, withReason);
  const to = `${base}/learners/${result.of.learner_id}`;
  return decided(visit, result, withdrawIt, { id, did: 'withdrawn', to });
}

async function placePage(visit: Visit, result: ReviewedResult): Promise<Answer> {
  const numbers = await consequencesOf(visit, result);
  const { content } = result;
  const levels = [...placementsOf(content.subject).keys()].map((level) => ({ value: level, label: level }));
  return formPage(visit, {
    title: 'Change placement?',
    back: backTo(visit, result),
    intro: [
      whose(result),
      html`<p>Platforms filter by level, so a level can’t be amended. This result is withdrawn and recorded again at the level that you choose.</p>`,
      withdrawalWords(numbers),
      html`<p>1 new result replaces it. Webhook endpoints get an event. The evidence pack shows that a person changed the placement, when and why. The sitting, its answers and earlier decisions move to the new result. This can’t be undone, but you can change the placement again.</p>`,
    ],
    button: 'Change placement',
    to: sentTo(visit),
    danger: true,
    fields: (f) => [
      f.choose('level', 'Placement', levels, { initial: content.working_level ?? '' }),
      decisionFields(f, result, 'Reason'),
    ],
  });
}

async function place(visit: Visit, result: ReviewedResult) {
  const { app, base, organisationId, form: sent } = visit;
  const { decision, faults } = readDecision(visit, result, true);
  const { of, content } = result;
  const placement = placementsOf(content.subject).get(sent.text('level'));
  if (placement === undefined) faults.level = 'Choose a placement.';
  if (isFaulty(faults)) return again(faults);
  const withReason = { ...decision, reason: decision.reason! };
  const made = await prepareReplacement(app, organisationId, of.assessment_id, placement!, withReason.reason);
  if (made === 'same') return again({ level: 'The result already has this level. Choose another level.' });
  if (made === 'gone') return refused(visit, made);
  const { assessment_id: id } = made.to;
  const recordIt = (work: UnitOfWork) => recordAgain(work, organisationId, made, withReason);
  return decided(visit, result, recordIt, { id, did: 'changed', to: `${base}/review/${id}` });
}

const yesNo = { yes: 'Yes', no: 'No' };

/** The page amends only some fields. The command line can also amend domains and probabilities. */
async function amendPage(visit: Visit, result: ReviewedResult): Promise<Answer> {
  const { form: sent } = visit;
  const numbers = await consequencesOf(visit, result);
  const back = backTo(visit, result);
  const { content } = result;
  const isSent = sent.text('version') !== '';
  const stored = {
    framework: content.framework,
    working_level: content.working_level ?? '',
    recommended_next_level: content.recommended_next_level ?? '',
    is_borderline: content.is_borderline ? 'yes' : 'no',
    needs_review: content.needs_review ? 'yes' : 'no',
  };
  return formPage(visit, {
    title: 'Amend result?',
    back,
    intro: [
      whose(result),
      html`<p>1 result is amended. Platforms that use the organisation’s ${count(numbers.keys, 'key')} get it again at their next poll. The next download creates edition ${numbers.editions + 1} of its evidence pack, which shows the change and the reason. Webhook endpoints get no event. You can amend the result again.</p><p>The level, subject and date can’t be amended. <a href="${visit.base}/review/${result.of.assessment_id}/place">Change placement</a> instead.</p>`,
    ],
    button: 'Amend result',
    ...(!isSent && { shown: stored }),
    to: sentTo(visit),
    danger: true,
    fields: (f) => [
      f.text('framework', 'Framework'),
      f.text('working_level', 'Working level', { hint: 'A step within the level, such as “Entry 2”. Can be empty.' }),
      f.text('recommended_next_level', 'Recommended next level', { hint: 'Such as “Level 1”. Can be empty.' }),
      f.select('is_borderline', 'API flag Borderline', yesNo),
      f.select('needs_review', 'Scoring methods a level or more apart', yesNo),
      decisionFields(f, { ...result, waiting: null }, 'Reason'),
    ],
  });
}

function readFields({ form: sent }: Visit, { content }: ReviewedResult): Record<string, unknown> {
  const fields = {
    framework: sent.text('framework'),
    working_level: sent.text('working_level') || null,
    recommended_next_level: sent.text('recommended_next_level') || null,
    is_borderline: sent.text('is_borderline') === 'yes',
    needs_review: sent.text('needs_review') === 'yes',
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => content[field as keyof typeof fields] !== value),
  );
}

async function amend(visit: Visit, result: ReviewedResult) {
  const { base, organisationId } = visit;
  const { decision, faults } = readDecision(visit, { ...result, waiting: null }, true);
  const fields = readFields(visit, result);
  let amendment: Amendment = {};
  if (Object.keys(fields).length === 0) faults.framework = 'No field is changed. Change at least one field.';
  else
    try {
      amendment = readAmendment(fields);
    } catch (error) {
      if (!(error instanceof RecordRefused)) throw error;
      for (const { field, expected } of error.faults) faults[field] = `Expected: ${expected}.`;
    }
  if (isFaulty(faults)) return again(faults);
  const id = result.of.assessment_id;
  const amendIt = async (work: UnitOfWork) => {
    // The answer is empty, because an amendment does not answer the learner's request for a review.
    const found = await openReview(work, organisationId, id, { ...decision, answer: '' });
    if (isRefusal(found)) return found;
    await amendAssessment(work, organisationId, id, amendment, { actor: decision.actor, reason: decision.reason! });
    return null;
  };
  return decided(visit, result, amendIt, { id, did: 'amended', to: `${base}/review/${id}` });
}
