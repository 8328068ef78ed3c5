import { readFileSync, writeFileSync } from 'node:fs';
import { unread } from '../checks/readings.ts';
import type { Readings } from '../checks/readings.ts';
import { readBankFiles } from '../files.ts';
import { command } from '../../../cli/kit/command.ts';

const readingsFile = new URL('../readings.json', import.meta.url);

export function readReadings(): Readings {
  return JSON.parse(readFileSync(readingsFile, 'utf8')) as Readings;
}

export const unreadBank = command({
  name: 'bank unread',
  summary: 'Write the questions that need a second reader',
  notes: 'The questions are written without their keys.',
  examples: ['questions.json', 'questions.json --json'],
  environment: {},
  takes: 'FILE',
  async run(call) {
    const [file] = call.positionals as [string];
    const questions = unread(readBankFiles(), readReadings());
    writeFileSync(file, `${JSON.stringify(questions, null, 1)}\n`);
    return {
      json: { file, questions: questions.length },
      text: `${questions.length} questions are written to ${file}.`,
    };
  },
});
