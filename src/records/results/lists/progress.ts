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
  first: Compared;
  latest: Compared;
};

/** `ability`: the IRT engine's estimate with its standard error; null unless the sitting here decided the level. */
type Compared = { assessment_id: string; source: Source; content: ResultContent; ability: Ability | null };
type Source = 'imported' | 'sitting';
type Ability = { theta: number; se: number };

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
const ability = (name: string, id: string, of: string) => `
    left join lateral (
      select json_build_object('theta', r.irt -> 'theta', 'se', r.irt -> 'reportedSe') as ability
        from (select s.result::json -> 'irt' as irt from sitting s
               where ${of}.source = 'sitting' and s.organisation_id = $1 and s.assessment_id = ${id} and s.result is not null) r) ${name} on true`;
const firstAndLatest = statement('progress.first_and_latest')`
  select l.learner_id, l.full_name, l.ref, x.results, x.first_id, x.latest_id, a.assessed_at as first_at, a.body as first_body, a.source as first_source,
         b.assessed_at as latest_at, b.body as latest_body, b.source as latest_source, s.ability as first_ability, t.ability as latest_ability
    from unnest($2::uuid[]) as m(learner_id)
    join learner l on l.organisation_id = $1 and l.learner_id = m.learner_id
    cross join lateral (
      select f.facet >> 3 as subject, count(*)::int4 as results,
             (array_agg(f.assessment_id order by f.assessed_at, f.assessment_id))[1] as first_id,
             (array_agg(f.assessment_id order by f.assessed_at desc, f.assessment_id desc))[1] as latest_id
        from assessment_feed f
       where f.organisation_id = $1 and f.learner_id = m.learner_id and not f.deleted and ($3::int4 is null or f.facet >> 3 = $3)
       group by 1 having count(*) >= $5) x
    join assessment a on a.organisation_id = $1 and a.assessment_id = x.first_id
    join assessment b on b.organisation_id = $1 and b.assessment_id = x.latest_id
    ${ability('s', 'x.first_id', 'a')}${ability('t', 'x.latest_id', 'b')}
   where ${isVisibleLearner('m.learner_id', '$4')}
   order by l.learner_id, x.subject`;

type Row = Omit<Progress, 'first' | 'latest'> & Pair;
type Pair = Record<'first_id' | 'latest_id' | 'first_body' | 'latest_body', string> &
  Record<'first_at' | 'latest_at', number> &
  Record<'first_source' | 'latest_source', Source> &
  Record<'first_ability' | 'latest_ability', Ability | null>;

/** @param min how many results a learner needs in a subject */
export async function progressOfLearners(
  tx: Tx,
  organisationId: number,
  learnerIds: readonly string[],
  { subject, visibility }: Pick<ProgressFilter, 'subject' | 'visibility'>,
  min = 1,
): Promise<Progress[]> {
  const rows = await tx.query<Row>(firstAndLatest, [organisationId, learnerIds, subject, visibility, min]);
  const compared = (row: Pair, which: 'first' | 'latest'): Compared => {
    const content = contentOf(row[`${which}_body`], row[`${which}_at`]);
    // A person who sets a level removes the probabilities. The estimate then no longer explains the level.
    const ability = content.level_probabilities === null ? null : row[`${which}_ability`];
    return { assessment_id: row[`${which}_id`], source: row[`${which}_source`], content, ability };
  };
  return rows.map(({ learner_id, full_name, ref, results, ...row }) => ({
    ...{ learner_id, full_name, ref, results },
    first: compared(row, 'first'),
    latest: compared(row, 'latest'),
  }));
}

/** The IDs of the groups' current members whom the person may see, ordered by ID. */
export async function membersOf(
  tx: Tx,
  organisationId: number,
  { groupIds: [first, ...others], visibility }: Pick<ProgressFilter, 'groupIds' | 'visibility'>,
  after: string | null,
  limit: number,
): Promise<string[]> {
  const values = [organisationId, first, others, visibility, after ?? nilUuid, limit];
  return (await tx.query<{ learner_id: string }>(members, values)).map((row) => row.learner_id);
}

/** Reads a page of the groups' learners, ordered by ID. `next` is the next page's `after`; null on the last page. */
export async function progressOf(
  tx: Tx,
  organisationId: number,
  filter: ProgressFilter,
  after: string | null,
  limit: number,
): Promise<{ rows: Progress[]; next: string | null }> {
  const found = await membersOf(tx, organisationId, filter, after, limit + 1);
  const ids = found.slice(0, limit);
  const rows = await progressOfLearners(tx, organisationId, ids, filter);
  return { rows, next: found.length > limit ? ids.at(-1)! : null };
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

/** `unclear`: the change may be error of measurement. `unmeasured`: the error of a result was not recorded. */
export type Outcome = 'gain' | 'unclear' | 'loss' | 'unmeasured';

export const outcomeNames: Record<Outcome, string> = {
  gain: 'Clear gain',
  unclear: 'No clear change',
  loss: 'Clear loss',
  unmeasured: 'Not measured',
};

/** `gained`: the levels gained; null if a result is not placed. `ability`: the change of the estimate, and its margin. */
export type Change = { gained: number | null; outcome: Outcome; ability: { change: number; margin: number } | null };

/** The limits of an interval of 95 % in standard errors. */
export const z95 = 1.959964;

/**
 * The change between a learner's first and latest results; null with one result. With two estimates, a change is clear
 * if the 95 % interval of their difference excludes 0. With probabilities only, the likely levels must not overlap.
 */
export function changeOf({ results, first, latest }: Progress): Change | null {
  if (results < 2) return null;
  const gained = levelsGained(first.content, latest.content);
  if (first.ability !== null && latest.ability !== null) {
    const change = latest.ability.theta - first.ability.theta;
    const margin = z95 * Math.hypot(first.ability.se, latest.ability.se);
    const outcome = Math.abs(change) <= margin ? 'unclear' : change > 0 ? 'gain' : 'loss';
    return { gained, outcome, ability: { change, margin } };
  }
  const [from, to] = [first, latest].map(({ content }) => levelInterval(content.level_probabilities));
  if (gained === null || from == null || to == null) return { gained, outcome: 'unmeasured', ability: null };
  return { gained, outcome: overlap(from, to) ? 'unclear' : gained > 0 ? 'gain' : 'loss', ability: null };
}
