import type { Poll } from './facts.ts';

/** What a poll asked for and got, as the log has it. */
export type RecordedWalk = {
  query: string;
  sinceUs: number | null;
  cursor: number | null;
  throughUs: number | null;
  first: number | null;
  last: number | null;
  rows: number;
  more: boolean;
  /** Whether its ends are positions: of a walk by assessed_at they are times of assessments. */
  byPosition: boolean;
};

/** Stands in the log in the place of a learner's id where no learner had the reference. */
export const unknownLearner = 'unknown';

export function splitList(text: string | null): string[] | null {
  return text === null ? null : text.split(',');
}

/** Null where a version of the service answered that recorded nothing. */
export function walkOf({ detail, status }: Poll): RecordedWalk | null {
  if (detail === null || status >= 400 || detail.limit === undefined) return null;
  const { query = '', cursor = null, through = null, first = null, last = null, rows = 0, more = false } = detail;
  const given = new URLSearchParams(query);
  const since = given.get('since');
  return {
    query,
    sinceUs: since === null ? null : Date.parse(since) * 1000,
    cursor,
    throughUs: through,
    first,
    last,
    rows,
    more,
    byPosition: !(given.get('sort') ?? '').endsWith('assessed_at'),
  };
}
