import type { App } from '../app.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';

const droppedBefore = statement('audit.dropped_before')`
  select dropped_before from audit_chain where organisation_id = $1`;

async function keptFrom(tx: Tx, organisationId: number): Promise<number> {
  const [row] = await tx.query<{ dropped_before: Date | null }>(droppedBefore, [organisationId]);
  return row?.dropped_before?.getTime() ?? -Infinity;
}

/** A month of the log went while it was read. The message is a whole sentence for whoever reads it. */
export class MonthGone extends Error {}

/**
 * What is read of the log, to the end: it takes many statements, and a month may go between two of them.
 * @throws MonthGone at the end, where a month of the period did
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
      `The log before ${new Date(now).toISOString()} went, as ARS_AUDIT_MONTHS says, while it was read: what was written is not whole.`,
    );
}
