import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { unread } from '../src/bank/checks/readings.ts';
import type { Readings } from '../src/bank/checks/readings.ts';
import { readBankFiles } from '../src/bank/load.ts';
import type { Command } from './command.ts';

const readingsFile = new URL('../test/bank/readings.json', import.meta.url);

/** The readings of the checkout; null in an installed package, which has no tests. */
export function readReadings(): Readings | null {
  if (!existsSync(readingsFile)) return null;
  return JSON.parse(readFileSync(readingsFile, 'utf8')) as Readings;
}

export const unreadBank: Command = {
  name: 'bank unread',
  summary: 'Write the questions that no second reader has answered yet, without their keys, as JSON',
  usage: 'FILE',
  positionals: [1, 1],
  async run(call) {
    const [file] = call.positionals as [string];
    const questions = unread(readBankFiles(), readReadings() ?? { first_edition: {}, readings: [] });
    writeFileSync(file, `${JSON.stringify(questions, null, 1)}\n`);
    return {
      json: { file, questions: questions.length },
      text: `${questions.length} questions are written to ${file}.`,
    };
  },
};
