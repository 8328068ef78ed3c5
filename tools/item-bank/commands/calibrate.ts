import { setImmediate } from 'node:timers/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Call } from '../../../cli/kit/command.ts';
import { command, Failure, Misuse } from '../../../cli/kit/command.ts';
import { fileLines } from '../../../cli/kit/file.ts';
import { proveWritable, writeWhole } from '../../../cli/kit/in-place.ts';
import { count, flag, or, parsed, text, word, words } from '../../../cli/kit/options.ts';
import { bankOf, itemsDirectory } from '../../../src/engine/item-bank/load.ts';
import type { Bank, BankFiles } from '../../../src/engine/item-bank/load.ts';
import { BankFault } from '../../../src/engine/scoring/cuts.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { AnswersFault, AnswersReader, groupColumns } from '../calibration/answers.ts';
import type { AnswersRead, KnownItems } from '../calibration/answers.ts';
import { calibrate } from '../calibration/calibrate.ts';
import type { CalibrationOptions, SubjectCalibration } from '../calibration/calibrate.ts';
import { proposalOf } from '../calibration/proposal.ts';
import { itemsCsv, subjectJson, subjectText } from '../calibration/report.ts';
import { toJson } from '../exchange/json.ts';
import { BankFileFault, readBankFiles } from '../files.ts';
import { mergeBank, staysLoadable, writeBankFiles } from '../import.ts';
import { itemHash } from '../../../src/engine/item-bank/item-hash.ts';

/** Fewer answers say too little about an item to change what decides about learners. */
const enoughAnswers = 200;
const maxLineBytes = 4096;
const maxFileBytes = 2 ** 30;

const stopped = new Failure('Stopped before the end: nothing is written.');

function readBank(folder: URL): { files: BankFiles; bank: Bank } {
  try {
    const files = readBankFiles(folder);
    return { files, bank: bankOf(files) };
  } catch (cause) {
    if (cause instanceof BankFileFault || cause instanceof BankFault) throw new Failure(cause.message);
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw new Failure('There is no item bank in this folder.');
    throw cause;
  }
}

function knownItems(bank: Bank): KnownItems {
  return new Map(
    subjects.flatMap((subject) =>
      bank.subjects[subject].items.map((item, index) => {
        const passage = item.type === 'template' ? undefined : bank.passage(item.passage ?? '');
        return [item.id, { subject, index, hash: itemHash(item, passage ?? null) }] as const;
      }),
    ),
  );
}

async function readAnswers(file: string, bank: Bank, call: Call<unknown>): Promise<AnswersRead> {
  const reader = new AnswersReader(knownItems(bank));
  let [lines, bytes] = [0, 0];
  try {
    for await (const line of fileLines(file, maxLineBytes)) {
      reader.add(line);
      bytes += line.length + 1;
      if (bytes > maxFileBytes) throw new Failure(`${file} is too large: at most 1 GiB is read. Split it by month.`);
      if (++lines % 10_000 !== 0) continue;
      call.progress(`${lines.toLocaleString('en-GB')} lines read`);
      await setImmediate();
      if (call.signal.aborted) throw stopped;
    }
    return reader.end();
  } catch (cause) {
    throw cause instanceof AnswersFault ? new Failure(`${file}: ${cause.message}`) : cause;
  }
}

/** What was left out, in sentences. */
const leftOut = ({ notReached, otherWording }: AnswersRead): string[] => [
  ...(notReached > 0 ? [`${notReached} questions that were not reached are left out.`] : []),
  ...(otherWording > 0 ? [`${otherWording} answers to another wording of an item are left out.`] : []),
];

async function calibrateAll(
  read: AnswersRead,
  bank: Bank,
  call: Call<{ subject: Subject | undefined }>,
  options: Omit<CalibrationOptions, 'pause'>,
): Promise<Map<Subject, SubjectCalibration>> {
  const found = new Map<Subject, SubjectCalibration>();
  for (const [subject, answers] of read.answers) {
    if (call.options.subject !== undefined && subject !== call.options.subject) continue;
    const { items, version } = bank.subjects[subject];
    const pause = async (step: string) => {
      call.progress(`${subject}: ${step}`);
      await setImmediate();
      if (call.signal.aborted) throw stopped;
    };
    const isCalibrated = (i: number) => items[i]!.calibration === 'calibrated' && items[i]!.state !== 'retired';
    found.set(subject, await calibrate(answers, version.items, isCalibrated, { ...options, pause }));
  }
  if (found.size === 0) {
    const which = call.options.subject === undefined ? '' : ` in ${call.options.subject}`;
    throw new Failure([`The file has no answers${which} to items of the bank.`, ...leftOut(read)].join(' '));
  }
  return found;
}

export const calibrateBank = command({
  name: 'bank calibrate',
  summary: 'Estimate item parameters from answers',
  notes: `FILE is a file of ars sittings export. The bank changes only with --apply, and only items with at least ${enoughAnswers} answers. With --out, a file ending in .json is for ars bank import --replace, and a file ending in .csv is a table of all items.`,
  examples: ['answers.csv --out proposal.json', 'answers.csv --subject maths --model 3pl --json'],
  environment: {},
  about: {
    subject: 'Only this subject',
    model: 'Whether c keeps its value (2pl) or is estimated for items that can be guessed (3pl)',
    link: 'The method that brings the estimates to the scale of the bank, to find drift',
    dif: 'The columns whose groups are compared',
    minAnswers: 'Items with fewer answers keep their parameters',
    out: 'The file for the proposed items (.json) or the table (.csv)',
    apply: 'Writes the proposed parameters into the bank',
    dir: 'The folder of the item bank (default: the shipped bank)',
  },
  takes: 'FILE|-',
  options: {
    subject: word(subjects),
    model: or(word(['2pl', '3pl']), '2pl' as const),
    link: or(word(['stocking-lord', 'mean-sigma']), 'stocking-lord' as const),
    dif: words('COLUMN,…', groupColumns, `one or more of ${groupColumns.join(', ')}`),
    minAnswers: or(count(enoughAnswers, 1_000_000), enoughAnswers),
    out: text('FILE'),
    apply: flag,
    dir: parsed('DIR', 'a folder', (folder) => pathToFileURL(`${resolve(folder)}/`)),
  },
  async run(call) {
    const [file] = call.positionals as [string];
    const { model, link, dif = groupColumns, minAnswers, out, apply, dir: folder = itemsDirectory } = call.options;
    const ending = out === undefined ? '' : extname(out).toLowerCase();
    if (out !== undefined && ending !== '.json' && ending !== '.csv')
      throw new Misuse('--out is a file that ends in .json or .csv');
    if (out !== undefined) await proveWritable(out);
    const { files, bank } = readBank(folder);
    const read = await readAnswers(file, bank, call);
    const found = await calibrateAll(read, bank, call, { model, link, groups: dif, minAnswers });
    const itemsOf = (subject: Subject) => bank.subjects[subject].items;
    const proposal = proposalOf(files, found, itemsOf, minAnswers);
    const reported = [...found].map(([subject, one]) => ({ subject, found: one, items: itemsOf(subject) }));
    if (apply && proposal.fault !== null)
      throw new Failure(
        `Nothing is written, as the service could not start with the new parameters: ${proposal.fault}`,
      );
    if (out !== undefined)
      await writeWhole(
        out,
        ending === '.csv' ? itemsCsv(reported, proposal) : toJson({ ...files, items: proposal.items, passages: [] }),
      );
    const number = apply ? applyTo(folder, files, proposal.items) : null;
    return {
      json: {
        bank_version: bank.version,
        model,
        not_reached: read.notReached,
        other_wording: read.otherWording,
        proposed: proposal.items.length,
        kept: proposal.kept,
        fault: proposal.fault,
        bank_number: number,
        subjects: reported.map((one) => subjectJson(one, proposal)),
      },
      text: [
        ...reported.map((one) => subjectText(one, proposal)),
        ...leftOut(read),
        ...proposal.kept.map(({ id, why }) => `${id} keeps its parameters: it ${why}.`),
        ...(proposal.fault === null ? [] : [`The service could not start with the proposal: ${proposal.fault}`]),
        ...(out === undefined ? [] : [`${out} is written.`]),
        number === null ? 'The bank is unchanged.' : `The bank is changed. Its number is ${number}.`,
      ].join('\n'),
    };
  },
});

/** @returns the bank's number */
function applyTo(folder: URL, before: BankFiles, items: BankFiles['items']): number {
  const { files, outcome } = mergeBank(before, { items, passages: [] }, true);
  const [rejected] = outcome.rejected;
  if (rejected !== undefined) throw new Failure(`Nothing is written: ${rejected.id} ${rejected.reason}.`);
  staysLoadable(before, files);
  try {
    writeBankFiles(folder, files);
  } catch (cause) {
    throw new Failure(`The bank can't be written (${(cause as NodeJS.ErrnoException).code ?? 'unknown error'}).`);
  }
  return files.number;
}
