import type { Tx } from '../../../platform/db/database.ts';
import { statement } from '../../../platform/db/database.ts';
import { reachedBy } from '../../../organisations/learner-ref.ts';

/** The filters of GET /assessments as the feed reads them; times are microseconds since 1970. */
export type AssessmentFilter = {
  sinceUs: number | null;
  /** A reference, and its hashes, which find the results of learners who were erased under it. */
  learner: { ref: string; hashes: Buffer[] } | null;
  facets: number[] | null;
  assessedFromUs: number | null;
  assessedToUs: number | null;
  /** Null: both. */
  status: 'completed' | 'deleted' | null;
  groupIds: readonly string[] | null;
  sort: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
};

/** One page of a filter that is to be read. */
export type PageRequest = {
  organisationId: number;
  filter: AssessmentFilter;
  /** The place of the last entry of the page before; null at the start. */
  after: { value: number; id: string } | null;
  /** Entries at most; one more than the page tells whether more follow. */
  limit: number;
  /** In position order, the last position that is wanted; null: all. */
  to?: number | null;
};

export function direction({ sort }: AssessmentFilter) {
  return { descending: sort.startsWith('-'), byAssessed: sort.endsWith('assessed_at') };
}

/** Where a page in position order begins. Positions are unique whole numbers, so the next one is one step away. */
export function beginsAt({ filter, after }: PageRequest): number {
  if (direction(filter).descending) return after === null ? Number.MAX_SAFE_INTEGER : after.value - 1;
  return after === null ? (filter.sinceUs ?? 0) : after.value + 1;
}

/** The day of a time, as the feed stores it. */
export const dayOf = (us: number) => Math.trunc(us / 86_400_000_000);

const learnerByRef = statement(
  'assessment.learner_by_ref',
  `
  select learner_id from ${reachedBy('array[$2::text]')} r
  union all select learner_id from learner where organisation_id = $1 and ref_hash = any($3)
  union all select learner_id from learner_alias where organisation_id = $1 and ref_hash = any($3)`,
);

/** The learner whom this reference reaches, and those whom it reached until they were erased. */
export async function findLearnerIds(
  tx: Tx,
  organisationId: number,
  { ref, hashes }: NonNullable<AssessmentFilter['learner']>,
): Promise<string[]> {
  const rows = await tx.query<{ learner_id: string }>(learnerByRef, [organisationId, ref, hashes]);
  return rows.map((row) => row.learner_id);
}
