import { findLive, findReviews } from '../src/assessments/assessments.ts';
import { contentOf } from '../src/assessments/body.ts';
import { limits } from '../src/limits.ts';
import { isStorableLines } from '../src/personal-data.ts';
import type { Refusal } from '../src/reviews/decide.ts';
import { confirmResult, withdrawReviewed } from '../src/reviews/decide.ts';
import type { Filter, Why } from '../src/reviews/queue.ts';
import { findWaiting, ranks } from '../src/reviews/queue.ts';
import { recordAgain } from '../src/reviews/record-again.ts';
import { placementsOf, prepareReplacement } from '../src/reviews/replacement.ts';
import type { Subject } from '../src/scoring/levels.ts';
import { subjects } from '../src/scoring/levels.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import {
  act,
  missing,
  numberOption,
  operator,
  option,
  organisationOf,
  readReason,
  requiredOption,
  table,
  textOption,
  withApp,
  wordOption,
} from './open.ts';

export function assessmentId(call: Call): string {
  const id = call.positionals[0]!.toLowerCase();
  if (!isUuid(id)) throw new Misuse('the assessment id must be a UUID');
  return id;
}

/** What a learner is told who asked for a review. */
function answerOption(call: Call): string | null {
  const answer = option(call, 'answer');
  if (answer === undefined) return null;
  if (!isStorableLines(answer, limits.reviewTextChars))
    throw new Misuse(
      `--answer must be text of 1 to ${limits.reviewTextChars} characters without a National Insurance number`,
    );
  return answer;
}

const gone = (id: string): Failure => missing('result', id, { hint: ', or it was withdrawn already' });

const refusalWords: Record<Exclude<Refusal, 'gone'>, string> = {
  nothing_waits: 'Nobody has to look at this result: it bears no flag, or somebody has decided.',
  changed: 'The result has changed meanwhile. Try again.',
  unanswered: 'The learner asked for this review: say with --answer what they are told.',
  same_person: 'You decided on this result before, and the learner objects: an owner or admin decides, in the console.',
};

/** The result isn't what it was when the decision was made ready. */
class Changed extends Failure {}

/** @throws Failure where the decision wasn't taken, which takes back the unit of work */
function orFail(refusal: Refusal | null, id: string): void {
  if (refusal === null) return;
  if (refusal === 'changed') throw new Changed(refusalWords.changed);
  throw refusal === 'gone' ? gone(id) : new Failure(refusalWords[refusal]);
}

const organisationOption = { organisation: { type: 'string' } } as const;

async function runList(call: Call, filter: Filter) {
  const limit = numberOption(call, 'limit', 50, 1, 1000);
  return withApp(async (app) => {
    const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
    const found = await findWaiting(app.db, id, filter, { sight: null, after: null, limit });
    // Levels are personal data, so whoever reads them is in the log.
    await act(app, id, 'results review', () => Promise.resolve({ result: null, resource: null }));
    const data = found.map(({ body, assessed_at, full_name: _, rank: __, ...row }) => {
      const { working_level, rqf_level } = contentOf(body, assessed_at);
      return { ...row, assessed_at: new Date(assessed_at / 1000), level: working_level ?? rqf_level };
    });
    const rows = data.map((row) => [
      row.assessment_id,
      row.ref ?? '-',
      row.subject,
      row.level ?? '-',
      [...row.flags, ...(row.requested_at === null ? [] : ['request'])].join(', '),
      row.due_at === null ? '-' : row.due_at.toISOString().slice(0, 10),
    ]);
    const text =
      rows.length === 0 ? 'Nothing waits.' : table([['result', 'learner', 'subject', 'level', 'why', 'due'], ...rows]);
    return { json: { data }, text };
  });
}

async function runShow(call: Call) {
  const id = assessmentId(call);
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, requiredOption(call, 'organisation'));
    if ((await findLive(app.db, organisationId, id)) === undefined) throw gone(id);
    const data = await findReviews(app.db, organisationId, id);
    await act(app, organisationId, 'results review', () => Promise.resolve({ result: null, resource: id }));
    const text = data.map((one) =>
      [
        `${one.opened_at.toISOString()}  ${[...one.flags, ...(one.requested_at === null ? [] : ['request'])].join(', ')}`,
        ...(one.due_at === null
          ? []
          : [`    answer due ${one.due_at.toISOString().slice(0, 10)}: ${one.request ?? ''}`]),
        one.decided_at === null
          ? '    waits'
          : `    ${one.outcome} by ${one.decided_by} at ${one.decided_at.toISOString()}${one.answer === null ? '' : `: ${one.answer}`}`,
      ].join('\n'),
    );
    return {
      json: { assessment_id: id, data },
      text: text.length === 0 ? `${id} was never to be looked at.` : text.join('\n'),
    };
  });
}

async function runConfirm(call: Call) {
  const id = assessmentId(call);
  const reason = textOption(call, 'note', limits.reasonChars) ?? null;
  const answer = answerOption(call);
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, requiredOption(call, 'organisation'));
    await act(app, organisationId, 'results confirm', async (work) => {
      orFail(await confirmResult(work, organisationId, id, { actor: operator, reason, answer, seen: null }), id);
      return { result: null, resource: id };
    });
    return { json: { assessment_id: id, outcome: 'confirmed' }, text: `${id} is confirmed.` };
  });
}

/** How often a result that changes meanwhile is made ready again. */
const attempts = 5;

async function runPlace(call: Call) {
  const id = assessmentId(call);
  const level = requiredOption(call, 'level');
  const reason = readReason(call);
  const answer = answerOption(call);
  return withApp(async (app) => {
    const { organisation_id: organisationId } = await organisationOf(app, requiredOption(call, 'organisation'));
    const row = await findLive(app.db, organisationId, id);
    if (row === undefined) throw gone(id);
    const placements = placementsOf(contentOf(row.body, row.assessed_at).subject);
    const placement = placements.get(level);
    if (placement === undefined) throw new Misuse(`--level must be one of ${[...placements.keys()].join(', ')}`);
    for (let attempt = 1; ; attempt++) {
      const made = await prepareReplacement(app, organisationId, id, placement, reason);
      if (made === 'gone') throw gone(id);
      if (made === 'same') throw new Failure(`${id} is at ${level} already: nothing was changed.`);
      const to = made.to.assessment_id;
      try {
        await act(app, organisationId, 'results place', async (work) => {
          const decision = { actor: operator, reason, answer, seen: null };
          orFail(await recordAgain(work, organisationId, made, decision), id);
          return { result: null, resource: to };
        });
      } catch (error) {
        if (error instanceof Changed && attempt < attempts) continue;
        throw error;
      }
      return {
        json: { assessment_id: to, replaces: id, level },
        text: `${to} is at ${level}, and ${id} is withdrawn.`,
      };
    }
  });
}

async function runWithdraw(call: Call) {
  const id = assessmentId(call);
  const reason = readReason(call);
  const answer = answerOption(call);
  return withApp(async (app) => {
    const found = await organisationOf(app, requiredOption(call, 'organisation'));
    await act(app, found.organisation_id, 'results withdraw', async (work) => {
      const decision = { actor: operator, reason, answer, seen: null };
      orFail(await withdrawReviewed(work, found.organisation_id, id, decision), id);
      return { result: null, resource: id };
    });
    return { json: { assessment_id: id, status: 'deleted' }, text: `${id} is withdrawn.` };
  });
}

export const commands: Command[] = [
  {
    name: 'results review',
    usage: '--organisation ID [ASSESSMENT_ID] [--why W] [--subject S] [--asked] [--limit N]',
    summary: 'List the results that somebody has to look at, or show what was asked and decided of one',
    positionals: [0, 1],
    options: {
      ...organisationOption,
      why: { type: 'string' },
      subject: { type: 'string' },
      asked: { type: 'boolean' },
      limit: { type: 'string' },
    },
    run: (call) =>
      call.positionals.length === 1
        ? runShow(call)
        : runList(call, {
            why: wordOption<Why>(call, 'why', Object.keys(ranks) as Why[]) ?? null,
            subject: wordOption<Subject>(call, 'subject', subjects) ?? null,
            asked: call.options.asked === true,
          }),
  },
  {
    name: 'results confirm',
    usage: '--organisation ID ASSESSMENT_ID [--note N] [--answer A]',
    summary: 'Say that somebody has looked at a result, and that it stands',
    positionals: [1, 1],
    options: { ...organisationOption, note: { type: 'string' }, answer: { type: 'string' } },
    run: runConfirm,
  },
  {
    name: 'results place',
    usage: '--organisation ID ASSESSMENT_ID --level L --reason R [--answer A]',
    summary: 'Withdraw a result, and record it again at another level',
    positionals: [1, 1],
    options: {
      ...organisationOption,
      level: { type: 'string' },
      reason: { type: 'string' },
      answer: { type: 'string' },
    },
    run: runPlace,
  },
  {
    name: 'results withdraw',
    usage: '--organisation ID ASSESSMENT_ID --reason R [--answer A]',
    summary: 'Withdraw a result for good',
    positionals: [1, 1],
    options: { ...organisationOption, reason: { type: 'string' }, answer: { type: 'string' } },
    run: runWithdraw,
  },
];
