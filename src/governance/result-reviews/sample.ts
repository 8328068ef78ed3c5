import { hash } from 'node:crypto';
import { addToSample, assignReviews } from '../../records/results/reviews.ts';
import { amongMembers, isInEach, isVisibleLearner, type Visibility } from '../../organisations/groups/visibility.ts';
import { auditInside } from '../../platform/audit/audit.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { ResultFilter } from '../../records/results/lists/browse-statements.ts';
import { findActs, objectOf } from '../activity/activity.ts';

/** A random sample of results, which a person checks for internal quality assurance. */

export const maxPopulation = 10_000;
export const maxSample = 500;

const population = statement('review.population')`
  select r.assessment_id from assessment r
   where r.organisation_id = $1 and r.assessed_at >= $2 and r.assessed_at < $3 and r.body is not null
     and ($4::int4[] is null or r.facet = any($4)) and (cardinality($5::uuid[]) = 0 or ${amongMembers('r.learner_id', '$5')})
     and ${isInEach('r.learner_id', '$5')} and ${isVisibleLearner('r.learner_id', '$6')}
   limit ${maxPopulation + 1}`;

export type SampleInput = {
  sampleId: string;
  filter: Pick<ResultFilter, 'facets' | 'groupIds' | 'assessedFromUs' | 'assessedBeforeUs'>;
  size: { n: number; isPercent: boolean };
  /** The person who checks the results, and the learners whom the person may see. */
  to: string;
  visibleToAssignee: Visibility;
  actor: string;
};

/** The first results in the order of the SHA-256 of seed and result ID, so that an auditor can repeat the draw. */
export function draw(ids: readonly string[], seed: string, { n, isPercent }: SampleInput['size']): string[] {
  const keys = new Map(ids.map((id) => [id, hash('sha256', `${seed} ${id}`)]));
  const ordered = ids.toSorted((x, y) => (keys.get(x)! < keys.get(y)! ? -1 : 1));
  return ordered.slice(0, isPercent ? Math.ceil((ids.length * n) / 100) : n);
}

export type Sample = { seed: string; population: number; ids: string[] };

/**
 * Draws a sample, opens or marks a review of each result, and assigns the reviews. The audit log gets a row for each
 * result.
 * @returns no IDs if no result matches, or more than `maxPopulation` match, or the sample has more than `maxSample`
 */
export async function drawSample(work: UnitOfWork, organisationId: number, input: SampleInput): Promise<Sample> {
  const { sampleId, filter, size, to, visibleToAssignee, actor } = input;
  const { assessedFromUs, assessedBeforeUs, facets, groupIds } = filter;
  const values = [organisationId, assessedFromUs, assessedBeforeUs, facets, groupIds, visibleToAssignee];
  const found = await work.tx.query<{ assessment_id: string }>(population, values);
  const seed = work.random.bytes(8).toString('hex');
  const ids =
    found.length > maxPopulation
      ? []
      : draw(
          found.map((one) => one.assessment_id),
          seed,
          size,
        );
  if (ids.length === 0 || ids.length > maxSample) return { seed, population: found.length, ids: [] };
  await addToSample(work, organisationId, ids);
  await assignReviews(work, organisationId, ids, { to, visibility: null, visibleToAssignee });
  const entry = { organisationId, atMs: work.nowMs, actor, action: 'review sample', status: null };
  const rows = ids.map((id) => ({ ...entry, requestId: work.uuid(), resource: `${id}: sample ${sampleId}` }));
  await auditInside(work.tx, ...rows);
  return { seed, population: found.length, ids };
}

/** What the audit row of a sample says, for the resource of the row and for the page. */
export const sampleWords = ({ seed, population: all, ids }: Sample): string =>
  `${ids.length} of ${all} results, seed ${seed}`;

/** @returns the words of the sample's audit row; undefined if there is no such sample */
export async function findSample(tx: Tx, organisationId: number, sampleId: string, now: Date) {
  const filter = { actor: null, kind: 'sample of results', object: sampleId, from: new Date(0), to: now };
  const [act] = await findActs(tx, organisationId, filter, null, 1);
  return act && objectOf(act).result.replace(/;.*/, '');
}
