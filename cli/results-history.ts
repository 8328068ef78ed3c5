import { historyOf } from '../src/assessments/history.ts';
import type { FieldChange, HistoryEntry } from '../src/assessments/history.ts';
import type { Command } from './command.ts';
import { Misuse } from './command.ts';
import { act, missing, organisationOf, requiredOption, withApp } from './open.ts';
import { isUuid } from '../src/uuid.ts';

const shown = (value: unknown) => (value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value));

const changeLine = ({ field, before, after }: FieldChange) => `    ${field}: ${shown(before)} → ${shown(after)}`;

function entryText(entry: HistoryEntry): string {
  return [`${entry.at}  ${entry.kind} by ${entry.actor}: ${entry.reason}`, ...entry.changes.map(changeLine)].join('\n');
}

export const commands: Command[] = [
  {
    name: 'results history',
    usage: '--organisation ID ASSESSMENT_ID',
    summary: 'Show who changed a result, when, why, and what was there before and after',
    positionals: [1, 1],
    options: { organisation: { type: 'string' } },
    run: (call) => {
      const id = call.positionals[0]!.toLowerCase();
      if (!isUuid(id)) throw new Misuse('the assessment id must be a UUID');
      return withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const history = await historyOf(app.db, found.organisation_id, id);
        if (history === undefined) throw missing('result', id);
        // Scores and reasons are personal data, so whoever reads them is in the log.
        await act(app, found.organisation_id, 'results history', () => Promise.resolve({ result: null, resource: id }));
        return {
          json: { assessment_id: id, data: history },
          text: history.length === 0 ? `${id} was never changed.` : history.map(entryText).join('\n'),
        };
      });
    },
  },
];
