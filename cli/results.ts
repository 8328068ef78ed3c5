import { amendAssessment, readAmendment } from '../src/assessments/amend.ts';
import type { Command } from './command.ts';
import { readJsonFile } from './file.ts';
import { operator, organisationCommand, orMissing } from './open.ts';
import { reason } from './options.ts';
import { commands as historyCommands } from './results-history.ts';
import { listResults } from './results-list.ts';
import { importResults } from './results-import.ts';
import { reportCommands } from './results-reports.ts';
import { assessmentId, commands as reviewCommands } from './results-review.ts';

export const commands: Command[] = [
  ...historyCommands,
  listResults,
  ...reportCommands,
  importResults,
  organisationCommand({
    name: 'results amend',
    summary: 'Amend a result with the fields of a JSON object',
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
