import { writeFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkBank, reportText } from '../check.ts';
import { warning } from '../checks/finding.ts';
import { readingsFindings } from '../checks/readings.ts';
import { proofSeeds } from '../checks/template-proof.ts';
import { fromCsv, toCsv } from '../exchange/csv.ts';
import { ExchangeFault, fromJson, toJson } from '../exchange/json.ts';
import type { Exchanged } from '../exchange/json.ts';
import { fromQti, toQti } from '../exchange/qti-package.ts';
import { bankToExtend, foreignDefaults, mergeBank, staysLoadable, writeBankFiles } from '../import.ts';
import { contentHash, itemsDirectory } from '../../../src/engine/item-bank/load.ts';
import { BankFileFault, readBankFiles, scanBankFiles } from '../files.ts';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import { domainsOf } from '../../../src/engine/item-bank/schema.ts';
import type { Domain } from '../../../src/engine/item-bank/schema.ts';
import { outcomeTable } from '../../../src/sandbox/data/outcomes.ts';
import { BankFault } from '../../../src/engine/scoring/cuts.ts';
import { outcomeSources } from '../simulation/outcomes.ts';
import { calibrateBank } from './calibrate.ts';
import { markBank } from './mark.ts';
import { readReadings, unreadBank } from './readings.ts';
import { makeOutcomes } from './outcomes.ts';
import { simulateBank } from './simulate.ts';
import type { Command } from '../../../cli/kit/command.ts';
import { command, Failure, Misuse } from '../../../cli/kit/command.ts';
import { count, flag, or, parsed, text, word } from '../../../cli/kit/options.ts';
import { readTextFile, readWholeFile } from '../../../cli/kit/file.ts';
import { levelsOf, subjects } from '../../../src/engine/scoring/levels.ts';
import type { Level, Subject } from '../../../src/engine/scoring/levels.ts';

const subjectOption = word(subjects);
const dir = parsed('DIR', 'a folder', (folder) => pathToFileURL(`${resolve(folder)}/`));

/** The author of a file reads these faults, so they are printed as sentences without a stack trace. */
function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof BankFileFault || cause instanceof ExchangeFault || cause instanceof RangeError)
      throw new Failure(cause.message);
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')
      throw new Failure('The file does not exist or cannot be read.');
    if (cause instanceof Error && 'code' in cause && cause.code === 'EISDIR')
      throw new Failure('A file is wanted, and this is a directory.');
    throw cause;
  }
}

/** Whether the sandbox's outcomes were simulated with another bank or with other engines. */
const outcomesAreStale = (files: BankFiles): boolean =>
  JSON.stringify(outcomeTable().made_from) !== JSON.stringify(outcomeSources(files));

const check = command({
  name: 'bank check',
  summary: 'Check the item bank',
  notes: 'The checks are keys, coverage, enemies, reading level, duplicates, rendering and templates.',
  examples: ['', '--subject maths --seeds 20'],
  environment: {},
  fails: 'The bank has faults, or the command has failed.',
  about: {
    subject: 'Only this subject',
    seeds: 'Samples of each template',
    dir: 'The folder of the item bank (default: the shipped bank)',
  },
  options: { subject: subjectOption, seeds: or(count(1, 100_000), proofSeeds), dir },
  async run({ options: { subject, seeds, dir: folder = itemsDirectory } }) {
    const { files, faults } = reading(() => scanBankFiles(folder));
    const report = checkBank(files, faults, seeds);
    const isShipped = folder.href === itemsDirectory.href;
    if (isShipped) report.findings.push(...readingsFindings(files, readReadings()));
    if (subject !== undefined) {
      const own = new Set(
        files.items
          .filter((item) => item.subject === subject)
          .flatMap((item) => (item.type === 'template' ? [item.id, item.template] : [item.id])),
      );
      const prefix = { digital: 'dig-', english: 'eng-', maths: 'mat-' }[subject];
      report.subjects = report.subjects.filter((count) => count.subject === subject);
      report.statements = report.statements.filter(({ id }) => id.startsWith(prefix));
      report.findings = report.findings.filter(({ id, message }) =>
        id === null
          ? message.includes(subject)
          : own.has(id) ||
            id.startsWith(prefix) ||
            id.startsWith(`${subject}/`) ||
            (subject === 'english' && id.startsWith('pas-')),
      );
    }
    if (isShipped && outcomesAreStale(files)) {
      report.findings.push(
        warning('sandbox outcomes', null, 'the table of outcomes was made from another bank: run ars bank outcomes'),
      );
    }
    const failed = report.findings.some((finding) => finding.severity === 'error');
    return { json: { ok: !failed, ...report }, text: reportText(report), exitCode: failed ? 1 : 0 };
  },
});

const formats = ['json', 'csv', 'qti'] as const;
type Format = (typeof formats)[number];
const format = word(formats);

/** The format of the option, otherwise the format of the file's ending. */
function formatOf(wanted: Format | undefined, path: string): Format {
  const byEnding: Record<string, Format> = { '.json': 'json', '.csv': 'csv', '.zip': 'qti', '.xml': 'qti' };
  const found = wanted ?? byEnding[extname(path).toLowerCase()];
  if (found === undefined) throw new Misuse(`Say the format: --format ${formats.join('|')}.`);
  return found;
}

const exportBank = command({
  name: 'bank export',
  summary: 'Write the item bank as JSON, CSV or QTI',
  examples: ['bank.json', 'bank.zip --format qti --subject english'],
  environment: {},
  about: {
    format: 'The format (default: from the name of the file)',
    subject: 'Only this subject',
    dir: 'The folder of the item bank (default: the shipped bank)',
  },
  takes: 'FILE',
  options: { format, subject: subjectOption, dir },
  async run({ positionals, options: { subject, ...options } }) {
    const [path] = positionals as [string];
    const its = formatOf(options.format, path);
    const files = reading(() => readBankFiles(options.dir ?? itemsDirectory));
    const version = `${files.number}-${contentHash(files).slice(0, 12)}`;
    const items = subject === undefined ? files.items : files.items.filter((item) => item.subject === subject);
    const passages = subject === undefined || subject === 'english' ? files.passages : [];
    const content =
      its === 'json'
        ? toJson({ ...files, items, passages })
        : its === 'csv'
          ? toCsv({ items, passages })
          : toQti({ items, passages }, version);
    try {
      writeFileSync(path, content);
    } catch (cause) {
      throw new Failure(`${path} can't be written (${(cause as NodeJS.ErrnoException).code ?? 'unknown error'}).`);
    }
    return {
      json: { format: its, file: path, version, items: items.length, passages: passages.length },
      text: `${items.length} items and ${passages.length} passages of bank ${version} written as ${its}.`,
    };
  },
});

const level = text('L');
const domain = text('D');

/**
 * The subject, level and domain of items from another system. Null if no option names them: the bank's own exports
 * contain them.
 */
function place(options: Partial<Record<'level' | 'domain', string | undefined>> & { subject: Subject | undefined }) {
  const { subject } = options;
  if (subject === undefined) return null;
  const its = {
    subject,
    level: word<Level>(levelsOf(subject)).read(options.level, '--level'),
    domain: word<Domain>(domainsOf[subject]).read(options.domain, '--domain'),
  };
  if (its.level === undefined || its.domain === undefined)
    throw new Misuse('--subject, --level and --domain go together.');
  return { subject, level: its.level, domain: its.domain };
}

const named = (file: string | undefined, id: string): string => (file === undefined ? id : `${file}: ${id}`);

const importBank = command({
  name: 'bank import',
  summary: 'Add items from JSON, CSV or QTI',
  examples: [
    'items.csv --subject maths',
    'package.zip --format qti --subject english --level level-1 --domain reading',
  ],
  environment: {},
  about: {
    format: 'The format (default: from the name of the file)',
    replace: 'Replaces items with the same ID',
    subject: 'The subject of the items',
    level: 'The level of items that have none',
    domain: 'The domain of items that have none',
    dir: 'The folder of the item bank (default: the shipped bank)',
  },
  takes: 'FILE',
  options: { format, replace: flag, subject: subjectOption, level, domain, dir },
  async run({ positionals, options }) {
    const [path] = positionals as [string];
    const its = formatOf(options.format, path);
    const where = place(options);
    const target = options.dir ?? itemsDirectory;
    const content = its === 'qti' ? await readWholeFile(path) : await readTextFile(path);
    const read = reading((): Exchanged => {
      if (typeof content !== 'string')
        return fromQti(content, where === null ? {} : foreignDefaults(where), path === '-' ? undefined : path);
      return its === 'json' ? fromJson(content) : fromCsv(content);
    });
    const before = reading(() => bankToExtend(target));
    const { files, outcome } = mergeBank(before, read, options.replace);
    if (outcome.added.length + outcome.replaced.length > 0) {
      try {
        staysLoadable(before, files);
        writeBankFiles(target, files);
      } catch (cause) {
        if (cause instanceof BankFault)
          throw new Failure(`Nothing was imported, as the service could not start with it: ${cause.message}`);
        const { code, path: wanted } = cause as NodeJS.ErrnoException;
        if (code === undefined) throw cause;
        throw new Failure(`The bank can't be written (${code}: ${wanted ?? 'unknown file'}).`);
      }
    }
    const { added, replaced, unchanged, rejected, number } = outcome;
    const isRejected = ({ file, id }: { file?: string; id: string }) =>
      rejected.some((one) => one.file === file && one.id === id);
    const notes = (read.notes ?? []).filter((note) => !isRejected(note));
    return {
      json: {
        added: added.length,
        replaced: replaced.length,
        unchanged: unchanged.length,
        rejected,
        ...(notes.length === 0 ? {} : { notes }),
        bank_number: number,
      },
      text: [
        `${added.length} added, ${replaced.length} replaced, ${unchanged.length} unchanged, ${rejected.length} rejected. The bank's number is ${number}.`,
        ...rejected.map(({ file, id, reason }) => `rejected: ${named(file, id)}: ${reason}`),
        ...notes.map(({ file, id, note }) => `${named(file, id)} ${note}`),
      ].join('\n'),
      exitCode: rejected.length > 0 ? 1 : 0,
    };
  },
});

export const commands: Command[] = [
  check,
  exportBank,
  importBank,
  markBank,
  simulateBank,
  calibrateBank,
  makeOutcomes,
  unreadBank,
];
