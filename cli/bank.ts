import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { checkBank, reportText } from '../src/bank/check.ts';
import { proofSeeds } from '../src/bank/checks/template-proof.ts';
import { BankFileFault, itemsDirectory, scanBankFiles } from '../src/bank/load.ts';
import { subjects } from '../src/bank/schema.ts';
import { Failure, Misuse } from './command.ts';
import type { Call, Command } from './command.ts';

function option(call: Call, name: string): string | undefined {
  const value = call.options[name];
  if (value !== undefined && typeof value !== 'string') throw new Misuse(`--${name} takes one value.`);
  return value;
}

function directory(call: Call): URL {
  const given = option(call, 'dir');
  return given === undefined ? itemsDirectory : pathToFileURL(`${resolve(given)}/`);
}

/** File faults are for the person who wrote the file, so they become a sentence rather than a stack trace. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof BankFileFault) throw new Failure(cause.message);
    throw cause;
  }
}

const check: Command = {
  name: 'bank check',
  summary: 'Check the item bank: keys, coverage, enemies, reading level, duplicates, rendering and templates.',
  usage: '[--subject digital|english|maths] [--seeds N] [--dir DIR]',
  options: { subject: { type: 'string' }, seeds: { type: 'string' }, dir: { type: 'string' } },
  positionals: [0, 0],
  async run(call) {
    const seeds = Number(option(call, 'seeds') ?? proofSeeds);
    if (!Number.isInteger(seeds) || seeds < 1 || seeds > 100_000) throw new Misuse('--seeds is a whole number from 1 to 100000.');
    const subject = option(call, 'subject');
    if (subject !== undefined && !(subjects as readonly string[]).includes(subject)) throw new Misuse(`--subject is one of ${subjects.join(', ')}.`);
    const { files, faults } = reading(() => scanBankFiles(directory(call)));
    const report = checkBank(files, faults, seeds);
    if (subject !== undefined) {
      const own = new Set(files.items.filter((item) => item.subject === subject).flatMap((item) => (item.type === 'template' ? [item.id, item.template] : [item.id])));
      const prefix = { digital: 'dig-', english: 'eng-', maths: 'mat-' }[subject as 'digital'];
      report.subjects = report.subjects.filter((count) => count.subject === subject);
      report.findings = report.findings.filter(({ id, message }) =>
        id === null ? message.includes(subject) : own.has(id) || id.startsWith(prefix) || id.startsWith(`${subject}/`) || (subject === 'english' && id.startsWith('pas-')));
    }
    const failed = report.findings.some((finding) => finding.severity === 'error');
    return { json: { ok: !failed, ...report }, text: reportText(report), exitCode: failed ? 1 : 0 };
  },
};

export const commands: Command[] = [check];
