import { uuidArray } from '../../../platform/db/arrays.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { statement } from '../../../platform/db/database.ts';

/** What was amended: a field as the API names it, before and after. */
export type FieldChange = { field: string; before: unknown; after: unknown };

/**
 * One amendment or withdrawal of a result; a withdrawal deletes what stood before, so it and those before it show no
 * fields.
 */
export type HistoryEntry = {
  at: string;
  kind: 'amended' | 'withdrawn';
  actor: string;
  reason: string;
  changes: FieldChange[];
};

/** The last change of a result, to be joined laterally. @param id an expression */
export const lastChangeOf = (id: string): string => `(
    select kind, at, actor, reason from assessment_change
     where organisation_id = $1 and assessment_id = ${id} order by at desc limit 1)`;

const changesOf = statement(
  'assessment.changes',
  `
  select at, kind, actor, reason, before from assessment_change
   where organisation_id = $1 and assessment_id = $2 order by at`,
);
const bodyOf = statement(
  'assessment.body',
  'select body from assessment where organisation_id = $1 and assessment_id = $2',
);

/**
 * Why an import changed a result: by this, what was imported last is found again. Where it said what somebody had set
 * already, the change changes nothing, and is no part of what is shown.
 */
export const importedAgain = 'imported again with changes';

const changesOfMany = statement(
  'assessment.changes_of_many',
  `
  select assessment_id, reason, before from assessment_change
   where organisation_id = $1 and assessment_id = any($2) order by assessment_id, at`,
);

/**
 * The bodies of imported results as an import left them last, whatever was amended since; null where that is no longer
 * kept. The feed's lock is held.
 */
export async function lastImported(
  tx: Tx,
  organisationId: number,
  results: readonly { assessment_id: string; body: string }[],
): Promise<Map<string, string | null>> {
  if (results.length === 0) return new Map();
  const rows = await tx.query<{ assessment_id: string; reason: string; before: string | null }>(changesOfMany, [
    organisationId,
    uuidArray(results.map((result) => result.assessment_id)),
  ]);
  const changesOfEach = Map.groupBy(rows, (row) => row.assessment_id);
  return new Map(
    results.map(({ assessment_id: id, body }) => {
      const changes = changesOfEach.get(id) ?? [];
      const since = changes.slice(changes.findLastIndex((change) => change.reason === importedAgain) + 1);
      return [id, since.length === 0 ? body : since[0]!.before];
    }),
  );
}

/** The fields that differ between two stored bodies. */
export function differences(before: string, after: string): FieldChange[] {
  const old = JSON.parse(`{${before}}`) as Record<string, unknown>;
  const now = JSON.parse(`{${after}}`) as Record<string, unknown>;
  return Object.keys(now)
    .filter((field) => JSON.stringify(old[field]) !== JSON.stringify(now[field]))
    .map((field) => ({ field, before: old[field] ?? null, after: now[field] ?? null }));
}

/** Who changed a result, when, why, and what; the oldest first. Undefined when the organisation has no such result. */
export async function historyOf(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
): Promise<HistoryEntry[] | undefined> {
  // Changes first: one that comes in between makes the last entry show more than it did, never a change without its
  // entry.
  const rows = await tx.query<{
    at: Date;
    kind: 'amended' | 'withdrawn';
    actor: string;
    reason: string;
    before: string | null;
  }>(changesOf, [organisationId, assessmentId]);
  const [found] = await tx.query<{ body: string | null }>(bodyOf, [organisationId, assessmentId]);
  if (found === undefined) return undefined;
  return rows.flatMap((row, i) => {
    const after = rows[i + 1]?.before ?? found.body;
    if (row.reason === importedAgain && row.before !== null && row.before === after) return [];
    return {
      at: row.at.toISOString(),
      kind: row.kind,
      actor: row.actor,
      reason: row.reason,
      changes: row.before === null || after === null ? [] : differences(row.before, after),
    };
  });
}
