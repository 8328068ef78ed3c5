import type { App } from '../../../src/platform/app.ts';
import { readAudit } from '../../../src/platform/audit/read.ts';
import type { ExportedBlock, ExportedRow } from '../../../src/platform/audit/export.ts';
import { exportedRow, proofLines, reachesInto, verifyExport } from '../../../src/platform/audit/export.ts';
import { findCalls, groupErrors } from '../../../src/platform/audit/log.ts';
import { type Anchor, type Verdict, readBlocks, verifyAudit } from '../../../src/platform/audit/verify.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import type { Call, Command, Declaration, Option, Options, Output, Values } from '../../kit/command.ts';
import { command, Failure, Misuse } from '../../kit/command.ts';
import { fileLines } from '../../kit/file.ts';
import { organisationOf, withApp } from '../../kit/open.ts';
import { flag, limit, or, parsed, required, text, time } from '../../kit/options.ts';
import { linesOf, tableOf } from '../../kit/table.ts';
import { writeOut } from '../../kit/terminal.ts';

const period = { organisation: required(text('ID')), from: or(time('T'), null), to: or(time('T'), null) };
type Period = Values<typeof period>;

/**
 * A command about the audit log of one organisation. `--organisation none` selects the log of requests without a valid
 * key.
 */
const logCommand = <O extends Options>(
  declared: Omit<Declaration<O>, 'run'> & {
    run(call: Call<Values<O> & Period>, app: App, organisationId: number): Promise<Output>;
  },
): Command =>
  command<Record<string, Option<any>>>({
    ...declared,
    options: { ...period, ...declared.options },
    about: {
      organisation: "The organisation's ID, or none for requests without a valid key",
      from: 'Only rows from this time',
      to: 'Only rows before this time',
      ...declared.about,
    },
    run: (call) =>
      withApp(async (app) => {
        const { organisation: id } = call.options as unknown as Period;
        const organisationId = id === 'none' ? 0 : (await organisationOf(app, id)).organisation_id;
        return declared.run(call as unknown as Call<Values<O> & Period>, app, organisationId);
      }),
  });

async function writeLine({ signal }: Call<unknown>, value: unknown): Promise<void> {
  if (signal.aborted) throw new Failure('stopped before the end of the log');
  await writeOut(`${JSON.stringify(value)}\n`);
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
    // With --json, an export ends with a summary line, which is no audit entry.
    if (Object.hasOwn(value, 'exported') || Object.hasOwn(value, 'anchors')) continue;
    yield value as Record<string, unknown>;
  }
}

/** @throws Failure for anchors of another organisation, because they would make the log look changed */
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
  return linesOf(
    ...faults,
    `${rows} rows in ${blocks} blocks ${faults.length === 0 ? 'are' : 'were compared with'} what was sealed.`,
    dropped > 0 && `${dropped} blocks whose rows are no longer kept are held by their hashes.`,
    redacted.length > 0 && `Redacted since: row ${redacted.join(', ')}.`,
    head !== null && `The chain ends with block ${head.block}: ${head.hash}`,
    count === 0 ? 'Nothing is unsealed.' : `Not sealed yet: ${count} ${count === 1 ? 'row' : 'rows'}.`,
    count > 0 && tableOf(tail, [['id', 'audit_id'], 'at', 'actor', 'action', 'status']),
  );
}

async function verifyFile(app: App, organisationId: number, file: string): Promise<Output> {
  const lines = jsonLines(file) as AsyncGenerator<ExportedBlock | ExportedRow>;
  const { faults, rows, blocks, covered, unknown } = await verifyExport(app, organisationId, lines);
  return {
    json: { valid: faults.length === 0, faults, rows, blocks, covered, no_longer_kept: unknown },
    exitCode: faults.length === 0 ? 0 : 1,
    text: linesOf(
      ...faults,
      `${rows} rows and ${blocks} blocks of the file were compared with the log.`,
      covered !== null &&
        `They are blocks ${covered.first} to ${covered.last}, with rows of ${covered.from} to ${covered.to}.`,
      unknown > 0 && `${unknown} rows are no longer kept here, and no hash in the file leads to them.`,
    ),
  };
}

const dayMs = 86_400_000;

export const commands: Command[] = [
  logCommand({
    name: 'audit export',
    summary: 'Write the audit log as JSON lines',
    notes: '--organisation none selects requests without a valid key.',
    examples: ['--organisation $ORG > audit.ndjson', '--organisation $ORG --from 2026-09-01 --proof'],
    about: { proof: 'Also writes the hash of every block' },
    options: { proof: flag },
    run: async (call, app, organisationId) => {
      const { from, to, proof } = call.options;
      let exported = 0;
      if (proof)
        for await (const line of proofLines(app, organisationId, { from, to })) {
          await writeLine(call, line);
          if (!('block' in line)) exported++;
        }
      else
        for await (const row of readAudit(app, organisationId, from, to)) {
          await writeLine(call, exportedRow(row));
          exported++;
        }
      return { json: { exported }, text: '' };
    },
  }),
  logCommand({
    name: 'audit log',
    summary: 'Show the latest requests, or the latest errors',
    examples: ['--organisation $ORG --limit 20', '--organisation $ORG --errors --from 2026-11-01'],
    about: {
      key: 'Only requests with this access key',
      route: 'Only requests to this method and path',
      status: 'Only responses with this class of status',
      code: 'Only responses with this error code',
      limit: 'The most rows to print',
      errors: 'Groups errors by code, with what to do',
    },
    options: {
      key: or(text('KEY_ID'), null),
      route: or(text("'GET /assessments'"), null),
      status: parsed('4xx', '2xx, 3xx, 4xx or 5xx', (input) =>
        /^[2-5]xx$/.test(input) ? Number(input[0]) : undefined,
      ),
      code: or(text('CODE'), null),
      limit: limit(50, 1000),
      errors: flag,
    },
    run: async ({ options }, app, organisationId) => {
      const nowMs = app.clock.nowMs();
      const filter = {
        actor: options.key,
        action: options.route,
        statusClass: options.status ?? null,
        code: options.code,
        from: options.from ?? new Date(nowMs - 90 * dayMs),
        to: options.to ?? new Date(nowMs + dayMs),
      };
      if (options.errors) {
        const data = await groupErrors(app.db, organisationId, filter);
        const rows = tableOf(data, ['calls', 'status', 'code', ['route', 'action'], ['last', 'last_at'], 'fix']);
        return { json: { data }, text: data.length === 0 ? 'No call was refused.' : rows };
      }
      const { calls } = await findCalls(app.db, organisationId, filter, null, options.limit);
      const rows = tableOf(calls, [
        ['id', 'audit_id'],
        'at',
        ['key', 'actor'],
        ['route', 'action'],
        'status',
        ['answer', ({ detail }) => detail?.code ?? (detail?.rows === undefined ? '' : `${detail.rows} rows`)],
        ['query', ({ detail }) => detail?.query],
      ]);
      return { json: { data: calls }, text: calls.length === 0 ? 'There are no such calls.' : rows };
    },
  }),
  logCommand({
    name: 'audit anchors',
    summary: 'Write the hashes of sealed blocks',
    notes: 'Keep the hashes outside the database.',
    examples: ['--organisation $ORG > anchors.ndjson', '--organisation $ORG --from 2026-09-01 --to 2026-10-01'],
    run: async (call, app, organisationId) => {
      const { organisation: organisation_id, from, to } = call.options;
      let count = 0;
      for await (const block of readBlocks(app, organisationId)) {
        if (!reachesInto(block, from, to)) continue;
        const { number, first_at, last_at, rows } = block;
        const hash = block.hash.toString('hex');
        await writeLine(call, { organisation_id, block: number, hash, first_at, last_at, rows });
        count++;
      }
      return { json: { anchors: count }, text: '' };
    },
  }),
  logCommand({
    name: 'audit verify',
    summary: 'Compare the audit log with its sealed hashes',
    notes: 'With FILE, the command compares an export.',
    examples: ['--organisation $ORG', '--organisation $ORG export.ndjson --anchors anchors.ndjson'],
    fails: 'The log differs from its hashes, or the command has failed.',
    about: { anchors: 'A file of hashes that were kept elsewhere' },
    takes: '[FILE|-]',
    options: { anchors: text('FILE') },
    run: async ({ positionals: [file], options }, app, organisationId) => {
      const { organisation: id, from, to, anchors } = options;
      if (file !== undefined) {
        if (from !== null || to !== null || anchors !== undefined)
          throw new Misuse('a FILE is always compared in full: leave out --from, --to and --anchors');
        return verifyFile(app, organisationId, file);
      }
      const verdict = await verifyAudit(app, organisationId, { from, to, anchors: await readAnchors(anchors, id) });
      const { unsealed, ...rest } = verdict;
      const valid = verdict.faults.length === 0;
      return {
        json: { valid, ...rest, unsealed: { rows: unsealed.rows, tail: unsealed.tail.map(exportedRow) } },
        exitCode: valid ? 0 : 1,
        text: shown(verdict),
      };
    },
  }),
];
