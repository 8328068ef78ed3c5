import { createReadStream } from 'node:fs';
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { amendAssessment, readAmendment, withdrawAssessment } from '../src/assessments/amend.ts';
import type { ImportCounts } from '../src/assessments/import-file.ts';
import { importFile } from '../src/assessments/import-file.ts';
import { UnreadableFile } from '../src/assessments/import-lines.ts';
import { RecordRefused } from '../src/assessments/import-record.ts';
import type { Amendment } from '../src/assessments/schema.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { act, isUuid, operator, option, organisationOf, readReason, requiredOption, withApp } from './open.ts';
import { commands as historyCommands } from './results-history.ts';

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

async function runImport(call: Call) {
  const file = call.positionals[0]!;
  const id = requiredOption(call, 'organisation');
  const format = option(call, 'format') ?? (file.toLowerCase().endsWith('.csv') ? 'csv' : 'ndjson');
  if (format !== 'csv' && format !== 'ndjson') throw new Misuse('--format must be ndjson or csv');
  const kind = file === '-' ? null : await stat(file).catch(() => null);
  if (file !== '-' && kind?.isDirectory() !== false) throw new Failure(`cannot read ${file}`);
  const size = kind?.size ?? null;
  const named = option(call, 'rejected');
  const reportPath = named ?? (kind?.isFile() === true ? `${file}.rejected.ndjson` : null);
  const rejected: string[] = [];
  return withApp(async (app) => {
    const found = await organisationOf(app, id);
    // Before anything is imported: later, nobody would learn what was rejected.
    if (reportPath !== null)
      await open(reportPath, 'a', 0o600)
        .then((handle) => handle.close())
        .catch(() => {
          throw new Failure(`cannot write ${reportPath}: name another file with --rejected`);
        });
    const started = app.clock.monotonicMs();
    let bytes = 0;
    const source = file === '-' ? process.stdin : createReadStream(file);
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
      call.progress(
        `${size === null || size === 0 ? '' : `${bar(Math.min(1, bytes / size))}  `}${number(done)} results, ${number(perSecond)} a second${counts.rejected > 0 ? `, ${number(counts.rejected)} rejected` : ''}`,
      );
    };
    let counts: ImportCounts;
    try {
      counts = await importFile(app, input, {
        organisationId: found.organisation_id,
        organisationPublicId: found.public_id,
        events: call.options.events === true,
        actor: operator,
        format,
        signal: call.signal,
        onProgress: tell,
        onRejected: (line, reason) => {
          if (rejected.length < 1_000_000) rejected.push(JSON.stringify({ line, reason }));
        },
      });
    } catch (error) {
      if (error instanceof UnreadableFile) throw new Failure(error.message);
      throw error;
    }
    if (reportPath !== null) {
      if (rejected.length > 0 || named !== undefined)
        await writeFile(reportPath, rejected.map((line) => `${line}\n`).join(''), { mode: 0o600 });
      else await rm(reportPath, { force: true });
    }
    const lines = [
      `${number(counts.imported)} imported, ${number(counts.updated)} updated, ${number(counts.unchanged)} unchanged, ${number(counts.rejected)} rejected.`,
    ];
    if (rejected.length > 0) {
      lines.push(
        ...rejected.slice(0, 5).map((entry) => {
          const { line, reason } = JSON.parse(entry) as { line: number; reason: string };
          return `  line ${line}: ${reason}`;
        }),
      );
      if (reportPath !== null) lines.push(`Every rejected line and why: ${reportPath}`);
    }
    if (call.signal.aborted) lines.push('Stopped before the end: run the same command again to import the rest.');
    return {
      json: {
        imported: counts.imported,
        updated: counts.updated,
        unchanged: counts.unchanged,
        rejected: counts.rejected,
      },
      text: lines.join('\n'),
      exitCode:
        call.signal.aborted || (counts.rejected > 0 && counts.imported + counts.updated + counts.unchanged === 0)
          ? 1
          : 0,
    };
  });
}

function assessmentId(call: Call): string {
  const id = call.positionals[0]!.toLowerCase();
  if (!isUuid(id)) throw new Misuse('the assessment id must be a UUID');
  return id;
}

async function runAmend(call: Call) {
  const id = assessmentId(call);
  const reason = readReason(call);
  const file = call.positionals[1]!;
  const text =
    file === '-'
      ? await readAll(process.stdin)
      : await readFile(file, 'utf8').catch(() => {
          throw new Failure(`cannot read ${file}`);
        });
  let amendment: Amendment;
  try {
    amendment = readAmendment(JSON.parse(text.replace(/^\uFEFF/, '')));
  } catch (error) {
    throw new Failure(error instanceof RecordRefused ? error.message : 'the amendment must be one JSON object');
  }
  return withApp(async (app) => {
    const found = await organisationOf(app, requiredOption(call, 'organisation'));
    const changed = await act(app, found.organisation_id, 'results amend', async (work) => ({
      result: await amendAssessment(work, found.organisation_id, id, amendment, { actor: operator, reason }),
      resource: id,
    }));
    return {
      json: { assessment_id: id, changed },
      text: changed ? `${id} is amended.` : `${id} already is as the amendment says; nothing was changed.`,
    };
  });
}

export const commands: Command[] = [
  ...historyCommands,
  {
    name: 'results import',
    usage: '--organisation ID [--events] [--format ndjson|csv] [--rejected FILE] FILE|-',
    positionals: [1, 1],
    summary: 'Import results; run it again to continue or to amend',
    options: {
      organisation: { type: 'string' },
      events: { type: 'boolean' },
      format: { type: 'string' },
      rejected: { type: 'string' },
    },
    run: runImport,
  },
  {
    name: 'results amend',
    usage: '--organisation ID ASSESSMENT_ID --reason R FILE|-',
    summary: 'Amend a result with the fields of a JSON object',
    positionals: [2, 2],
    options: { organisation: { type: 'string' }, reason: { type: 'string' } },
    run: runAmend,
  },
  {
    name: 'results withdraw',
    usage: '--organisation ID ASSESSMENT_ID --reason R',
    summary: 'Withdraw a result for good',
    positionals: [1, 1],
    options: { organisation: { type: 'string' }, reason: { type: 'string' } },
    run: async (call) => {
      const id = assessmentId(call);
      const reason = readReason(call);
      return withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        await act(app, found.organisation_id, 'results withdraw', async (work) => {
          await withdrawAssessment(work, found.organisation_id, id, { actor: operator, reason });
          return { result: null, resource: id };
        });
        return { json: { assessment_id: id, status: 'deleted' }, text: `${id} is withdrawn.` };
      });
    },
  },
];
