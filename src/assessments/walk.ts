/** The filters of GET /assessments as the feed reads them; times are microseconds since 1970. */
export type AssessmentFilter = {
  sinceUs: number | null;
  /** A reference, and its hashes, by which the results of those who were erased under it are found. */
  learner: { ref: string; hashes: Buffer[] } | null;
  facets: number[] | null;
  assessedFromUs: number | null;
  assessedToUs: number | null;
  /** Null: both. */
  status: 'completed' | 'deleted' | null;
  groupIds: readonly string[] | null;
  sort: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
};

/**
 * One entry of a page, in the page's order. A body of null belongs to a tombstone; `exit` to a learner that left the
 * requested groups.
 */
export type FeedRow = {
  position: number;
  assessment_id: string;
  learner_id: string;
  /** The shape that it is shown in (src/db/shape.ts). */
  shape: number;
  assessed_at: number;
  deleted: boolean;
  exit: boolean;
  group_set_id: string;
  learner: string | null;
  body: string | null;
  report_sha256: string | null;
};

/** `groupsVersion`: the organisation's, in the rows' own snapshot; 0 without rows. */
export type FeedPage = { rows: FeedRow[]; groupsVersion: number };

/** `passedUs`: the position up to which this page looked, where more follows although it isn't full. */
export type ListedPage = FeedPage & { passedUs: number | null };

export type Walk = {
  organisationId: number;
  filter: AssessmentFilter;
  /** Exclusive; null at the start. */
  after: { value: number; id: string } | null;
  /** The last position that is wanted of a walk in position order; null: all. */
  to: number | null;
  limit: number;
};

export function direction(filter: AssessmentFilter) {
  const descending = filter.sort.startsWith('-');
  return { descending, by: filter.sort.endsWith('assessed_at') ? ('assessed_at' as const) : ('position' as const) };
}
