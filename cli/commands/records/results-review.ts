import { findLive, findReviews } from '../../../src/records/results/results.ts';
import { contentOf } from '../../../src/records/results/body.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { isStorableLines } from '../../../src/platform/validation/personal-data.ts';
import { type Refusal, confirmResult, withdrawReviewed } from '../../../src/governance/result-reviews/decide.ts';
import { type Filter, type Why, findWaiting, ranks } from '../../../src/governance/result-reviews/queue.ts';
import { recordAgain } from '../../../src/governance/result-reviews/record-again.ts';
import { placementsOf, prepareReplacement } from '../../../src/governance/result-reviews/replacement.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Call, type Command, type Output, Failure, Misuse } from '../../kit/command.ts';
import { type Inside, missing, operator, organisationCommand } from '../../kit/open.ts';
import { checked, flag, limit, line, or, reason, required, text, word } from '../../kit/options.ts';
import { tableOf } from '../../kit/table.ts';

/** @throws Misuse if the ID is no UUID */
export function assessmentId({ positionals: [id] }: Pick<Call, 'positionals'>): string {
  if (!isUuid(id!.toLowerCase())) throw new Misuse('the assessment ID must be a UUID');
  return id!.toLowerCase();
}

const answer = or(
  checked('A', `text of 1 to ${limits.reviewTextChars} characters without a National Insurance number`, (input) =>
    isStorableLines(input, limits.reviewTextChars),
  ),
  null,
);

const gone = (id: string): Failure => missing('result', id, { hint: ', or it was withdrawn already' });

const refusalWords: Record<Exclude<Refusal, 'gone'>, string> = {
  nothing_waits: 'This result needs no review: it has no flag, or a person has decided.',
  changed: 'The result has changed meanwhile. Try again.',
  unanswered: 'The learner asked for this review: say with --answer what they are told.',
  same_person: 'You decided on this result before, and the learner objects: an owner or admin decides, in the console.',
};

/** The result has changed since the decision was prepared, so the command may try again. */
class Changed extends Failure {}

/** @throws Failure for a refusal, which rolls back the unit of work */
function orFail(refusal: Refusal | null, id: string): void {
  if (refusal === null) return;
  if (refusal === 'changed') throw new Changed(refusalWords.changed);
  throw refusal === 'gone' ? gone(id) : new Failure(refusalWords[refusal]);
}

const dayOf = (at: Date) => at.toISOString().slice(0, 10);
const whyOf = ({ flags, requested_at }: { flags: string[]; requested_at: Date | null }) =>
  [...flags, ...(requested_at === null ? [] : ['request'])].join(', ');

async function list({ app, organisationId, note }: Inside, filter: Filter, max: number): Promise<Output> {
  const found = await findWaiting(app.db, organisationId, filter, { visibility: null, after: null, limit: max });
  // Levels are personal data, so the audit log records who reads them.
  await note(null);
  const data = found.map(({ body, assessed_at, full_name: _, rank: __, ...row }) => {
    const { working_level, rqf_level } = contentOf(body, assessed_at);
    return { ...row, assessed_at: new Date(assessed_at / 1000), level: working_level ?? rqf_level };
  });
  const rows = tableOf(data, [
    ['result', 'assessment_id'],
    ['learner', (row) => row.ref ?? '-'],
    'subject',
    ['level', (row) => row.level ?? '-'],
    ['why', whyOf],
    ['due', (row) => (row.due_at === null ? '-' : dayOf(row.due_at))],
  ]);
  return { json: { data }, text: data.length === 0 ? 'Nothing waits.' : rows };
}

async function show({ app, organisationId, note }: Inside, id: string): Promise<Output> {
  if ((await findLive(app.db, organisationId, id)) === undefined) throw gone(id);
  const data = await findReviews(app.db, organisationId, id);
  await note(id);
  const lines = data.flatMap((one) => [
    `${one.opened_at.toISOString()}  ${whyOf(one)}`,
    ...(one.due_at === null ? [] : [`    answer due ${dayOf(one.due_at)}: ${one.request ?? ''}`]),
    one.decided_at === null
      ? '    waits'
      : `    ${one.outcome} by ${one.decided_by} at ${one.decided_at.toISOString()}${one.answer === null ? '' : `: ${one.answer}`}`,
  ]);
  return {
    json: { assessment_id: id, data },
    text: data.length === 0 ? `${id} was never to be looked at.` : lines.join('\n'),
  };
}

/** A result may change before its decision is committed, so the command tries a decision at most this many times. */
const maxAttempts = 5;

const takes = 'ASSESSMENT_ID';

export const commands: Command[] = [
  organisationCommand({
    name: 'results review',
    summary: 'List results for human review, or show one',
    examples: ['--organisation $ORG', '--organisation $ORG ASSESSMENT_ID'],
    about: {
      why: 'Only results with this reason for review',
      subject: 'Only this subject',
      asked: 'Only results whose learner asked for a review',
      limit: 'The most rows to print',
    },
    takes: `[${takes}]`,
    options: {
      why: or(word(Object.keys(ranks) as Why[], 'W'), null),
      subject: or(word(subjects, 'S'), null),
      asked: flag,
      limit: limit(50, 1000),
    },
    prepare: (call) => (call.positionals.length === 0 ? null : assessmentId(call)),
    run: async (call) => {
      const { why, subject, asked, limit: max } = call.options;
      return call.prepared === null ? list(call, { why, subject, asked }, max) : show(call, call.prepared);
    },
  }),
  organisationCommand({
    name: 'results confirm',
    summary: 'Confirm a result after human review',
    examples: ['--organisation $ORG ASSESSMENT_ID', '--organisation $ORG ASSESSMENT_ID --note "Work seen"'],
    about: { note: 'A note about the review', answer: 'The answer that the learner reads' },
    takes,
    options: { note: or(line('N', limits.reasonChars), null), answer },
    prepare: assessmentId,
    run: async ({ organisationId, act, prepared: id, options }) => {
      const decision = { actor: operator, reason: options.note, answer: options.answer, version: null };
      await act(id, async (work) => orFail(await confirmResult(work, organisationId, id, decision), id));
      return { json: { assessment_id: id, outcome: 'confirmed' }, text: `${id} is confirmed.` };
    },
  }),
  organisationCommand({
    name: 'results place',
    summary: 'Withdraw a result and record it at another level',
    examples: [
      '--organisation $ORG ASSESSMENT_ID --level level-1 --reason "Portfolio seen"',
      '--organisation $ORG ASSESSMENT_ID --level entry-3 --reason "Portfolio seen" --answer "We have changed your level."',
    ],
    about: {
      level: 'The new level',
      reason: 'The reason, for the audit log',
      answer: 'The answer that the learner reads',
    },
    takes,
    options: { level: required(text('L')), reason, answer },
    prepare: assessmentId,
    run: async ({ app, organisationId, act, prepared: id, options }) => {
      const { level, reason: why } = options;
      const row = await findLive(app.db, organisationId, id);
      if (row === undefined) throw gone(id);
      const placements = placementsOf(contentOf(row.body, row.assessed_at).subject);
      const placement = placements.get(level);
      if (placement === undefined) throw new Misuse(`--level must be one of ${[...placements.keys()].join(', ')}`);
      for (let attempt = 1; ; attempt++) {
        const made = await prepareReplacement(app, organisationId, id, placement, why);
        if (made === 'gone') throw gone(id);
        if (made === 'same') throw new Failure(`${id} is at ${level} already: nothing was changed.`);
        const to = made.to.assessment_id;
        const decision = { actor: operator, reason: why, answer: options.answer, version: null };
        try {
          await act(to, async (work) => orFail(await recordAgain(work, organisationId, made, decision), id));
        } catch (error) {
          if (error instanceof Changed && attempt < maxAttempts) continue;
          throw error;
        }
        return {
          json: { assessment_id: to, replaces: id, level },
          text: `${to} is at ${level}, and ${id} is withdrawn.`,
        };
      }
    },
  }),
  organisationCommand({
    name: 'results withdraw',
    summary: 'Withdraw a result',
    notes: 'A withdrawal cannot be undone. Clients get a tombstone.',
    examples: [
      '--organisation $ORG ASSESSMENT_ID --reason "Wrong learner"',
      '--organisation $ORG ASSESSMENT_ID --reason "Wrong learner" --answer "Please take it again."',
    ],
    about: { reason: 'The reason, for the audit log', answer: 'The answer that the learner reads' },
    takes,
    options: { reason, answer },
    prepare: assessmentId,
    run: async ({ organisationId, act, prepared: id, options }) => {
      const decision = { actor: operator, reason: options.reason, answer: options.answer, version: null };
      await act(id, async (work) => orFail(await withdrawReviewed(work, organisationId, id, decision), id));
      return { json: { assessment_id: id, status: 'deleted' }, text: `${id} is withdrawn.` };
    },
  }),
];
