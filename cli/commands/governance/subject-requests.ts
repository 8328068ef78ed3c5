import type { RequestStep } from '../../../src/governance/subject-requests/subject-requests.ts';
import {
  acknowledgeBy,
  requestKinds,
  findRequest,
  listRequests,
  listEntries,
  openRequest,
  outcomes,
  addEntry,
} from '../../../src/governance/subject-requests/subject-requests.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { type Command, type Declaration, type Options, type Values, Misuse } from '../../kit/command.ts';
import { maybeLearner, namedLearner } from '../../kit/learner-argument.ts';
import { allOf, foundById, missing, operator, organisationCommand, orMissing } from '../../kit/open.ts';
import { line, or, required, time, uuid, word } from '../../kit/options.ts';
import { listOf } from '../../kit/table.ts';

const text = or(line('NOTE', limits.reasonChars), null);
const requiredNote = { text: required(text) };

const kinds = Object.keys(requestKinds) as (keyof typeof requestKinds)[];
const ends = Object.keys(outcomes) as (keyof typeof outcomes)[];

const dayOf = (at: Date | null) => at?.toISOString().slice(0, 10) ?? null;

function stepCommand<O extends Options>(
  name: string,
  texts: Pick<Declaration<O>, 'summary' | 'examples' | 'about'>,
  options: O,
  stepOf: (options: Values<O>) => RequestStep,
): Command {
  return organisationCommand({
    name: `case ${name}`,
    ...texts,
    takes: 'CASE_ID',
    options,
    run: async ({ organisationId, act, positionals, ...call }) => {
      const caseId = positionals[0]!.toLowerCase();
      const step = stepOf(call.options);
      await act(caseId, async (work) => {
        const done = isUuid(caseId) && (await addEntry(work, organisationId, caseId, { ...step, actor: operator }));
        if (!done) throw missing('case in which this can be done', caseId);
      });
      return { json: { case_id: caseId, step: step.kind }, text: 'The entry is saved.' };
    },
  });
}

export const commands: Command[] = [
  organisationCommand({
    name: 'case open',
    summary: 'Record a data subject request',
    examples: [
      '--organisation $ORG L-1001 --kind access',
      '--organisation $ORG --kind complaint --about "A former learner" --received 2026-11-20',
    ],
    about: {
      kind: 'The kind of request',
      learnerId: "The learner's ID, instead of a reference",
      about: 'Who asks, if it is no learner',
      received: 'When the request was received (default: now)',
      text: 'A note',
    },
    takes: '[REF|--learner-id ID]',
    options: {
      kind: required(word(kinds)),
      learnerId: uuid(),
      about: or(line('WHO', limits.reasonChars), null),
      received: time(),
      text,
    },
    prepare(call) {
      const who = maybeLearner(call);
      if (who === null && call.options.about === null) throw new Misuse('name a learner, or say by --about who asks');
      return who;
    },
    run: async ({ app, organisationId, act, prepared: who, options: { kind, about, received, text: note } }) => {
      const learnerId = who === null ? null : (await namedLearner(app, organisationId, who)).learner_id;
      const receivedAt = received ?? new Date(app.clock.nowMs());
      if (receivedAt.getTime() > app.clock.nowMs()) throw new Misuse('--received must not be in the future');
      const request = { caseId: app.random.uuid(), kind, learnerId, about, receivedAt, note, actor: operator };
      const found = await act(request.caseId, async (work) => {
        await openRequest(work, organisationId, request).catch(orMissing('learner', learnerId ?? ''));
        return (await findRequest(work.tx, organisationId, request.caseId))!;
      });
      return {
        json: { case_id: found.case_id, due_at: found.due_at },
        text: `The case ${found.case_id} is open until ${dayOf(found.due_at)}.`,
      };
    },
  }),
  organisationCommand({
    name: 'case list',
    summary: 'List data subject requests by due date',
    examples: ['--organisation $ORG', '--organisation $ORG --state closed'],
    about: { state: 'Open or closed requests' },
    options: { state: or(word(['open', 'closed']), 'open' as const) },
    run: async ({ app, organisation, organisationId, note, options: { state } }) => {
      const rows = await allOf((from, limit) => listRequests(app.db, organisationId, { state, from, limit }));
      await note(state);
      return listOf(rows, [
        ['Case', 'case_id'],
        ['Kind', 'kind'],
        ['Learner', 'learner_id'],
        ['Received', (row) => dayOf(row.received_at)],
        ['Due', (row) => dayOf(row.due_at)],
        ['Acknowledge by', (row) => dayOf(acknowledgeBy(row, organisation.time_zone))],
        ['State', (row) => row.outcome ?? (row.paused_since === null ? 'open' : 'paused')],
      ]);
    },
  }),
  organisationCommand({
    name: 'case show',
    summary: 'Show a data subject request with its steps',
    examples: ['--organisation $ORG CASE_ID', '--organisation $ORG CASE_ID --json'],
    takes: 'CASE_ID',
    run: async ({ app, organisation, organisationId, note, positionals }) => {
      const found = await foundById('case', positionals[0]!, (id) => findRequest(app.db, organisationId, id));
      const { case_id: caseId } = found;
      const entries = await listEntries(app.db, organisationId, caseId);
      await note(caseId);
      const { kind, due_at, outcome } = found;
      const by = dayOf(acknowledgeBy(found, organisation.time_zone));
      return {
        json: { ...found, acknowledge_by: by, entries },
        text: [
          `${requestKinds[kind]}; due ${dayOf(due_at)}${by === null ? '' : `; acknowledge by ${by}`}${outcome === null ? '' : `; closed: ${outcomes[outcome]}`}`,
          ...entries.map((one) => `${one.at.toISOString()}  ${one.kind}  ${one.text ?? ''}`.trimEnd()),
        ].join('\n'),
      };
    },
  }),
  stepCommand(
    'note',
    {
      summary: 'Add a note to a data subject request',
      examples: [
        '--organisation $ORG CASE_ID --text "Called back"',
        '--organisation $ORG CASE_ID --text "Called back" --json',
      ],
      about: { text: 'The note' },
    },
    requiredNote,
    (note) => ({ kind: 'note', ...note }),
  ),
  stepCommand(
    'pause',
    {
      summary: 'Pause the response period of a request',
      examples: [
        '--organisation $ORG CASE_ID --text "Identity asked"',
        '--organisation $ORG CASE_ID --text "Clarification asked" --json',
      ],
      about: { text: 'The reason' },
    },
    requiredNote,
    (note) => ({ kind: 'paused', ...note }),
  ),
  stepCommand(
    'resume',
    {
      summary: 'Resume the response period of a request',
      examples: ['--organisation $ORG CASE_ID', '--organisation $ORG CASE_ID --json'],
    },
    {},
    () => ({ kind: 'resumed', text: null }),
  ),
  stepCommand(
    'extend',
    {
      summary: 'Extend the response period by 2 months',
      examples: [
        '--organisation $ORG CASE_ID --text "Many records"',
        '--organisation $ORG CASE_ID --text "Many records" --json',
      ],
      about: { text: 'The reason' },
    },
    requiredNote,
    (note) => ({ kind: 'extended', ...note }),
  ),
  stepCommand(
    'close',
    {
      summary: 'Close a data subject request with its outcome',
      examples: [
        '--organisation $ORG CASE_ID --outcome done',
        '--organisation $ORG CASE_ID --outcome refused --text "No such person"',
      ],
      about: { outcome: 'The outcome', text: 'A note for the record' },
    },
    { outcome: required(word(ends)), text },
    (end) => ({ kind: 'closed', ...end }),
  ),
];
