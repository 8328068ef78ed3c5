import { historyOf } from '../src/assessments/history.ts';
import type { FieldChange, HistoryEntry } from '../src/assessments/history.ts';
import type { Command } from './command.ts';
import { missing, organisationCommand } from './open.ts';
import { assessmentId } from './results-review.ts';

const shown = (value: unknown) => (value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value));

const changeLine = ({ field, before, after }: FieldChange) => `    ${field}: ${shown(before)} → ${shown(after)}`;

function entryText(entry: HistoryEntry): string {
  return [`${entry.at}  ${entry.kind} by ${entry.actor}: ${entry.reason}`, ...entry.changes.map(changeLine)].join('\n');
}

export const commands: Command[] = [
  organisationCommand({
    name: 'results history',
    summary: 'Show who changed a result, when, why, and what was there before and after',
    takes: 'ASSESSMENT_ID',
    prepare: assessmentId,
    run: async ({ app, organisationId, note, prepared: id }) => {
      const data = await historyOf(app.db, organisationId, id);
      if (data === undefined) throw missing('result', id);
      // Scores and reasons are personal data, so whoever reads them is in the log.
      await note(id);
      return {
        json: { assessment_id: id, data },
        text: data.length === 0 ? `${id} was never changed.` : data.map(entryText).join('\n'),
      };
    },
  }),
];
