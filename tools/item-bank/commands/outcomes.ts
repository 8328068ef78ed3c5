import { writeFileSync } from 'node:fs';
import { readBankFiles } from '../files.ts';
import { outcomesFile } from '../../../src/sandbox/data/outcomes.ts';
import { outcomesText, simulateOutcomes } from '../simulation/outcomes.ts';
import { command } from '../../../cli/kit/command.ts';

export const makeOutcomes = command({
  name: 'bank outcomes',
  summary: 'Simulate the outcomes that the sandbox draws from',
  notes: 'A command for developers: it writes a file of the source code.',
  examples: ['', '--json'],
  environment: {},
  async run(call) {
    const table = simulateOutcomes(readBankFiles(), (subject) => call.progress(`${subject}: simulating sittings`));
    writeFileSync(outcomesFile, outcomesText(table));
    const outcomes = Object.values(table.subjects).reduce((sum, one) => sum + one.outcomes.length, 0);
    return {
      json: { bank_version: table.made_from.bank, outcomes },
      text: `${outcomes} outcomes of bank ${table.made_from.bank} are written to ${outcomesFile.pathname}.`,
    };
  },
});
