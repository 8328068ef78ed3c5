import { createReadStream, createWriteStream } from 'node:fs';
import type { ReadStream } from 'node:fs';
import { mkdtemp, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImportCounts, Rejected } from '../../../src/records/import/file.ts';
import { importFile } from '../../../src/records/import/file.ts';
import { sentenceOf } from '../../../src/records/results/result-fields.ts';
import type { Call, Command, Values } from '../../kit/command.ts';
import { Failure, Misuse } from '../../kit/command.ts';
import { besideOf, isStandardOutput, keepFresh, takePlace } from '../../kit/in-place.ts';
import { operator, organisationCommand } from '../../kit/open.ts';
import { flag, or, parsed, text, word } from '../../kit/options.ts';
import { linesOf } from '../../kit/table.ts';
import { terminal } from '../../kit/terminal.ts';

const options = {
  events: flag,
  format: word(['ndjson', 'csv']),
  dates: or(
    parsed('uk', 'uk, for DD/MM/YYYY and the clocks of Europe/London, or rfc3339', (given) =>
      (['rfc3339', 'uk'] as const).find((one) => one === given),
    ),
    'rfc3339' as const,
  ),
  dryRun: flag,
  rejected: text('FILE'),
};
type Importing = Call<Values<typeof options>>;

/** Refused lines that are told on the screen; all of them stand in the file of refused lines. */
const toldLines = 5;

function bar(share: number): string {
  const width = 30;
  const full = Math.round(share * width);
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${String(Math.floor(share * 100)).padStart(3)} %`;
}

const number = (value: number) => value.toLocaleString('en-GB');

/** Where a run that is broken off leaves its refused lines. */
const leftOf = (place: string) => `${place}.part`;

/**
 * The file of refused lines. It is written beside the one of an earlier run, and takes its place at the end: a run that is
 * broken off leaves that one as it was.
 */
async function rejectsFile({ path, place, isNamed }: Choices['rejected']) {
  if (path === null) return { add: async () => {}, close: async () => {} };
  const writtenTo = place === null ? path : await besideOf(place);
  // Before anything is imported: later, nobody would learn what was rejected.
  const file = await open(writtenTo, place === null ? 'a' : 'wx', 0o600).catch(() => {
    throw new Failure(`cannot write ${path}: name another file with --rejected`);
  });
  if (place !== null) await rm(leftOf(place), { force: true });
  const settle = place === null ? () => {} : keepFresh(writtenTo);
  let isEmpty = true;
  return {
    async add({ head, again }: Rejected): Promise<void> {
      await file.appendFile(isEmpty ? Buffer.concat([head(), again]) : again).catch(() => {
        throw new Failure(`cannot write ${path} any more; the lines before were imported`);
      });
      isEmpty = false;
    },
    /** @param isWhole whether all of the file was read: of a part of it, what was refused stays beside */
    async close(isWhole: boolean): Promise<void> {
      settle();
      await file.close();
      if (place === null) return;
      if (isEmpty && !(isWhole && isNamed)) await rm(writtenTo, { force: true });
      else if (isWhole) await takePlace(writtenTo, path);
      else await rename(writtenTo, leftOf(place));
      if (isEmpty && isWhole && !isNamed) await rm(path, { force: true });
    },
  };
}

/** A copy of standard input: a dry run is one transaction, which must not wait for whoever writes there. */
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
    // What is open can still be read.
    await rm(folder, { recursive: true, force: true });
  }
}

type Choices = {
  file: string;
  format: 'ndjson' | 'csv';
  /** Bytes of the file, where it is known. */
  size: number | null;
  /** `place`: where `path` leads, null where that is no file. */
  rejected: { path: string | null; place: string | null; isNamed: boolean };
};

async function readChoices(call: Importing): Promise<Choices> {
  const file = call.positionals[0]!;
  const { dryRun, rejected: named, format: its } = call.options;
  const format = its ?? (/\.(csv|tsv)$/i.test(file) ? 'csv' : 'ndjson');
  const kind = file === '-' ? null : await stat(file).catch(() => null);
  if (file !== '-' && kind?.isDirectory() !== false) throw new Failure(`cannot read ${file}`);
  const path = named ?? (kind?.isFile() === true && !dryRun ? `${file}.rejected.${format}` : null);
  const there = path === null ? null : await stat(path).catch(() => null);
  const place = path === null || there?.isFile() === false ? null : await realpath(path).catch(() => path);
  const left = place === null ? null : await stat(leftOf(place)).catch(() => null);
  for (const same of [there, left])
    if (kind !== null && same?.ino === kind.ino && same.dev === kind.dev)
      throw new Misuse('--rejected must name another file than the one that is imported');
  if (place !== null && isStandardOutput(there))
    throw new Misuse('--rejected must name another file than the one that standard output goes to');
  const rejected = { path, place, isNamed: named !== undefined };
  return { file, format, size: kind?.size ?? null, rejected };
}

/** What is imported, until it ends or the command is stopped. */
async function openInput(file: string, dryRun: boolean, signal: AbortSignal) {
  const opened = file !== '-' ? createReadStream(file) : dryRun ? await spooled(signal) : null;
  const source = opened ?? terminal().input;
  const input = source.pipe(new PassThrough());
  source.once('error', (error) => input.destroy(error));
  // Whoever writes to standard input may pause for as long as they like.
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

function summary(counts: ImportCounts, told: string[], rejected: Choices['rejected'], call: Importing): string {
  const { path, place } = rejected;
  const isStopped = call.signal.aborted;
  return linesOf(
    `${number(counts.imported)} imported, ${number(counts.updated)} updated, ${number(counts.unchanged)} unchanged, ${number(counts.rejected)} rejected.`,
    ...told,
    counts.rejected > 0 &&
      path !== null &&
      (isStopped
        ? `The rejected lines so far, and why: ${place === null ? path : leftOf(place)}`
        : `Every rejected line and why, to be mended and imported: ${path}`),
    call.options.dryRun && 'Nothing was written: this is what the command does without --dry-run.',
    isStopped && 'Stopped before the end: run the same command again to import the rest.',
  );
}

/** Where names look damaged: they are imported, because a schedule can't be asked. */
const damagedWords = (lines: readonly number[]): string[] =>
  lines.length === 0
    ? []
    : [
        `A name looks damaged on ${lines.length === 1 ? 'line' : 'lines'} ${lines.slice(0, toldLines).join(', ')}${lines.length > toldLines ? ` and ${number(lines.length - toldLines)} more` : ''}; it was taken as it is. Correct it with ars learner rename.`,
      ];

export const importResults: Command = organisationCommand({
  name: 'results import',
  summary: 'Import results; run it again to continue or to amend',
  takes: 'FILE|-',
  options,
  prepare: readChoices,
  run: async (call) => {
    const { app, organisation, organisationId, signal, prepared } = call;
    const { events, dates, dryRun } = call.options;
    const { format, size } = prepared;
    const rejects = await rejectsFile(prepared.rejected);
    const startedMs = app.clock.monotonicMs();
    const { input, bytes, close } = await openInput(prepared.file, dryRun, signal);
    const told: string[] = [];
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
          if (told.length < toldLines)
            told.push(`  line ${rejected.line}: ${rejected.faults.map(sentenceOf).join('; ')}`);
          await rejects.add(rejected);
        },
      });
      await rejects.close(!signal.aborted);
      const { imported, updated, unchanged, rejected } = counts;
      return {
        json: { imported, updated, unchanged, rejected, ...(damaged.length === 0 ? {} : { damaged_names: damaged }) },
        text: summary(counts, [...told, ...damagedWords(damaged)], prepared.rejected, call),
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
