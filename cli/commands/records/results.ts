import { type FieldChange, type HistoryEntry, historyOf } from '../../../src/records/results/lists/history.ts';
import { amendAssessment, readAmendment } from '../../../src/records/results/amend.ts';
import type { Command } from '../../kit/command.ts';
import { readJsonFile } from '../../kit/file.ts';
import { missing, operator, organisationCommand, orMissing } from '../../kit/open.ts';
import { reason } from '../../kit/options.ts';
import { listResults } from './results-list.ts';
import { importResults } from './results-import.ts';
import { reportCommands } from './results-reports.ts';
import { assessmentId, commands as reviewCommands } from './results-review.ts';

const shown = (value: unknown) => (value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value));

const changeLine = ({ field, before, after }: FieldChange) => `    ${field}: ${shown(before)} → ${shown(after)}`;

function entryText(entry: HistoryEntry): string {
  return [`${entry.at}  ${entry.kind} by ${entry.actor}: ${entry.reason}`, ...entry.changes.map(changeLine)].join('\n');
}

export const commands: Command[] = [
  organisationCommand({
    name: 'results history',
    summary: 'Show the changes of a result',
    notes: 'Each change has its time, author, reason, and the values before and after.',
    examples: ['--organisation $ORG ASSESSMENT_ID', '--organisation $ORG ASSESSMENT_ID --json'],
    takes: 'ASSESSMENT_ID',
    prepare: assessmentId,
    run: async ({ app, organisationId, note, prepared: id }) => {
      const data = await historyOf(app.db, organisationId, id);
      if (data === undefined) throw missing('result', id);
      // Scores and reasons are personal data, so the audit log records who reads them.
      await note(id);
      return {
        json: { assessment_id: id, data },
        text: data.length === 0 ? `${id} was never changed.` : data.map(entryText).join('\n'),
      };
    },
  }),
  listResults,
  ...reportCommands,
  importResults,
  organisationCommand({
    name: 'results amend',
    summary: 'Amend a result with the fields of a JSON object',
    examples: [
      '--organisation $ORG ASSESSMENT_ID amendment.json --reason "Wrong level"',
      '--organisation $ORG ASSESSMENT_ID - --reason "Wrong level" < amendment.json',
    ],
    about: { reason: 'The reason, for the audit log' },
    takes: 'ASSESSMENT_ID FILE|-',
    options: { reason },
    async prepare(call) {
      const id = assessmentId(call);
      return { id, amendment: readAmendment(await readJsonFile(call.positionals[1]!)) };
    },
    run: async ({ organisationId, act, prepared: { id, amendment }, options }) => {
      const by = { actor: operator, reason: options.reason };
      const changed = await act(id, (work) => amendAssessment(work, organisationId, id, amendment, by)).catch(
        orMissing('result', id, { hint: ', or it was withdrawn already' }),
      );
      return {
        json: { assessment_id: id, changed },
        text: changed ? `${id} is amended.` : `${id} already is as the amendment says; nothing was changed.`,
      };
    },
  }),
  ...reviewCommands,
];
