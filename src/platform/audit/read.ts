import type { App } from '../app.ts';
import { statement, type Tx } from '../db/database.ts';
import { sealedColumns, type SealedRow } from './line.ts';

const droppedBefore = statement('audit.dropped_before')`
  select dropped_before from audit_chain where organisation_id = $1`;

async function keptFrom(tx: Tx, organisationId: number): Promise<number> {
  const [row] = await tx.query<{ dropped_before: Date | null }>(droppedBefore, [organisationId]);
  return row?.dropped_before?.getTime() ?? -Infinity;
}

/** A month of the log was dropped during the reading. The message is a complete sentence. */
export class MonthGone extends Error {}

/**
 * Yields all lines. Then checks that the log is complete, because a month may be dropped between two statements.
 * @throws MonthGone at the end, if a month of the period was dropped
 */
export async function* whole<T>(
  app: App,
  organisationId: number,
  { from, to }: { from: Date | null; to: Date | null },
  lines: AsyncIterable<T>,
): AsyncGenerator<T> {
  const before = await keptFrom(app.db, organisationId);
  yield* lines;
  const now = await keptFrom(app.db, organisationId);
  if (now > before && (from === null || from.getTime() < now) && (to === null || to.getTime() > before))
    throw new MonthGone(
      `The log before ${new Date(now).toISOString()} was deleted during the export, because of ARS_AUDIT_MONTHS. The export is incomplete.`,
    );
}

const page = statement('audit.page')`
  select ${sealedColumns} from audit
   where organisation_id = $1 and audit_id > $2 and ($3::timestamptz is null or at >= $3) and ($4::timestamptz is null or at < $4)
   order by audit_id limit $5`;

export const readAudit = (
  app: App,
  organisationId: number,
  from: Date | null,
  to: Date | null,
): AsyncGenerator<SealedRow> => whole(app, organisationId, { from, to }, pagesOf(app, organisationId, from, to));

async function* pagesOf(
  app: App,
  organisationId: number,
  from: Date | null,
  to: Date | null,
): AsyncGenerator<SealedRow> {
  let last = 0;
  for (;;) {
    const rows = await app.db.query<SealedRow>(page, [organisationId, last, from, to, 1000]);
    yield* rows;
    if (rows.length < 1000) return;
    last = rows.at(-1)!.audit_id;
  }
}
