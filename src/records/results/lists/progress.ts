import { nilUuid } from '../../../platform/crypto/random.ts';
import { type Tx, statement } from '../../../platform/db/database.ts';
import { type Visibility, isVisibleLearner } from '../../../organisations/groups/visibility.ts';
import { type ResultContent, contentOf } from '../body.ts';
import { levelInterval, levelsGained, overlap } from './interval.ts';

export type Progress = {
  learner_id: string;
  full_name: string;
  ref: string | null;
  results: number;
  first: { assessment_id: string; content: ResultContent };
  latest: { assessment_id: string; content: ResultContent };
};

export type ProgressFilter = {
  /** At least one group. The learner must be a member of all groups now. */
  groupIds: readonly string[];
  visibility: Visibility;
  /** 0 digital, 1 English, 2 maths; null: all. */
  subject: number | null;
};

const members = statement('progress.members')`
  select m.learner_id from membership m
   where m.organisation_id = $1 and m.group_id = $2 and m.left_position is null and m.learner_id > $5
     and not exists (
       select from unnest($3::uuid[]) as g(group_id) where not exists (
         select from membership o where o.organisation_id = $1 and o.group_id = g.group_id and o.learner_id = m.learner_id and o.left_position is null))
     and ${isVisibleLearner('m.learner_id', '$4')}
   order by m.learner_id limit $6`;
const firstAndLatest = statement('progress.first_and_latest')`
  select l.learner_id, l.full_name, l.ref, x.results, x.first_id, x.latest_id, a.assessed_at as first_at, a.body as first_body,
         b.assessed_at as latest_at, b.body as latest_body
    from unnest($2::uuid[]) as m(learner_id)
    join learner l on l.organisation_id = $1 and l.learner_id = m.learner_id
    cross join lateral (
      select f.facet >> 3 as subject, count(*)::int4 as results,
             (array_agg(f.assessment_id order by f.assessed_at, f.assessment_id))[1] as first_id,
             (array_agg(f.assessment_id order by f.assessed_at desc, f.assessment_id desc))[1] as latest_id
        from assessment_feed f
       where f.organisation_id = $1 and f.learner_id = m.learner_id and not f.deleted and ($3::int4 is null or f.facet >> 3 = $3)
       group by 1) x
    join assessment a on a.organisation_id = $1 and a.assessment_id = x.first_id
    join assessment b on b.organisation_id = $1 and b.assessment_id = x.latest_id
   where ${isVisibleLearner('m.learner_id', '$4')}
   order by l.learner_id, x.subject`;

type Row = Omit<Progress, 'first' | 'latest'> &
  Record<'first_id' | 'latest_id' | 'first_body' | 'latest_body', string> &
  Record<'first_at' | 'latest_at', number>;

/** Reads a page of the groups' learners, ordered by ID. `next` is the next page's `after`; null on the last page. */
export async function progressOf(
  tx: Tx,
  organisationId: number,
  { groupIds, visibility, subject }: ProgressFilter,
  after: string | null,
  limit: number,
): Promise<{ rows: Progress[]; next: string | null }> {
  const [first, ...others] = groupIds;
  const found = await tx.query<{ learner_id: string }>(members, [
    organisationId,
    first,
    others,
    visibility,
    after ?? nilUuid,
    limit + 1,
  ]);
  const ids = found.slice(0, limit).map((row) => row.learner_id);
  const rows = await tx.query<Row>(firstAndLatest, [organisationId, ids, subject, visibility]);
  return {
    rows: rows.map(({ first_id, latest_id, first_at, latest_at, first_body, latest_body, ...row }) => ({
      ...row,
      first: { assessment_id: first_id, content: contentOf(first_body, first_at) },
      latest: { assessment_id: latest_id, content: contentOf(latest_body, latest_at) },
    })),
    next: found.length > limit ? ids.at(-1)! : null,
  };
}

/** Yields all pages. `tx` must be one snapshot. */
export async function* everyProgress(tx: Tx, organisationId: number, filter: ProgressFilter, limit: number) {
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof progressOf>> = await progressOf(tx, organisationId, filter, after, limit);
    yield page.rows;
    after = page.next;
  } while (after !== null);
}

/**
 * The change between a learner's first and latest results. `gained` is null if a result is not placed; `withinError` is
 * null without probabilities.
 */
export function changeOf({ results, first, latest }: Progress): { gained: number | null; withinError: boolean | null } {
  if (results < 2) return { gained: null, withinError: null };
  const [from, to] = [first, latest].map(({ content }) => levelInterval(content.level_probabilities));
  return {
    gained: levelsGained(first.content, latest.content),
    withinError: from == null || to == null ? null : overlap(from, to),
  };
}
