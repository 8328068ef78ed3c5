import { amendAssessment, readAmendment } from '../src/assessments/amend.ts';
import type { Amendment } from '../src/assessments/result-fields.ts';
import { RecordRefused } from '../src/assessments/result-fields.ts';
import type { Call, Command } from './command.ts';
import { Failure } from './command.ts';
import { readJsonFile } from './file.ts';
import { act, operator, organisationOf, orMissing, readReason, requiredOption, withApp } from './open.ts';
import { commands as historyCommands } from './results-history.ts';
import { listResults } from './results-list.ts';
import { importResults } from './results-import.ts';
import { reportCommands } from './results-reports.ts';
import { assessmentId, commands as reviewCommands } from './results-review.ts';

const noResult = (id: string) => orMissing('result', id, { hint: ', or it was withdrawn already' });

async function runAmend(call: Call) {
  const id = assessmentId(call);
  const reason = readReason(call);
  const file = call.positionals[1]!;
  let amendment: Amendment;
  try {
    amendment = readAmendment(await readJsonFile(file));
  } catch (error) {
    if (error instanceof RecordRefused) throw new Failure(error.message);
    throw error;
  }
  return withApp(async (app) => {
    const found = await organisationOf(app, requiredOption(call, 'organisation'));
    const changed = await act(app, found.organisation_id, 'results amend', async (work) => ({
      result: await amendAssessment(work, found.organisation_id, id, amendment, { actor: operator, reason }),
      resource: id,
    })).catch(noResult(id));
    return {
      json: { assessment_id: id, changed },
      text: changed ? `${id} is amended.` : `${id} already is as the amendment says; nothing was changed.`,
    };
  });
}

export const commands: Command[] = [
  ...historyCommands,
  listResults,
  ...reportCommands,
  importResults,
  {
    name: 'results amend',
    usage: '--organisation ID ASSESSMENT_ID --reason R FILE|-',
    summary: 'Amend a result with the fields of a JSON object',
    positionals: [2, 2],
    options: { organisation: { type: 'string' }, reason: { type: 'string' } },
    run: runAmend,
  },
  ...reviewCommands,
];
