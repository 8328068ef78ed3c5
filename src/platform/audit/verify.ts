import type { App } from '../app.ts';
import { statement, type Tx } from '../db/database.ts';
import { blockHash, rowLine, sealedColumns, type SealedRow } from './line.ts';

/** `ids` is null after the rows were dropped with their month, or folded into a day's count. */
export type Block = {
  number: number;
  sealed_at: Date;
  first_at: Date;
  last_at: Date;
  rows: number;
  ids: number[] | null;
  hash: Buffer;
};

type Chain = { blocks: number; hash: Buffer; dropped_before: Date | null; folded_block: number };

/** A block's hash that was kept outside the database. */
export type Anchor = { block: number; hash: string };

export type Verdict = {
  faults: string[];
  blocks: number;
  rows: number;
  dropped: number;
  /** IDs of rows from which a National Insurance number was removed after sealing. The log records each removal. */
  redacted: number[];
  /**
   * The last block's hash. If the operator keeps this hash elsewhere, every later change to the sealed rows is noticed.
   */
  head: Anchor | null;
  unsealed: { rows: number; tail: SealedRow[] };
};

const chainOf = statement('audit.chain')`
  select blocks, hash, dropped_before, folded_block from audit_chain where organisation_id = $1`;
const gone = statement('audit.block_gone')`
  select from audit_chain c
   where c.organisation_id = $1 and (c.dropped_before > $3 or $1 = 0 and c.folded_block >= $2)
     and not exists (select from audit_block b where b.organisation_id = $1 and b.number = $2 and b.ids is not null)`;
const blockPage = statement('audit.blocks')`
  select number, sealed_at, first_at, last_at, rows, ids, hash from audit_block
   where organisation_id = $1 and number > $2 order by number limit 50`;
const rowsOf = statement('audit.rows_of_block')`
  select ${sealedColumns} from audit where organisation_id = $1 and audit_id = any($2) and at >= $3 and at <= $4 order by audit_id`;
const sealed = 'select unnest(ids) as id from audit_block where organisation_id = $1';
const loose = statement('audit.loose')`
  select ${sealedColumns}, audit_id <= (select sealed_id from audit_chain where organisation_id = $1) as below from audit a
   where organisation_id = $1 and not exists (select from (${sealed}) s where s.id = a.audit_id)
   order by audit_id`;
const redactions = statement('audit.redactions')`
  select substring(resource from '"audit_id":"(\\d+)"')::int8 as id from audit
   where organisation_id = $1 and action = 'check personal-data redact' and resource like 'audit %'`;
// The log of organisation 0 has no entries for restores, so `lineage` supplies the last restore.
const restores = statement('audit.restores')`
  select at from audit where organisation_id = $1 and action in ('restore found', 'restore declare')
  union all select since from lineage where $1 = 0 and restores > 0 order by 1`;
export async function* readBlocks(app: App, organisationId: number): AsyncGenerator<Block> {
  let last = 0;
  for (;;) {
    const page = await app.db.query<Block>(blockPage, [organisationId, last]);
    yield* page;
    if (page.length === 0) return;
    last = page.at(-1)!.number;
  }
}

/** The end of an organisation's chain; null if nothing is sealed. */
export async function findAnchor(tx: Tx, organisationId: number): Promise<Anchor | null> {
  const [chain] = await tx.query<Chain>(chainOf, [organisationId]);
  return chain === undefined || chain.blocks === 0 ? null : { block: chain.blocks, hash: chain.hash.toString('hex') };
}

export async function readBlockRows(app: App, organisationId: number, block: Block): Promise<SealedRow[]> {
  const values = [organisationId, block.ids ?? [], block.first_at, block.last_at];
  const rows = await app.db.query<SealedRow>(rowsOf, values);
  const byId = new Map(rows.map((row) => [row.audit_id, row]));
  return (block.ids ?? []).flatMap((id) => byId.get(id) ?? []);
}

export function readUnsealed(app: App, organisationId: number): Promise<(SealedRow & { below: boolean | null })[]> {
  return app.db.query(loose, [organisationId]);
}

const tailRows = 100;

type Check = { app: App; organisationId: number; redacted: ReadonlySet<number>; verdict: Verdict };

const named = (ids: number[]) => `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? `, and ${ids.length - 5} more` : ''}`;

/**
 * Computes the hash of every block again and compares the hash with the stored chain.
 * @param period limits the blocks that are computed; the links of the chain are checked from its beginning
 * @param anchors hashes that were kept outside the database
 */
export async function verifyAudit(
  app: App,
  organisationId: number,
  { from = null, to = null, anchors = [] }: { from?: Date | null; to?: Date | null; anchors?: Anchor[] } = {},
): Promise<Verdict> {
  const faults: string[] = [];
  const unsealed = { rows: 0, tail: [] };
  const verdict: Verdict = { faults, blocks: 0, rows: 0, dropped: 0, redacted: [], head: null, unsealed };
  const [chain] = await app.db.query<Chain>(chainOf, [organisationId]);
  const wanted = new Map(anchors.map((anchor) => [anchor.block, anchor.hash]));
  const redacted = new Set((await app.db.query<{ id: number }>(redactions, [organisationId])).map(({ id }) => id));
  const check = { app, organisationId, redacted, verdict };
  let differs = false;
  let previous: { number: number; hash: Buffer } = { number: 0, hash: Buffer.alloc(0) };
  for await (const block of readBlocks(app, organisationId)) {
    if (chain === undefined || block.number > chain.blocks) break;
    const isEmptied = block.ids === null;
    if (block.number !== previous.number + 1 && !isEmptied)
      faults.push(`Blocks ${previous.number + 1} to ${block.number - 1} are missing.`);
    const isDropped = chain.dropped_before !== null && block.last_at < chain.dropped_before;
    const isKnown = isDropped || (organisationId === 0 && block.number <= chain.folded_block);
    if (isEmptied && !isKnown && !(await isGone(check, block)))
      faults.push(`Block ${block.number} has no rows, and its month was not dropped.`);
    const anchor = wanted.get(block.number);
    if (anchor !== undefined && anchor !== block.hash.toString('hex')) {
      differs = true;
      faults.push(`Block ${block.number} has another hash than the anchor that was kept of it.`);
    }
    wanted.delete(block.number);
    if (isEmptied) verdict.dropped++;
    else if ((from === null || block.last_at >= from) && (to === null || block.first_at < to))
      await checkBlock(check, block, previous.hash);
    previous = block;
  }
  if (chain !== undefined && chain.blocks > 0) {
    if (previous.number !== chain.blocks || !previous.hash.equals(chain.hash))
      faults.push(`The chain ends with block ${chain.blocks}, and what is stored of it ends otherwise.`);
    else verdict.head = { block: chain.blocks, hash: chain.hash.toString('hex') };
  }
  for (const block of [...wanted.keys()].sort((a, b) => a - b))
    if (chain === undefined || block > chain.blocks) {
      differs = true;
      faults.push(`There is no block ${block}, of which an anchor was kept: the end of the chain is missing.`);
    }
  if (differs) await nameRestores(check);
  await checkLoose(check);
  return verdict;
}

/** After a restore, new blocks get the numbers of lost blocks, so anchors may differ without tampering. */
async function nameRestores({ app, organisationId, verdict: { faults } }: Check): Promise<void> {
  const found = await app.db.query<{ at: Date }>(restores, [organisationId]);
  if (found.length > 0)
    faults.push(
      `A backup was restored at ${found.map(({ at }) => at.toISOString()).join(', ')}. Anchors from between the backup and the restore differ for this reason.`,
    );
}

/** Whether the block's rows were dropped or folded after the block was read. Both remove all rows of a block. */
async function isGone({ app, organisationId }: Check, { number, last_at }: Block): Promise<boolean> {
  return (await app.db.query(gone, [organisationId, number, last_at])).length > 0;
}

async function checkBlock(check: Check, block: Block, before: Buffer): Promise<void> {
  const { app, organisationId, redacted, verdict } = check;
  const { faults } = verdict;
  const rows = await readBlockRows(app, organisationId, block);
  const missing = block.ids!.filter((id) => !rows.some((row) => row.audit_id === id));
  verdict.blocks++;
  verdict.rows += rows.length;
  if (missing.length > 0 && rows.length === 0 && (await isGone(check, block))) {
    verdict.dropped++;
    return;
  }
  const lines = rows.map(rowLine).join('');
  if (missing.length > 0) faults.push(`Block ${block.number} lacks rows that were sealed: ${named(missing)}.`);
  else if (!blockHash(before, block.number, block.rows, lines).equals(block.hash)) {
    const changed = block.ids!.filter((id) => redacted.has(id));
    if (changed.length > 0) verdict.redacted.push(...changed);
    else
      faults.push(
        `Block ${block.number}, of ${block.first_at.toISOString()}, is not what was sealed: a row was changed${rows.length > 0 ? ` (${rows[0]!.audit_id} to ${rows.at(-1)!.audit_id})` : ''}, or the block before.`,
      );
  }
}

async function checkLoose({ app, organisationId, verdict }: Check): Promise<void> {
  const rows = await readUnsealed(app, organisationId);
  const added = rows.filter((row) => row.below === true).map((row) => row.audit_id);
  if (added.length > 0) verdict.faults.push(`Rows were added below what is sealed: ${named(added)}.`);
  const tail = rows.filter((row) => row.below !== true);
  verdict.unsealed = { rows: tail.length, tail: tail.slice(-tailRows) };
}
