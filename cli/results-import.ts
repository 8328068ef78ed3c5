import { createReadStream, createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import type { ImportCounts, Rejected } from '../src/imports/file.ts';
import { importFile } from '../src/imports/file.ts';
import { sentenceOf } from '../src/assessments/result-fields.ts';
import { UnreadableFile } from '../src/files/encoding.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { operator, option, organisationOf, requiredOption, withApp } from './open.ts';

/** Refused lines that are told on the screen; all of them stand in the file of refused lines. */
const toldLines = 5;

function bar(share: number): string {
  const width = 30;
  const full = Math.round(share * width);
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${String(Math.floor(share * 100)).padStart(3)} %`;
}

const number = (value: number) => value.toLocaleString('en-GB');

/** Counts the bytes that pass, for the progress bar. */
function metered(onBytes: (total: number) => void): Transform {
  let total = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      total += chunk.length;
      onBytes(total);
      done(null, chunk);
    },
  });
}

/** The file of refused lines, begun with the first of them; what an earlier run left there goes when this one ends without any. */
async function rejectsFile(path: string | null, isNamed: boolean) {
  // Before anything is imported: later, nobody would learn what was rejected.
  if (path !== null)
    await open(path, 'a', 0o600)
      .then((handle) => handle.close())
      .catch(() => {
        throw new Failure(`cannot write ${path}: name another file with --rejected`);
      });
  let out: WriteStream | null = null;
  let failed: Error | null = null;
  return {
    async add({ head, again }: Rejected): Promise<void> {
      if (path === null) return;
      if (out === null) {
        out = createWriteStream(path, { mode: 0o600 }).on('error', (error) => {
          failed = error;
        });
        out.write(head());
      }
      if (failed !== null) throw new Failure(`cannot write ${path} any more; the lines before were imported`);
      if (!out.write(again)) await Promise.race([once(out, 'drain'), finished(out).catch(() => {})]);
    },
    async close(): Promise<void> {
      if (out !== null) {
        out.end();
        await finished(out).catch(() => {
          throw new Failure(`cannot write ${path}`);
        });
      } else if (path !== null && isNamed) await open(path, 'w', 0o600).then((handle) => handle.close());
      else if (path !== null) await rm(path, { force: true });
    },
  };
}

/** A copy of standard input: a dry run is one transaction, which must not wait for whoever writes there. */
async function spooled(folder: string, signal: AbortSignal): Promise<string> {
  const copy = join(folder, 'input');
  await pipeline(process.stdin, createWriteStream(copy, { mode: 0o600 }), { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return copy;
}

async function runImport(call: Call) {
  const file = call.positionals[0]!;
  const id = requiredOption(call, 'organisation');
  const dryRun = call.options['dry-run'] === true;
  const format = option(call, 'format') ?? (/\.(csv|tsv)$/i.test(file) ? 'csv' : 'ndjson');
  if (format !== 'csv' && format !== 'ndjson') throw new Misuse('--format must be ndjson or csv');
  const dates = option(call, 'dates') ?? 'rfc3339';
  if (dates !== 'uk' && dates !== 'rfc3339')
    throw new Misuse('--dates must be uk, for DD/MM/YYYY and the clocks of Europe/London, or rfc3339');
  const kind = file === '-' ? null : await stat(file).catch(() => null);
  if (file !== '-' && kind?.isDirectory() !== false) throw new Failure(`cannot read ${file}`);
  const size = kind?.size ?? null;
  const named = option(call, 'rejected');
  const rejectedPath = named ?? (kind?.isFile() === true && !dryRun ? `${file}.rejected.${format}` : null);
  const same = rejectedPath === null ? null : await stat(rejectedPath).catch(() => null);
  if (kind !== null && same?.ino === kind.ino && same.dev === kind.dev)
    throw new Misuse('--rejected must name another file than the one that is imported');
  const folder = dryRun && file === '-' ? await mkdtemp(join(tmpdir(), 'ars-import-')) : null;
  try {
    return await withApp(async (app) => {
      const found = await organisationOf(app, id);
      const rejects = await rejectsFile(rejectedPath, named !== undefined);
      const started = app.clock.monotonicMs();
      let bytes = 0;
      const copy = folder === null ? null : await spooled(folder, call.signal);
      const source = file === '-' && copy === null ? process.stdin : createReadStream(copy ?? file);
      const input = source.pipe(
        metered((total) => {
          bytes = total;
        }),
      );
      source.once('error', (error) => input.destroy(error));
      // Whoever writes to standard input may pause for as long as they like.
      const stop = () => {
        source.unpipe(input).destroy();
        input.end();
      };
      if (call.signal.aborted) stop();
      else call.signal.addEventListener('abort', stop, { once: true });
      const tell = (counts: ImportCounts) => {
        const done = counts.imported + counts.updated + counts.unchanged + counts.rejected;
        const perSecond = Math.round(done / Math.max(0.001, (app.clock.monotonicMs() - started) / 1000));
        const share = size === null || size === 0 ? '' : `${bar(Math.min(1, bytes / size))}  `;
        const rejected = counts.rejected > 0 ? `, ${number(counts.rejected)} rejected` : '';
        call.progress(`${share}${number(done)} results, ${number(perSecond)} a second${rejected}`);
      };
      const told: string[] = [];
      let counts: ImportCounts;
      try {
        counts = await importFile(app, input, {
          organisationId: found.organisation_id,
          organisationPublicId: found.public_id,
          events: call.options.events === true,
          actor: operator,
          format,
          dates,
          dryRun,
          signal: call.signal,
          onProgress: tell,
          onRejected: async (rejected) => {
            if (told.length < toldLines)
              told.push(`  line ${rejected.line}: ${rejected.faults.map(sentenceOf).join('; ')}`);
            await rejects.add(rejected);
          },
        });
      } catch (error) {
        if (error instanceof UnreadableFile) throw new Failure(error.message);
        throw error;
      } finally {
        source.destroy();
      }
      await rejects.close();
      const { imported, updated, unchanged, rejected } = counts;
      const lines = [
        `${number(imported)} imported, ${number(updated)} updated, ${number(unchanged)} unchanged, ${number(rejected)} rejected.`,
        ...told,
      ];
      if (rejected > 0 && rejectedPath !== null)
        lines.push(`Every rejected line and why, to be mended and imported: ${rejectedPath}`);
      if (dryRun) lines.push('Nothing was written: this is what the command does without --dry-run.');
      if (call.signal.aborted) lines.push('Stopped before the end: run the same command again to import the rest.');
      return {
        json: { imported, updated, unchanged, rejected },
        text: lines.join('\n'),
        exitCode: call.signal.aborted || rejected > 0 ? 1 : 0,
      };
    });
  } finally {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  }
}

export const importResults: Command = {
  name: 'results import',
  usage: '--organisation ID [--events] [--format ndjson|csv] [--dates uk] [--dry-run] [--rejected FILE] FILE|-',
  positionals: [1, 1],
  summary: 'Import results; run it again to continue or to amend',
  options: {
    organisation: { type: 'string' },
    events: { type: 'boolean' },
    format: { type: 'string' },
    dates: { type: 'string' },
    'dry-run': { type: 'boolean' },
    rejected: { type: 'string' },
  },
  run: runImport,
};
