import { uuidArray } from '../../../platform/db/arrays.ts';
import { type Tx, statement } from '../../../platform/db/database.ts';

export type FieldChange = { field: string; before: unknown; after: unknown };

/**
 * One amendment or withdrawal. A withdrawal deletes earlier texts, so the withdrawal and all earlier entries have no
 * fields.
 */
export type HistoryEntry = {
  at: string;
  kind: 'amended' | 'withdrawn';
  actor: string;
  reason: string;
  changes: FieldChange[];
};

/** SQL for a lateral join that finds the last change of a result. */
export const lastChangeOf = (id: string): string => `(
    select kind, at, actor, reason from assessment_change
     where organisation_id = $1 and assessment_id = ${id} order by at desc limit 1)`;

const changesOf = statement('assessment.changes')`
  select at, kind, actor, reason, before from assessment_change
   where organisation_id = $1 and assessment_id = $2 order by at`;
const bodyOf = statement('assessment.body')`
  select body from assessment where organisation_id = $1 and assessment_id = $2`;

/**
 * The reason that an import stores with a change. If the import only confirmed an amendment, the history omits the
 * entry.
 */
export const importedAgain = 'imported again with changes';

const changesOfMany = statement('assessment.changes_of_many')`
  select assessment_id, reason, before from assessment_change
   where organisation_id = $1 and assessment_id = any($2) order by assessment_id, at`;

/** The bodies of results as last imported, without later amendments. Null: the earlier texts were deleted. */
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

export function differences(before: string, after: string): FieldChange[] {
  const old = JSON.parse(`{${before}}`) as Record<string, unknown>;
  const now = JSON.parse(`{${after}}`) as Record<string, unknown>;
  return Object.keys(now)
    .filter((field) => JSON.stringify(old[field]) !== JSON.stringify(now[field]))
    .map((field) => ({ field, before: old[field] ?? null, after: now[field] ?? null }));
}

/** The changes of a result, the oldest first. Undefined for an unknown result. */
export async function historyOf(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
): Promise<HistoryEntry[] | undefined> {
  // Changes are read first. A change between the two reads is then in the last entry, and no entry is missing.
  type Row = Pick<HistoryEntry, 'kind' | 'actor' | 'reason'> & { at: Date; before: string | null };
  const rows = await tx.query<Row>(changesOf, [organisationId, assessmentId]);
  const [found] = await tx.query<{ body: string | null }>(bodyOf, [organisationId, assessmentId]);
  if (found === undefined) return undefined;
  return rows.flatMap(({ at, before, ...row }, i) => {
    const after = rows[i + 1]?.before ?? found.body;
    if (row.reason === importedAgain && before !== null && before === after) return [];
    const changes = before === null || after === null ? [] : differences(before, after);
    return { ...row, at: at.toISOString(), changes };
  });
}
