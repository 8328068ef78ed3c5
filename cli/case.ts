import type { CaseStep } from '../src/cases/cases.ts';
import {
  AboutErased,
  caseKinds,
  findCase,
  isCaseKind,
  isOutcome,
  listCases,
  listEntries,
  openCase,
  outcomes,
  takeStep,
} from '../src/cases/cases.ts';
import { limits } from '../src/limits.ts';
import { isUuid } from '../src/uuid.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { namedLearner, readLearner } from './named-learner.ts';
import {
  act,
  allOf,
  missing,
  operator,
  option,
  organisationOf,
  orMissing,
  requiredOption,
  requiredText,
  table,
  textOption,
  timeOption,
  withApp,
} from './open.ts';

const text = { type: 'string' } as const;

/** A step in an open case. */
function stepCommand(
  name: string,
  summary: string,
  usage: string,
  options: Record<string, { type: 'string' }>,
  readStep: (call: Call) => CaseStep,
): Command {
  return {
    name: `case ${name}`,
    usage: `--organisation ID CASE_ID ${usage}`,
    summary,
    positionals: [1, 1],
    options: { organisation: text, ...options },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const caseId = call.positionals[0]!.toLowerCase();
      const step = readStep(call);
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        await act(app, organisation_id, `case ${name}`, async (work) => {
          const done =
            isUuid(caseId) &&
            (await takeStep(work, organisation_id, caseId, { ...step, actor: operator }).catch((error: unknown) => {
              throw error instanceof AboutErased ? new Failure(error.message) : error;
            }));
          if (!done) throw missing('case in which this can be done', caseId);
          return { result: null, resource: caseId };
        });
        return { json: { case_id: caseId, step: step.kind }, text: 'It is kept.' };
      });
    },
  };
}

const noteOf = (call: Call): string => requiredText(call, 'text', limits.reasonChars);

export const commands: Command[] = [
  {
    name: 'case open',
    usage: `--organisation ID --kind KIND [REF|--learner-id ID] [--about WHO] [--received TIME] [--text NOTE]`,
    summary: 'Open a case: a request of somebody about their data, or a complaint',
    positionals: [0, 1],
    options: {
      organisation: text,
      kind: text,
      'learner-id': text,
      about: text,
      received: text,
      text,
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const kind = requiredOption(call, 'kind');
      if (!isCaseKind(kind)) throw new Misuse(`--kind must be one of ${Object.keys(caseKinds).join(', ')}`);
      const isNamed = call.positionals.length > 0 || option(call, 'learner-id') !== undefined;
      const who = isNamed ? readLearner(call) : null;
      const about = textOption(call, 'about', limits.reasonChars) ?? null;
      if (who === null && about === null) throw new Misuse('name a learner, or say by --about who asks');
      const note = textOption(call, 'text', limits.reasonChars) ?? null;
      const received = timeOption(call, 'received');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const learnerId = who === null ? null : (await namedLearner(app, organisation_id, who)).learner_id;
        const receivedAt = new Date(received === null ? app.clock.nowMs() : received / 1000);
        if (receivedAt.getTime() > app.clock.nowMs()) throw new Misuse('--received must not be in the future');
        const found = await act(app, organisation_id, 'case open', async (work) => {
          const caseId = work.uuid();
          const given = { caseId, kind, learnerId, about, receivedAt, note, actor: operator };
          await openCase(work, organisation_id, given).catch(orMissing('learner', learnerId ?? ''));
          return { result: (await findCase(work.tx, organisation_id, caseId))!, resource: caseId };
        });
        return {
          json: { case_id: found.case_id, due_at: found.due_at },
          text: `The case ${found.case_id} is open until ${found.due_at.toISOString().slice(0, 10)}.`,
        };
      });
    },
  },
  {
    name: 'case list',
    usage: '--organisation ID [--state open|closed]',
    summary: 'List cases: open ones by when they are due',
    options: { organisation: text, state: text },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const state = option(call, 'state') ?? 'open';
      if (state !== 'open' && state !== 'closed') throw new Misuse('--state must be open or closed');
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const rows = await allOf((from, limit) => listCases(app.db, organisation_id, { state, from, limit }));
        await act(app, organisation_id, 'case list', async () => ({ result: null, resource: state }));
        return {
          json: { data: rows },
          text: table([
            ['Case', 'Kind', 'Learner', 'Received', 'Due', 'State'],
            ...rows.map((row) => [
              row.case_id,
              row.kind,
              row.learner_id ?? '',
              row.received_at.toISOString().slice(0, 10),
              row.due_at.toISOString().slice(0, 10),
              row.outcome ?? (row.paused_since === null ? 'open' : 'paused'),
            ]),
          ]),
        };
      });
    },
  },
  {
    name: 'case show',
    usage: '--organisation ID CASE_ID',
    summary: 'Show a case with what was done in it',
    positionals: [1, 1],
    options: { organisation: text },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const caseId = call.positionals[0]!.toLowerCase();
      return withApp(async (app) => {
        const { organisation_id } = await organisationOf(app, id);
        const found = isUuid(caseId) ? await findCase(app.db, organisation_id, caseId) : undefined;
        if (found === undefined) throw missing('case', caseId);
        const entries = await listEntries(app.db, organisation_id, caseId);
        await act(app, organisation_id, 'case show', async () => ({ result: null, resource: caseId }));
        return {
          json: { ...found, entries },
          text: [
            `${caseKinds[found.kind]}; due ${found.due_at.toISOString().slice(0, 10)}${found.outcome === null ? '' : `; closed: ${outcomes[found.outcome]}`}`,
            ...entries.map((one) => `${one.at.toISOString()}  ${one.kind}  ${one.text ?? ''}`.trimEnd()),
          ].join('\n'),
        };
      });
    },
  },
  stepCommand('note', 'Add a note to a case', '--text NOTE', { text }, (call) => ({
    kind: 'note',
    text: noteOf(call),
  })),
  stepCommand('pause', 'Stop the clock of a case, with the reason', '--text WHY', { text }, (call) => ({
    kind: 'paused',
    text: noteOf(call),
  })),
  stepCommand('resume', 'Let the clock of a case go on', '', {}, () => ({ kind: 'resumed', text: null })),
  stepCommand('extend', 'Take two more months for a case, with the reason', '--text WHY', { text }, (call) => ({
    kind: 'extended',
    text: noteOf(call),
  })),
  stepCommand(
    'close',
    'Close a case with its outcome',
    `--outcome ${Object.keys(outcomes).join('|')} [--text NOTE]`,
    { outcome: text, text },
    (call) => {
      const outcome = requiredOption(call, 'outcome');
      if (!isOutcome(outcome)) throw new Misuse(`--outcome must be one of ${Object.keys(outcomes).join(', ')}`);
      return { kind: 'closed', outcome, text: textOption(call, 'text', limits.reasonChars) ?? null };
    },
  ),
];
