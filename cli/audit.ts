import { once } from 'node:events';
import type { App } from '../src/app.ts';
import { readAudit } from '../src/audit/audit.ts';
import type { ExportedBlock, ExportedRow } from '../src/audit/export.ts';
import { exportedRow, proofLines, reachesInto, verifyExport } from '../src/audit/export.ts';
import { findCalls, groupErrors } from '../src/audit/log.ts';
import type { Anchor, Verdict } from '../src/audit/verify.ts';
import { readBlocks, verifyAudit } from '../src/audit/verify.ts';
import { limits } from '../src/limits.ts';
import type { Call, Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { fileLines } from './file.ts';
import { numberOption, option, organisationOf, requiredOption, table, timeOption, withApp } from './open.ts';
import { terminal } from './terminal.ts';

function time(call: Call, name: string): Date | null {
  const us = timeOption(call, name);
  return us === null ? null : new Date(us / 1000);
}

/** Writes a value as a line, and waits where whoever reads is slow. */
async function writeLine(call: Call, value: unknown): Promise<void> {
  if (call.signal.aborted) throw new Failure('stopped before the end of the log');
  const { output } = terminal();
  if (!output.write(`${JSON.stringify(value)}\n`) && output.writable) await once(output, 'drain');
  if (!output.writable) throw new Failure('the output cannot be written');
}

/** The organisation of `--organisation`; `none` stands for callers that proved no organisation. */
async function internalId(app: App, id: string): Promise<number> {
  return id === 'none' ? 0 : (await organisationOf(app, id)).organisation_id;
}

async function exportLog(call: Call) {
  const [id, from, to] = [requiredOption(call, 'organisation'), time(call, 'from'), time(call, 'to')];
  return withApp(async (app) => {
    const organisationId = await internalId(app, id);
    let count = 0;
    if (call.options.proof === true)
      for await (const line of proofLines(app, organisationId, { from, to })) {
        await writeLine(call, line);
        if (!('block' in line)) count++;
      }
    else
      for await (const row of readAudit(app, organisationId, from, to)) {
        await writeLine(call, exportedRow(row));
        count++;
      }
    return { json: { exported: count }, text: '' };
  });
}

async function anchors(call: Call) {
  const [id, from, to] = [requiredOption(call, 'organisation'), time(call, 'from'), time(call, 'to')];
  return withApp(async (app) => {
    let count = 0;
    for await (const block of readBlocks(app, await internalId(app, id))) {
      if (!reachesInto(block, from, to)) continue;
      const { number, hash, first_at: first, last_at: last, rows } = block;
      await writeLine(call, {
        organisation_id: id,
        block: number,
        hash: hash.toString('hex'),
        first_at: first.toISOString(),
        last_at: last.toISOString(),
        rows,
      });
      count++;
    }
    return { json: { anchors: count }, text: '' };
  });
}

async function* jsonLines(file: string): AsyncGenerator<Record<string, unknown>> {
  let number = 0;
  for await (const line of fileLines(file, limits.importLineBytes)) {
    number++;
    if (line === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(number === 1 ? line.replace(/^\uFEFF/, '') : line);
    } catch {
      value = null;
    }
    if (typeof value !== 'object' || value === null)
      throw new Failure(`line ${number} of ${file} is not a JSON object`);
    // The last line of an export with --json.
    if (Object.hasOwn(value, 'exported') || Object.hasOwn(value, 'anchors')) continue;
    yield value as Record<string, unknown>;
  }
}

/** Those of another organisation would say that the log was tampered with. @throws Failure */
async function readAnchors(file: string | undefined, id: string): Promise<Anchor[]> {
  if (file === undefined) return [];
  const found: Anchor[] = [];
  for await (const { organisation_id: of, block, hash } of jsonLines(file)) {
    if (block === undefined) continue;
    if (typeof of === 'string' && of.toLowerCase() !== id.toLowerCase())
      throw new Failure(`${file} has anchors of another organisation than --organisation`);
    if (typeof block !== 'number' || typeof hash !== 'string')
      throw new Failure(`${file} has a line that is no anchor`);
    found.push({ block, hash });
  }
  if (found.length === 0) throw new Failure(`${file} has no anchors; ars audit anchors writes them`);
  return found;
}

function shown({ faults, blocks, rows, dropped, redacted, head, unsealed }: Verdict): string {
  const { rows: count, tail } = unsealed;
  return [
    ...faults,
    `${rows} rows in ${blocks} blocks ${faults.length === 0 ? 'are' : 'were compared with'} what was sealed.`,
    ...(dropped === 0 ? [] : [`${dropped} blocks whose rows are no longer kept are held by their hashes.`]),
    ...(redacted.length === 0 ? [] : [`Redacted since: row ${redacted.join(', ')}.`]),
    ...(head === null ? [] : [`The chain ends with block ${head.block}: ${head.hash}`]),
    count === 0 ? 'Nothing is unsealed.' : `Not sealed yet: ${count} ${count === 1 ? 'row' : 'rows'}.`,
    ...(count === 0
      ? []
      : [
          table([
            ['id', 'at', 'actor', 'action', 'status'],
            ...tail.map((row) => [
              String(row.audit_id),
              row.at.toISOString(),
              row.actor,
              row.action,
              String(row.status ?? ''),
            ]),
          ]),
        ]),
  ].join('\n');
}

async function verifyFile(call: Call, id: string, file: string) {
  return withApp(async (app) => {
    const lines = jsonLines(file) as AsyncGenerator<ExportedBlock | ExportedRow>;
    const { faults, rows, blocks, covered, unknown } = await verifyExport(app, await internalId(app, id), lines);
    return {
      json: { valid: faults.length === 0, faults, rows, blocks, covered, no_longer_kept: unknown },
      exitCode: faults.length === 0 ? 0 : 1,
      text: [
        ...faults,
        `${rows} rows and ${blocks} blocks of the file were compared with the log.`,
        ...(covered === null
          ? []
          : [`They are blocks ${covered.first} to ${covered.last}, with rows of ${covered.from} to ${covered.to}.`]),
        ...(unknown === 0 ? [] : [`${unknown} rows are no longer kept here, and no hash in the file leads to them.`]),
      ].join('\n'),
    };
  });
}

async function verify(call: Call) {
  const [id, from, to] = [requiredOption(call, 'organisation'), time(call, 'from'), time(call, 'to')];
  const [file] = call.positionals;
  if (file !== undefined) {
    if (from !== null || to !== null || call.options.anchors !== undefined)
      throw new Misuse('a FILE is compared as a whole: --from, --to and --anchors go without it');
    return verifyFile(call, id, file);
  }
  const kept = await readAnchors(option(call, 'anchors'), id);
  return withApp(async (app) => {
    const verdict = await verifyAudit(app, await internalId(app, id), { from, to, anchors: kept });
    const { unsealed, ...rest } = verdict;
    return {
      json: {
        valid: verdict.faults.length === 0,
        ...rest,
        unsealed: { rows: unsealed.rows, tail: unsealed.tail.map(exportedRow) },
      },
      exitCode: verdict.faults.length === 0 ? 0 : 1,
      text: shown(verdict),
    };
  });
}

const dayMs = 86_400_000;

async function showLog(call: Call) {
  const id = requiredOption(call, 'organisation');
  const statusClass = option(call, 'status');
  if (statusClass !== undefined && !/^[2-5]xx$/.test(statusClass))
    throw new Misuse('--status must be 2xx, 3xx, 4xx or 5xx');
  const limit = numberOption(call, 'limit', 50, 1, 1000);
  return withApp(async (app) => {
    const organisationId = await internalId(app, id);
    const nowMs = app.clock.nowMs();
    const filter = {
      actor: option(call, 'key') ?? null,
      action: option(call, 'route') ?? null,
      statusClass: statusClass === undefined ? null : Number(statusClass[0]),
      code: option(call, 'code') ?? null,
      from: time(call, 'from') ?? new Date(nowMs - 90 * dayMs),
      to: time(call, 'to') ?? new Date(nowMs + dayMs),
    };
    if (call.options.errors === true) {
      const groups = await groupErrors(app.db, organisationId, filter);
      const rows = groups.map(({ code, action, status, calls, last_at: last, fix }) => [
        String(calls),
        String(status),
        code,
        action,
        last.toISOString(),
        fix,
      ]);
      return {
        json: { data: groups },
        text:
          rows.length === 0
            ? 'No call was refused.'
            : table([['calls', 'status', 'code', 'route', 'last', 'fix'], ...rows]),
      };
    }
    const { calls } = await findCalls(app.db, organisationId, filter, null, limit);
    const rows = calls.map(({ audit_id: row, at, actor, action, status, detail }) => [
      String(row),
      at.toISOString(),
      actor,
      action,
      String(status ?? ''),
      detail?.code ?? (detail?.rows === undefined ? '' : `${detail.rows} rows`),
      detail?.query ?? '',
    ]);
    return {
      json: { data: calls },
      text:
        rows.length === 0
          ? 'There are no such calls.'
          : table([['id', 'at', 'key', 'route', 'status', 'answer', 'query'], ...rows]),
    };
  });
}

const period = { organisation: { type: 'string' }, from: { type: 'string' }, to: { type: 'string' } } as const;

export const commands: Command[] = [
  {
    name: 'audit export',
    usage: '--organisation ID [--from T] [--to T] [--proof]',
    summary: 'Write the audit log as JSON lines; with --proof by blocks, each with its hash',
    options: { ...period, proof: { type: 'boolean' } },
    run: exportLog,
  },
  {
    name: 'audit log',
    usage:
      "--organisation ID [--key KEY_ID] [--route 'GET /assessments'] [--status 4xx] [--code CODE] [--from T] [--to T] [--limit N] [--errors]",
    summary: 'Show the last calls, or with --errors what was refused and how to mend it',
    options: {
      ...period,
      key: { type: 'string' },
      route: { type: 'string' },
      status: { type: 'string' },
      code: { type: 'string' },
      limit: { type: 'string' },
      errors: { type: 'boolean' },
    },
    run: showLog,
  },
  {
    name: 'audit anchors',
    usage: '--organisation ID [--from T] [--to T]',
    summary: 'Write the hashes of the sealed blocks, to be kept elsewhere',
    options: period,
    run: anchors,
  },
  {
    name: 'audit verify',
    usage: '--organisation ID [--from T] [--to T] [--anchors FILE] [FILE|-]',
    summary: 'Compare the audit log, or an export of it, with what was sealed; shows what is not sealed yet',
    options: { ...period, anchors: { type: 'string' } },
    positionals: [0, 1],
    run: verify,
  },
];
