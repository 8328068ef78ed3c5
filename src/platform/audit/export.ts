import type { App } from '../app.ts';
import { arrayLiteral } from '../db/arrays.ts';
import { statement, type Tx } from '../db/database.ts';
import { blockHash, rowLine, sealedColumns, type SealedRow } from './line.ts';
import { type Block, readBlockRows, readBlocks, readUnsealed } from './verify.ts';
import { whole } from './read.ts';

/**
 * An export contains the audit log as JSON lines, one for each row. With a proof, a line for each block precedes the
 * block's rows.
 */

export type ExportedRow = {
  id: number;
  at: string;
  request_id: string;
  actor: string;
  action: string;
  resource: string | null;
  status: number | null;
  address?: string;
  detail: unknown;
};

/** The line of a block. The block's rows follow in the order of sealing. */
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

/**
 * Exports the log with its proof: each block that overlaps the period, with all rows of the block, then unsealed rows.
 */
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

/**
 * The values of an exported row that the block's hash covers. Parsing and writing the service's JSON does not change
 * its text.
 */
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
    detail: row.detail === null ? null : JSON.stringify(row.detail),
  };
}

const byId = statement(
  'audit.by_id',
)`select ${sealedColumns} from audit where organisation_id = $1 and audit_id = any($2)`;
const storedBlock = statement('audit.stored_block')`
  select hash, first_at, last_at from audit_block where organisation_id = $1 and number = $2`;
const blocksOf = statement('audit.blocks_of')`
  select coalesce(max(blocks), 0) as blocks from audit_chain where organisation_id = $1`;
const cutOut = statement('audit.cut_out')`
  select number from audit_block
   where organisation_id = $1 and number > $2 and number < $3 and number not in (select unnest($4::int8[])) and ids is not null
     and last_at >= $5 and first_at <= $6 order by number limit 6`;

type Stored = { hash: Buffer; first_at: Date; last_at: Date };

type Covered = { first: number; last: number; from: string | null; to: string | null };

export type ExportVerdict = {
  faults: string[];
  rows: number;
  blocks: number;
  /** Null if the file has no blocks. */
  covered: Covered | null;
  /** How many rows of the file belong to no block of the file and no longer exist in the log. */
  unknown: number;
};

const atOnce = 1000;

class FileBlocks {
  #numbers: number[] = [];
  #from: string | null = null;
  #to: string | null = null;
  // These times come from the log, because times in the file may be forged.
  #firstEndMs = Infinity;
  #lastBeginMs = -Infinity;

  add(number: number, rows: readonly ExportedRow[], stored: { first_at: Date; last_at: Date } | undefined): void {
    this.#numbers.push(number);
    for (const { at } of rows) {
      if (this.#from === null || at < this.#from) this.#from = at;
      if (this.#to === null || at > this.#to) this.#to = at;
    }
    if (stored === undefined) return;
    this.#firstEndMs = Math.min(this.#firstEndMs, stored.last_at.getTime());
    this.#lastBeginMs = Math.max(this.#lastBeginMs, stored.first_at.getTime());
  }

  covered(): Covered | null {
    if (this.#numbers.length === 0) return null;
    const [first, last] = this.#numbers.reduce(
      ([low, high], one) => [Math.min(low, one), Math.max(high, one)],
      [Infinity, -Infinity],
    );
    return { first, last, from: this.#from, to: this.#to };
  }

  /**
   * Finds up to six blocks that are missing in the middle of the file. An export contains every block that overlaps the
   * time between its first and its last block.
   */
  async cutOut(tx: Tx, organisationId: number): Promise<number[]> {
    const covered = this.covered();
    if (covered === null || this.#firstEndMs === Infinity) return [];
    const times = [new Date(this.#firstEndMs), new Date(this.#lastBeginMs)];
    const values = [organisationId, covered.first, covered.last, arrayLiteral(this.#numbers), ...times];
    return (await tx.query<{ number: number }>(cutOut, values)).map((row) => row.number);
  }
}

/**
 * Compares an export with the log: rows by the hash of their block, and rows without a block one by one. If a block's
 * month was dropped, the next kept hash proves the block.
 * Only a block that is missing in the middle is a fault, because the file does not show its intended beginning or end.
 */
export async function verifyExport(
  app: App,
  organisationId: number,
  lines: AsyncIterable<ExportedBlock | ExportedRow>,
): Promise<ExportVerdict> {
  const { db } = app;
  const verdict: ExportVerdict = { faults: [], rows: 0, blocks: 0, covered: null, unknown: 0 };
  const { faults } = verdict;
  const [chain] = await db.query<{ blocks: number }>(blocksOf, [organisationId]);
  const fileBlocks = new FileBlocks();
  let previous: ExportedBlock | null = null;
  const loose: ExportedRow[] = [];
  let unconfirmed: number[] = [];

  const giveUp = () => {
    if (unconfirmed.length > 0)
      faults.push(
        `Nothing in the log confirms blocks ${unconfirmed[0]} to ${unconfirmed.at(-1)} of the file: export up to the end of the month.`,
      );
    unconfirmed = [];
  };
  const check = async ({ block, rows }: WholeBlock) => {
    const number = block.block;
    const text = rows.map((row) => rowLine(sealedRow(row))).join('');
    const hash = blockHash(Buffer.from(block.previous, 'hex'), number, block.rows, text).toString('hex');
    if (rows.length !== block.rows || hash !== block.hash) faults.push(`Block ${number} of the file was changed.`);
    if (previous?.block !== number - 1) giveUp();
    else if (block.previous !== previous.hash)
      faults.push(`Block ${number} of the file does not follow the one before.`);
    const [stored] = await db.query<Stored>(storedBlock, [organisationId, number]);
    if (stored !== undefined) {
      if (stored.hash.toString('hex') !== block.hash)
        faults.push(`Block ${number} of the file has another hash than in the log.`);
      unconfirmed = [];
    } else if (number > chain!.blocks) faults.push(`The log has no block ${number}.`);
    else unconfirmed.push(number);
    verdict.blocks++;
    fileBlocks.add(number, rows, stored);
    verdict.rows += rows.length;
    previous = block;
  };

  for await (const one of grouped(lines)) {
    if ('block' in one) await check(one);
    else {
      verdict.rows++;
      if (loose.push(one) === atOnce) await compareRows(db, organisationId, loose.splice(0), verdict);
    }
  }
  giveUp();
  await compareRows(db, organisationId, loose, verdict);
  const missing = await fileBlocks.cutOut(db, organisationId);
  if (missing.length > 0) faults.push(missingWords(missing));
  verdict.covered = fileBlocks.covered();
  return verdict;
}

type WholeBlock = { block: ExportedBlock; rows: ExportedRow[] };

/** Blocks with their rows, and the rows that have no block. */
async function* grouped(lines: AsyncIterable<ExportedBlock | ExportedRow>): AsyncGenerator<WholeBlock | ExportedRow> {
  let open: WholeBlock | null = null;
  for await (const line of lines) {
    if (open !== null && ('block' in line || open.rows.length === open.block.rows)) {
      yield open;
      open = null;
    }
    if ('block' in line) open = { block: line, rows: [] };
    else if (open !== null) open.rows.push(line);
    else yield line;
  }
  if (open !== null) yield open;
}

const missingWords = (blocks: number[]) =>
  `The file lacks blocks that the log has between those of the file: ${blocks.slice(0, 5).join(', ')}${blocks.length > 5 ? ', and more' : ''}.`;

/** Compares rows without a block with the log. */
async function compareRows(db: Tx, organisationId: number, rows: ExportedRow[], verdict: ExportVerdict): Promise<void> {
  const found = await db.query<SealedRow>(byId, [organisationId, rows.map((row) => row.id)]);
  const stored = new Map(found.map((row) => [row.audit_id, rowLine(row)]));
  for (const row of rows) {
    const line = stored.get(row.id);
    if (line === undefined) verdict.unknown++;
    else if (rowLine(sealedRow(row)) !== line)
      verdict.faults.push(`Row ${row.id} of the file is not what the log has.`);
  }
}
