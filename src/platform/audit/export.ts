import type { App } from '../app.ts';
import { arrayLiteral } from '../db/arrays.ts';
import { statement } from '../db/database.ts';
import type { SealedRow } from './line.ts';
import { blockHash, rowLine } from './line.ts';
import type { Block } from './verify.ts';
import { readBlockRows, readBlocks, readUnsealed } from './verify.ts';
import { whole } from './whole.ts';

/**
 * The log as it leaves the service: one JSON object for each row, and with a proof one before the rows of each block.
 */

export type ExportedRow = {
  id: number;
  at: string;
  request_id: string;
  actor: string;
  action: string;
  resource: string | null;
  status: number | null;
  /** Keyed hash of where a refused call came from. */
  address?: string;
  /** Exports of before calls were recorded with it have none. */
  detail?: unknown;
};

/** What follows it are its rows, in the order in which they were sealed. */
export type ExportedBlock = {
  block: number;
  sealed_at: string;
  first_at: string;
  last_at: string;
  rows: number;
  previous: string;
  hash: string;
};

export function exportedRow(row: SealedRow): ExportedRow {
  return {
    id: row.audit_id,
    at: row.at.toISOString(),
    request_id: row.request_id,
    actor: row.actor,
    action: row.action,
    resource: row.resource,
    status: row.status,
    ...(row.address === null ? {} : { address: row.address }),
    detail: row.detail === null ? null : (JSON.parse(row.detail) as unknown),
  };
}

export function exportedBlock(block: Block, previous: Buffer): ExportedBlock {
  return {
    block: block.number,
    sealed_at: block.sealed_at.toISOString(),
    first_at: block.first_at.toISOString(),
    last_at: block.last_at.toISOString(),
    rows: block.rows,
    previous: previous.toString('hex'),
    hash: block.hash.toString('hex'),
  };
}

type Period = { from: Date | null; to: Date | null };

/** The log with its proof: each block that reaches into the period, its rows, and at the end what isn't sealed yet. */
export const proofLines = (
  app: App,
  organisationId: number,
  period: Period,
): AsyncGenerator<ExportedBlock | ExportedRow> =>
  whole(app, organisationId, period, provedLines(app, organisationId, period));

async function* provedLines(
  app: App,
  organisationId: number,
  { from, to }: Period,
): AsyncGenerator<ExportedBlock | ExportedRow> {
  let previous: Buffer = Buffer.alloc(0);
  for await (const block of readBlocks(app, organisationId)) {
    if (block.ids !== null && reachesInto(block, from, to)) {
      yield exportedBlock(block, previous);
      for (const row of await readBlockRows(app, organisationId, block)) yield exportedRow(row);
    }
    previous = block.hash;
  }
  for (const row of await readUnsealed(app, organisationId))
    if ((from === null || row.at >= from) && (to === null || row.at < to)) yield exportedRow(row);
}

export const reachesInto = (block: Block, from: Date | null, to: Date | null): boolean =>
  (from === null || block.last_at >= from) && (to === null || block.first_at < to);

/** What was hashed of an exported row: JSON that the service has written reads back to the same text. */
function sealedRow(row: ExportedRow): SealedRow {
  return {
    audit_id: row.id,
    at: new Date(row.at),
    request_id: row.request_id,
    actor: row.actor,
    action: row.action,
    resource: row.resource,
    status: row.status,
    address: row.address ?? null,
    detail: row.detail === undefined || row.detail === null ? null : JSON.stringify(row.detail),
  };
}

const columns = `audit_id, at, request_id, actor, action, resource, status, encode(address, 'hex') as address, detail`;
const byId = statement('audit.by_id')`select ${columns} from audit where organisation_id = $1 and audit_id = any($2)`;
const hashes = statement('audit.hashes')`
  select number, hash, first_at, last_at from audit_block where organisation_id = $1 and number = any($2)`;
const blocksOf = statement('audit.blocks_of')`
  select coalesce(max(blocks), 0) as blocks from audit_chain where organisation_id = $1`;

/** First and last block of an export, and the first and last instant of the rows in its blocks. */
export type Covered = { first: number; last: number; from: string | null; to: string | null };

export type ExportVerdict = {
  faults: string[];
  rows: number;
  blocks: number;
  /** Null where the file has no blocks. */
  covered: Covered | null;
  /** Rows without a block in the file that the log no longer has. */
  unknown: number;
};

const atOnce = 1000;

const cutOut = statement('audit.cut_out')`
  select b.number from unnest($2::int8[], $3::int8[]) as gap(after, before)
    join audit_block b on b.number > gap.after and b.number < gap.before
   where b.organisation_id = $1 and b.ids is not null and b.last_at >= $4 and b.first_at <= $5 order by b.number limit 6`;

/** Which blocks an export has, whatever their order. */
class Blocks {
  /** Runs of numbers that follow each other. */
  #runs: { first: number; last: number }[] = [];
  /** In the log, whose times nobody can have changed in the file. */
  #firstEnd = Infinity;
  #lastBegin = -Infinity;
  #covered: Covered | null = null;

  /** @param stored the same block in the log, where that still has it */
  add(number: number, rows: ExportedRow[], stored: { first_at: Date; last_at: Date } | undefined): void {
    const run = this.#runs.at(-1);
    if (run?.last === number - 1) run.last = number;
    else this.#runs.push({ first: number, last: number });
    this.#covered ??= { first: number, last: number, from: null, to: null };
    const covered = this.#covered;
    covered.first = Math.min(covered.first, number);
    covered.last = Math.max(covered.last, number);
    for (const { at } of rows) {
      if (covered.from === null || at < covered.from) covered.from = at;
      if (covered.to === null || at > covered.to) covered.to = at;
    }
    if (stored === undefined) return;
    this.#firstEnd = Math.min(this.#firstEnd, stored.last_at.getTime());
    this.#lastBegin = Math.max(this.#lastBegin, stored.first_at.getTime());
  }

  covered(): Covered | null {
    return this.#covered;
  }

  /**
   * Blocks of the log between those of the file that belong there, a few of them. Each block of a file reaches into the period
   * that it was made for, so that period has everything from where the first of them ended to where the last of them
   * began; a block that doesn't reach into that may be of another time, sealed late.
   */
  async cutOut(app: App, organisationId: number): Promise<number[]> {
    if (this.#firstEnd === Infinity) return [];
    const runs = this.#runs.sort((a, b) => a.first - b.first);
    const gaps: { after: number; before: number }[] = [];
    let after = Infinity;
    for (const { first, last } of runs) {
      if (first > after + 1) gaps.push({ after, before: first });
      after = after === Infinity ? last : Math.max(after, last);
    }
    const times = [new Date(this.#firstEnd), new Date(this.#lastBegin)];
    for (let i = 0; i < gaps.length; i += atOnce) {
      const some = gaps.slice(i, i + atOnce);
      const bounds = [arrayLiteral(some.map((gap) => gap.after)), arrayLiteral(some.map((gap) => gap.before))];
      const found = await app.db.query<{ number: number }>(cutOut, [organisationId, ...bounds, ...times]);
      if (found.length > 0) return found.map((row) => row.number);
    }
    return [];
  }
}

/**
 * Compares an export with the log: rows of a block by its hash, and the hash with the one that the log has; other rows,
 * and those of exports from before there were blocks, one by one. Blocks that went with their months are held by the
 * next hash that stayed, so a file that reaches it proves them. Blocks that were cut out in the middle show; what the file
 * begins and ends with is told, because nothing in it says where it should.
 */
export async function verifyExport(
  app: App,
  organisationId: number,
  lines: AsyncIterable<ExportedBlock | ExportedRow>,
): Promise<ExportVerdict> {
  const verdict: ExportVerdict = { faults: [], rows: 0, blocks: 0, covered: null, unknown: 0 };
  const { faults } = verdict;
  const [chain] = await app.db.query<{ blocks: number }>(blocksOf, [organisationId]);
  const seen = new Blocks();
  let open: { block: ExportedBlock; rows: ExportedRow[] } | null = null;
  let previous: ExportedBlock | null = null;
  let loose: ExportedRow[] = [];
  /** Blocks of the file that no hash of the log has confirmed yet. */
  let unconfirmed: number[] = [];

  const close = async () => {
    if (open === null) return;
    const { block, rows } = open;
    const text = rows.map((row) => rowLine(sealedRow(row))).join('');
    const hash = blockHash(Buffer.from(block.previous, 'hex'), block.block, block.rows, text).toString('hex');
    if (rows.length !== block.rows || hash !== block.hash) faults.push(`Block ${block.block} of the file was changed.`);
    const follows = previous !== null && previous.block + 1 === block.block;
    if (follows && block.previous !== previous!.hash)
      faults.push(`Block ${block.block} of the file does not follow the one before.`);
    if (!follows && unconfirmed.length > 0) giveUp();
    type Stored = { hash: Buffer; first_at: Date; last_at: Date };
    const [stored] = await app.db.query<Stored>(hashes, [organisationId, [block.block]]);
    if (stored !== undefined) {
      if (stored.hash.toString('hex') !== block.hash)
        faults.push(`Block ${block.block} of the file has another hash than in the log.`);
      unconfirmed = [];
    } else if (block.block > chain!.blocks) faults.push(`The log has no block ${block.block}.`);
    else unconfirmed.push(block.block);
    verdict.blocks++;
    seen.add(block.block, rows, stored);
    previous = block;
    open = null;
  };
  const giveUp = () => {
    faults.push(
      `Nothing in the log confirms blocks ${unconfirmed[0]} to ${unconfirmed.at(-1)} of the file: export up to the end of the month.`,
    );
    unconfirmed = [];
  };
  const compare = async () => {
    const stored = new Map(
      (await app.db.query<SealedRow>(byId, [organisationId, loose.map((row) => row.id)])).map((row) => [
        row.audit_id,
        row,
      ]),
    );
    for (const row of loose) {
      const there = stored.get(row.id);
      if (there === undefined) verdict.unknown++;
      else {
        const given = sealedRow(row);
        if (row.detail === undefined) given.detail = there.detail;
        if (row.address === undefined) given.address = there.address;
        if (rowLine(given) !== rowLine(there)) faults.push(`Row ${row.id} of the file is not what the log has.`);
      }
    }
    loose = [];
  };

  for await (const line of lines) {
    if ('block' in line) {
      await close();
      open = { block: line, rows: [] };
      continue;
    }
    verdict.rows++;
    if (open !== null && open.rows.length === open.block.rows) await close();
    if (open !== null) open.rows.push(line);
    else if (loose.push(line) === atOnce) await compare();
  }
  await close();
  if (unconfirmed.length > 0) giveUp();
  await compare();
  const missing = await seen.cutOut(app, organisationId);
  if (missing.length > 0)
    faults.push(
      `The file lacks blocks that the log has between those of the file: ${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ', and more' : ''}.`,
    );
  verdict.covered = seen.covered();
  return verdict;
}
