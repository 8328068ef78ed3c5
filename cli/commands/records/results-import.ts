import { type ReadStream, createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ImportCounts, type Rejected, importFile } from '../../../src/records/import/file.ts';
import { sentenceOf } from '../../../src/records/results/result-fields.ts';
import { type Call, type Command, type Values, Failure, Misuse } from '../../kit/command.ts';
import { besideOf, isStandardOutput, keepFresh, takePlace } from '../../kit/in-place.ts';
import { operator, organisationCommand } from '../../kit/open.ts';
import { flag, or, parsed, text, word } from '../../kit/options.ts';
import { linesOf } from '../../kit/table.ts';
import { terminal } from '../../kit/terminal.ts';

const options = {
  events: flag,
  format: word(['ndjson', 'csv']),
  dates: or(
    parsed('uk', 'uk, for DD/MM/YYYY and the clocks of Europe/London, or rfc3339', (input) =>
      (['rfc3339', 'uk'] as const).find((one) => one === input),
    ),
    'rfc3339' as const,
  ),
  dryRun: flag,
  rejected: text('FILE'),
};
type Importing = Call<Values<typeof options>>;

/** The command prints at most this many rejected lines. The file of rejected lines contains all of them. */
const shownLines = 5;

function bar(share: number): string {
  const width = 30;
  const full = Math.round(share * width);
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${String(Math.floor(share * 100)).padStart(3)} %`;
}

const number = (value: number) => value.toLocaleString('en-GB');

/** A run that was stopped leaves its rejected lines in this file. */
const partOf = (file: string) => `${file}.part`;

/** Opens the file for rejected lines. It replaces the file of an earlier run only when this run is complete. */
async function rejectsFile({ path, target, isNamed }: Input['rejected']) {
  if (path === null) return { add: async () => {}, close: async () => {} };
  const writtenTo = target === null ? path : await besideOf(target);
  // The file is opened before the import begins, so that a file that can't be written stops the import.
  const file = await open(writtenTo, target === null ? 'a' : 'wx', 0o600).catch(() => {
    throw new Failure(`cannot write ${path}: name another file with --rejected`);
  });
  if (target !== null) await rm(partOf(target), { force: true });
  const settle = target === null ? () => {} : keepFresh(writtenTo);
  let isEmpty = true;
  return {
    async add({ head, again }: Rejected): Promise<void> {
      await file.appendFile(isEmpty ? Buffer.concat([head(), again]) : again).catch(() => {
        throw new Failure(`cannot write ${path} any more; the lines before were imported`);
      });
      isEmpty = false;
    },
    /** @param isWhole false: the run was stopped, so the lines stay in the `.part` file */
    async close(isWhole: boolean): Promise<void> {
      settle();
      await file.close();
      if (target === null) return;
      if (isEmpty && !(isWhole && isNamed)) await rm(writtenTo, { force: true });
      else if (isWhole) await takePlace(writtenTo, path);
      else await rename(writtenTo, partOf(target));
      if (isEmpty && isWhole && !isNamed) await rm(path, { force: true });
    },
  };
}

/**
 * Copies standard input to a file for a dry run. A dry run is one transaction, which must not wait for the program that
 * writes the input.
 */
async function spooled(signal: AbortSignal): Promise<ReadStream> {
  const folder = await mkdtemp(join(tmpdir(), 'ars-import-'));
  try {
    const copy = join(folder, 'input');
    await pipeline(terminal().input, createWriteStream(copy, { mode: 0o600 }), { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    const opened = createReadStream(copy);
    await once(opened, 'open');
    return opened;
  } finally {
    // The copy is open, so it can still be read after its folder is removed.
    await rm(folder, { recursive: true, force: true });
  }
}

type Input = {
  file: string;
  format: 'ndjson' | 'csv';
  /** The size in bytes; null if unknown. */
  size: number | null;
  /** `target`: the file that `path` resolves to through symbolic links; null for a pipe or device. */
  rejected: { path: string | null; target: string | null; isNamed: boolean };
};

async function readInput(call: Importing): Promise<Input> {
  const file = call.positionals[0]!;
  const { dryRun, rejected: named } = call.options;
  const format = call.options.format ?? (/\.(csv|tsv)$/i.test(file) ? 'csv' : 'ndjson');
  const kind = file === '-' ? null : await stat(file).catch(() => null);
  if (file !== '-' && kind?.isDirectory() !== false) throw new Failure(`cannot read ${file}`);
  const path = named ?? (kind?.isFile() === true && !dryRun ? `${file}.rejected.${format}` : null);
  const old = path === null ? null : await stat(path).catch(() => null);
  const target = path === null || old?.isFile() === false ? null : await realpath(path).catch(() => path);
  const part = target === null ? null : await stat(partOf(target)).catch(() => null);
  for (const same of [old, part])
    if (kind !== null && same?.ino === kind.ino && same.dev === kind.dev)
      throw new Misuse('--rejected must name another file than the one that is imported');
  if (target !== null && isStandardOutput(old))
    throw new Misuse('--rejected must name another file than the one that standard output goes to');
  const rejected = { path, target, isNamed: named !== undefined };
  return { file, format, size: kind?.size ?? null, rejected };
}

/** Opens the input. The stream ends with the input, or when the command is stopped. */
async function openInput(file: string, dryRun: boolean, signal: AbortSignal) {
  const opened = file !== '-' ? createReadStream(file) : dryRun ? await spooled(signal) : null;
  const source = opened ?? terminal().input;
  const input = source.pipe(new PassThrough());
  source.once('error', (error) => input.destroy(error));
  // The program that writes to standard input may pause for any time, so a stop must not wait for its next line.
  const stop = () => {
    source.unpipe(input).destroy();
    input.end();
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return { input, bytes: () => opened?.bytesRead ?? 0, close: () => source.destroy() };
}

function progressText(counts: ImportCounts, elapsedMs: number, bytes: number, size: number | null): string {
  const done = counts.imported + counts.updated + counts.unchanged + counts.rejected;
  const perSecond = Math.round(done / Math.max(0.001, elapsedMs / 1000));
  const share = size === null || size === 0 ? '' : `${bar(Math.min(1, bytes / size))}  `;
  const rejected = counts.rejected > 0 ? `, ${number(counts.rejected)} rejected` : '';
  return `${share}${number(done)} results, ${number(perSecond)} a second${rejected}`;
}

function summary(counts: ImportCounts, faults: string[], rejected: Input['rejected'], call: Importing): string {
  const { path, target } = rejected;
  const isStopped = call.signal.aborted;
  return linesOf(
    `${number(counts.imported)} imported, ${number(counts.updated)} updated, ${number(counts.unchanged)} unchanged, ${number(counts.rejected)} rejected.`,
    ...faults,
    counts.rejected > 0 &&
      path !== null &&
      (isStopped
        ? `The rejected lines so far, and why: ${target === null ? path : partOf(target)}`
        : `Every rejected line and why, to correct and import again: ${path}`),
    call.options.dryRun && 'Nothing was written: this is what the command does without --dry-run.',
    isStopped && 'Stopped before the end: run the same command again to import the rest.',
  );
}

/** Lists lines with names that look damaged. The import accepts such names, because a command can't ask. */
const damagedWords = (lines: readonly number[]): string[] =>
  lines.length === 0
    ? []
    : [
        `A name looks damaged on ${lines.length === 1 ? 'line' : 'lines'} ${lines.slice(0, shownLines).join(', ')}${lines.length > shownLines ? ` and ${number(lines.length - shownLines)} more` : ''}; it was taken as it is. Correct it with ars learner rename.`,
      ];

export const importResults: Command = organisationCommand({
  name: 'results import',
  summary: 'Import results from NDJSON or CSV',
  notes: 'Run the command again to continue after a stop, or to amend imported results.',
  examples: [
    '--organisation $ORG results.ndjson --dry-run',
    '--organisation $ORG results.csv --dates uk --rejected rejected.csv',
  ],
  fails: 'The import has failed, or it has refused lines.',
  about: {
    events: 'Sends webhook events for imported results',
    format: 'The format (default: from the name of the file)',
    dates: 'How dates are written: uk reads 31/01/2026',
    dryRun: 'Checks the file, and changes nothing',
    rejected: 'The file for refused lines',
  },
  takes: 'FILE|-',
  options,
  prepare: readInput,
  run: async (call) => {
    const { app, organisation, organisationId, signal, prepared } = call;
    const { events, dates, dryRun } = call.options;
    const { format, size } = prepared;
    const rejects = await rejectsFile(prepared.rejected);
    const startedMs = app.clock.monotonicMs();
    const { input, bytes, close } = await openInput(prepared.file, dryRun, signal);
    const faults: string[] = [];
    const damaged: number[] = [];
    try {
      const counts = await importFile(app, input, {
        organisationId,
        organisationPublicId: organisation.public_id,
        actor: operator,
        events,
        format,
        dates,
        dryRun,
        signal,
        onProgress: (so) => call.progress(progressText(so, app.clock.monotonicMs() - startedMs, bytes(), size)),
        onDamaged: (line) => damaged.push(line),
        onRejected: async (rejected) => {
          if (faults.length < shownLines)
            faults.push(`  line ${rejected.line}: ${rejected.faults.map(sentenceOf).join('; ')}`);
          await rejects.add(rejected);
        },
      });
      await rejects.close(!signal.aborted);
      const { imported, updated, unchanged, rejected } = counts;
      return {
        json: { imported, updated, unchanged, rejected, ...(damaged.length === 0 ? {} : { damaged_names: damaged }) },
        text: summary(counts, [...faults, ...damagedWords(damaged)], prepared.rejected, call),
        exitCode: signal.aborted || rejected > 0 ? 1 : 0,
      };
    } catch (error) {
      await rejects.close(false).catch(() => {});
      throw error;
    } finally {
      close();
    }
  },
});
