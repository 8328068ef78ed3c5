import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Feed } from '../../feed/position.ts';
import type { LearnerName } from '../learners/learners.ts';
import { findAliases, findLearnersByRefs, findLearnersOrSurvivors, findSurvivors } from '../learners/learners.ts';
import { limits } from '../../platform/config/limits.ts';
import { uuidOf } from '../../platform/crypto/random.ts';
import type { ReadyRecord } from './record.ts';

export type CachedLearner = LearnerName & {
  /** Previous references. */
  readonly former: readonly string[];
  /** Another learner was merged into this one. */
  readonly isSurvivor: boolean;
};

/**
 * Existing learners by the reference in a record. If a result's learner has no reference, the key is the ID of the
 * result. All keys of a learner map to one object.
 */
export type CachedLearners = { byRef: Map<string, CachedLearner>; byResult: Map<string, CachedLearner> };

export const learnerOf = (
  cached: CachedLearners,
  { learnerRef, assessmentId }: ReadyRecord,
): CachedLearner | undefined =>
  learnerRef === null ? cached.byResult.get(assessmentId) : cached.byRef.get(learnerRef);

/**
 * The ID of a learner without a reference. Each result without a reference has a separate learner, and its ID depends
 * only on the result's ID, so every import finds it.
 */
export function ownLearnerId(organisationId: number, assessmentId: string): string {
  return uuidOf(`${organisationId}:learner-of`, assessmentId);
}

/**
 * Learners of earlier batches, by reference. The cache is valid only if the feed is still at position `at`, because
 * every change of a learner raises the feed's position (docs/decisions/0024).
 */
export type LearnerCache = { at: number | null; byRef: Map<string, CachedLearner> };

export const emptyLearnerCache = (): LearnerCache => ({ at: null, byRef: new Map() });

/** Caches the learners of a batch after the commit. If `cached` is null, the cache is cleared. */
export function updateLearnerCache(work: UnitOfWork, feed: Feed, memory: LearnerCache, cached: CachedLearners | null) {
  work.afterCommit(async () => {
    const more = cached?.byRef ?? new Map<string, CachedLearner>();
    if (memory.at !== feed.found || cached === null || memory.byRef.size + more.size > limits.importRemembered)
      memory.byRef.clear();
    for (const [ref, learner] of more) memory.byRef.set(ref, learner);
    memory.at = feed.last();
  });
}

/**
 * Finds learners of records by current and previous references. A learner that was merged is replaced by its survivor.
 */
export async function findExistingLearners(
  work: UnitOfWork,
  organisationId: number,
  records: ReadyRecord[],
  remembered: ReadonlyMap<string, CachedLearner> = new Map(),
): Promise<CachedLearners> {
  const copies = new Map<string, CachedLearner>();
  // The cache must not change before the commit, so each batch changes names only in its own copies.
  const copyOf = (learner: CachedLearner): CachedLearner => {
    let copy = copies.get(learner.learner_id);
    if (copy === undefined) copies.set(learner.learner_id, (copy = { ...learner }));
    return copy;
  };
  const cached: CachedLearners = { byRef: new Map(), byResult: new Map() };
  const refs = new Set<string>();
  const own = new Map<string, string>();
  for (const { learnerRef, assessmentId } of records) {
    const learner = learnerRef === null ? undefined : remembered.get(learnerRef);
    if (learner !== undefined) cached.byRef.set(learnerRef!, copyOf(learner));
    else if (learnerRef === null) own.set(ownLearnerId(organisationId, assessmentId), assessmentId);
    else refs.add(learnerRef);
  }
  const [byRefs, byIds] = await Promise.all([
    refs.size === 0 ? [] : findLearnersByRefs(work.tx, organisationId, [...refs]),
    own.size === 0 ? [] : findLearnersOrSurvivors(work.tx, organisationId, [...own.keys()]),
  ]);
  const ids = [...new Set(byRefs.map((row) => row.learner_id))];
  const [aliases, survivors] =
    ids.length === 0
      ? [[], []]
      : await Promise.all([findAliases(work.tx, organisationId, ids), findSurvivors(work.tx, organisationId, ids)]);
  const formerOf = Map.groupBy(aliases, (alias) => alias.learner_id);
  const isSurvivor = new Set(survivors.map((row) => row.merged_into));
  const whole = ({ learner_id, ref, full_name }: LearnerName): CachedLearner => ({
    learner_id,
    ref,
    full_name,
    former: formerOf.get(learner_id)?.map((alias) => alias.ref) ?? [],
    isSurvivor: isSurvivor.has(learner_id),
  });
  for (const row of byRefs) cached.byRef.set(row.asked, copyOf(whole(row)));
  for (const row of byIds) cached.byResult.set(own.get(row.asked)!, copyOf(whole(row)));
  return cached;
}
