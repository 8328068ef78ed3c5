import { confirmResult, versionOf } from '../../../governance/result-reviews/decide.ts';
import { assignReviews } from '../../../records/results/reviews.ts';
import { reviewers } from '../../../organisations/users/roles.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isStorableText } from '../../../platform/validation/personal-data.ts';
import { html } from '../../../platform/html/html.ts';
import { count } from '../kit/blocks.ts';
import { type Faults, chosenIds, hiddenField } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { confirmPage, messagePage } from '../kit/page.ts';
import { visibilityOf } from '../kit/reader.ts';
import { type Answer, type ConsoleRoute, type Visit, post } from '../kit/route.ts';
import { reasonFault, refusalWords } from './change.ts';
import { type ReviewedResult, findResult } from './result.ts';
import { assignees, keptQueue, levelWords, visibleTo } from './review.ts';
import { withQuery } from '../kit/paging.ts';
import { table } from '../kit/table.ts';

/** Decides on several results of the queue together, or assigns them to a person. */
export const reviewChosenRoutes: ConsoleRoute[] = [
  post('/review/chosen', reviewers, chosen),
  post('/review/confirm', reviewers, confirm),
];

const queueOf = ({ base, query }: Visit, did: string | null = null): string =>
  withQuery(`${base}/review`, keptQueue(query), { did });

const message = (visit: Visit, title: string, says: string, status?: number): Answer => ({
  ...messagePage(title, says),
  back: { to: queueOf(visit), label: 'Reviews' },
  status,
});

async function chosen(visit: Visit): Promise<Answer> {
  const ids = chosenIds(visit, 'review').slice(0, limits.consoleRows);
  if (ids.length === 0) return message(visit, 'No result is selected', 'Go back and tick the results.', 422);
  return visit.form.raw('press') === 'assign' ? assign(visit, ids) : showConfirm(visit, ids);
}

async function assign(visit: Visit, ids: readonly string[]): Promise<Answer> {
  const { organisationId, form: sent, change } = visit;
  const person = sent.raw('person');
  const member = (await assignees(visit)).get(person);
  if (member === undefined && person !== 'none')
    return message(visit, 'No person is chosen', 'Go back and choose the person who should decide.', 422);
  const [visibility, visibleToAssignee] = await Promise.all([visibilityOf(visit), visibleTo(visit, member)]);
  const options = { to: member?.user_id ?? null, visibility, visibleToAssignee };
  const assigned = await change(
    (work) => assignReviews(work, organisationId, ids, options),
    (n) => n > 0 && `${person}: ${count(n, 'result')}`,
  );
  if (assigned === ids.length) return { to: queueOf(visit, 'assigned') };
  return message(
    visit,
    `${assigned} of ${count(ids.length, 'result')} assigned`,
    'The other results are already decided, or their learners are in no team of the tutor.',
    409,
  );
}

async function openAll(visit: Visit, ids: readonly string[]): Promise<ReviewedResult[]> {
  const visibility = await visibilityOf(visit);
  const found = await Promise.all(ids.map((id) => findResult(visit, visibility, id)));
  return found.filter((one) => one !== undefined);
}

/** A learner who asked for a review gets an answer, so these results are decided one by one. */
async function showConfirm(visit: Visit, ids: readonly string[], faults: Faults = {}): Promise<Answer> {
  const found = await openAll(visit, ids);
  const open = found.filter((one) => one.waiting !== null && one.waiting.requested_at === null);
  const others = ids.length - open.length;
  const why = `${count(others, 'result')} can’t be confirmed here: decided, withdrawn, or requested by the learner, who needs an answer.`;
  if (open.length === 0) return message(visit, 'There is nothing to confirm', why, 409);
  return confirmPage(visit, {
    title: `Confirm ${count(open.length, 'result')}?`,
    back: { to: queueOf(visit), label: 'Reviews' },
    faults,
    says: [
      ...(others === 0 ? [] : [why]),
      'Platforms and the next evidence packs show the date of the review. The reason is the same for all.',
    ],
    intro: table<ReviewedResult>('Selected results', open, {
      Learner: ({ of }) => name(of.full_name),
      Subject: ({ content }) => shortSubjectNames[content.subject],
      Placement: ({ row }) => levelWords(row),
    }),
    fields: (f) => [
      open.map(({ of, row, reviews }) => [
        hiddenField('review', of.assessment_id),
        hiddenField(`version-${of.assessment_id}`, versionOf(row, reviews)),
      ]),
      f.text('reason', 'Reason', { hint: 'The histories and the evidence packs show it. No names.' }),
    ],
    to: withQuery(`${visit.base}/review/confirm`, keptQueue(visit.query), {}),
    button: `Confirm ${count(open.length, 'result')}`,
    danger: false,
  });
}

/** Each result is confirmed in its own transaction, so that a refusal of one does not stop the others. */
async function confirm(visit: Visit): Promise<Answer> {
  const { organisationId, userId: actor, form: sent, change } = visit;
  const ids = chosenIds(visit, 'review').slice(0, limits.consoleRows);
  const reason = sent.text('reason');
  if (ids.length === 0) return message(visit, 'No result is selected', 'Go back and tick the results.', 422);
  if (!isStorableText(reason, limits.reasonChars)) return showConfirm(visit, ids, { reason: reasonFault });
  const refused: [who: string, why: string][] = [];
  const results = await openAll(visit, ids);
  for (const { of } of results) {
    const id = of.assessment_id;
    const decision = { actor, reason, answer: null, version: sent.text(`version-${id}`) };
    const refusal = await change(
      (work) => confirmResult(work, organisationId, id, decision),
      (result) => result === null && id,
    );
    if (refusal !== null) refused.push([of.full_name, refusalWords[refusal][0]]);
  }
  const done = results.length - refused.length;
  if (done === ids.length) return { to: queueOf(visit, 'all') };
  return {
    ...message(visit, `${done} of ${count(ids.length, 'result')} confirmed`, '', 409),
    main: [
      html`<p>The others changed while you decided. Check them one by one.</p>`,
      table({ caption: 'Not confirmed', none: null }, refused, {
        Learner: ([who]) => name(who),
        Why: ([, why]) => why,
      }),
    ],
  };
}
