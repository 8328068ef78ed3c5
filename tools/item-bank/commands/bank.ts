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
import { BankFileFault, contentHash, itemsDirectory, readBankFiles, scanBankFiles } from '../../../src/bank/load.ts';
import type { BankFiles } from '../../../src/bank/load.ts';
import { domainsOf } from '../../../src/bank/schema.ts';
import type { Domain } from '../../../src/bank/schema.ts';
import { outcomeTable } from '../../../src/sandbox/outcomes.ts';
import { BankFault } from '../../../src/scoring/cuts.ts';
import { outcomeSources } from '../simulation/outcomes.ts';
import { markBank } from './mark.ts';
import { readReadings, unreadBank } from './readings.ts';
import { makeOutcomes } from './outcomes.ts';
import { simulateBank } from './simulate.ts';
import { Failure, Misuse } from '../../../cli/command.ts';
import type { Call, Command } from '../../../cli/command.ts';
import { readTextFile, readWholeFile } from '../../../cli/file.ts';
import { levelsOf, subjects } from '../../../src/scoring/levels.ts';
import type { Level, Subject } from '../../../src/scoring/levels.ts';

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
    if (cause instanceof BankFileFault || cause instanceof ExchangeFault || cause instanceof RangeError)
      throw new Failure(cause.message);
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')
      throw new Failure('The file does not exist or cannot be read.');
    if (cause instanceof Error && 'code' in cause && cause.code === 'EISDIR')
      throw new Failure('A file is wanted, and this is a directory.');
    throw cause;
  }
}

function oneOf<T extends string>(call: Call, name: string, allowed: readonly T[]): T | undefined {
  const value = option(call, name);
  if (value !== undefined && !(allowed as readonly string[]).includes(value))
    throw new Misuse(`--${name} is one of ${allowed.join(', ')}.`);
  return value as T | undefined;
}

const subjectOf = (call: Call): Subject | undefined => oneOf(call, 'subject', subjects);

/** Whether the sandbox's results are those of another bank, or of other engines. */
const outcomesAreStale = (files: BankFiles): boolean =>
  JSON.stringify(outcomeTable().made_from) !== JSON.stringify(outcomeSources(files));

const check: Command = {
  name: 'bank check',
  summary: 'Check the item bank: keys, coverage, enemies, reading level, duplicates, rendering and templates',
  usage: '[--subject digital|english|maths] [--seeds N] [--dir DIR]',
  options: { subject: { type: 'string' }, seeds: { type: 'string' }, dir: { type: 'string' } },
  positionals: [0, 0],
  async run(call) {
    const seeds = Number(option(call, 'seeds') ?? proofSeeds);
    if (!Number.isInteger(seeds) || seeds < 1 || seeds > 100_000)
      throw new Misuse('--seeds is a whole number from 1 to 100000.');
    const subject = subjectOf(call);
    const { files, faults } = reading(() => scanBankFiles(directory(call)));
    const report = checkBank(files, faults, seeds);
    const isShipped = directory(call).href === itemsDirectory.href;
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
};

const formats = ['json', 'csv', 'qti'] as const;
type Format = (typeof formats)[number];

/** The format that was asked for, or that the file's name says. */
function formatOf(call: Call, path: string | undefined): Format {
  const given = oneOf(call, 'format', formats);
  if (given) return given;
  const named = ({ '.json': 'json', '.csv': 'csv', '.zip': 'qti', '.xml': 'qti' } as Record<string, Format>)[
    extname(path ?? '').toLowerCase()
  ];
  if (!named) throw new Misuse(`Say the format: --format ${formats.join('|')}.`);
  return named;
}

const exportBank: Command = {
  name: 'bank export',
  summary: 'Write the item bank as JSON, CSV or a QTI 3.0 package',
  usage: '[--format json|csv|qti] [--subject digital|english|maths] [--dir DIR] FILE',
  options: { format: { type: 'string' }, subject: { type: 'string' }, dir: { type: 'string' } },
  positionals: [1, 1],
  async run(call) {
    const [path] = call.positionals as [string];
    const format = formatOf(call, path);
    const subject = subjectOf(call);
    const files = reading(() => readBankFiles(directory(call)));
    const version = `${files.number}-${contentHash(files).slice(0, 12)}`;
    const items = subject === undefined ? files.items : files.items.filter((item) => item.subject === subject);
    const passages = subject === undefined || subject === 'english' ? files.passages : [];
    const content =
      format === 'json'
        ? toJson({ ...files, items, passages })
        : format === 'csv'
          ? toCsv({ items, passages })
          : toQti({ items, passages }, version);
    try {
      writeFileSync(path, content);
    } catch (cause) {
      throw new Failure(`${path} can't be written (${(cause as NodeJS.ErrnoException).code ?? 'unknown error'}).`);
    }
    return {
      json: { format, file: path, version, items: items.length, passages: passages.length },
      text: `${items.length} items and ${passages.length} passages of bank ${version} written as ${format}.`,
    };
  },
};

/** Where items of another system belong; null if nothing was said, which is right for the bank's own exports. */
function place(call: Call): { subject: Subject; level: Level; domain: Domain } | null {
  const subject = subjectOf(call);
  if (subject === undefined) return null;
  const level = oneOf(call, 'level', levelsOf(subject));
  const domain = oneOf<Domain>(call, 'domain', domainsOf[subject]);
  if (level === undefined || domain === undefined) throw new Misuse('--subject, --level and --domain go together.');
  return { subject, level, domain };
}

const named = (file: string | undefined, id: string): string => (file === undefined ? id : `${file}: ${id}`);

const importBank: Command = {
  name: 'bank import',
  summary: 'Add items from JSON, CSV or a QTI 3.0 package to the item bank',
  usage: '[--format json|csv|qti] [--replace] [--subject S --level L --domain D] [--dir DIR] FILE',
  options: {
    format: { type: 'string' },
    replace: { type: 'boolean' },
    subject: { type: 'string' },
    level: { type: 'string' },
    domain: { type: 'string' },
    dir: { type: 'string' },
  },
  positionals: [1, 1],
  async run(call) {
    const [path] = call.positionals as [string];
    const format = formatOf(call, path);
    const where = place(call);
    const target = directory(call);
    const content = format === 'qti' ? await readWholeFile(path) : await readTextFile(path);
    const read = reading((): Exchanged => {
      if (typeof content !== 'string')
        return fromQti(content, where === null ? {} : foreignDefaults(where), path === '-' ? undefined : path);
      return format === 'json' ? fromJson(content) : fromCsv(content);
    });
    const before = reading(() => bankToExtend(target));
    const { files, outcome } = mergeBank(before, read, call.options.replace === true);
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
};

export const commands: Command[] = [check, exportBank, importBank, markBank, simulateBank, makeOutcomes, unreadBank];
