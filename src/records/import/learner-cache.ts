import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Feed } from '../../feed/position.ts';
import type { LearnerName } from '../learners/learners.ts';
import { findAliases, findLearnersByRefs, findLearnersOrSurvivors, findSurvivors } from '../learners/learners.ts';
import { limits } from '../../platform/config/limits.ts';
import { uuidOf } from '../../platform/crypto/random.ts';
import type { ReadyRecord } from './record.ts';

/** A learner that exists, or is made by the batch. */
export type KnownLearner = LearnerName & {
  /** References of before. */
  readonly former: readonly string[];
  /** Somebody turned out to be this learner. */
  readonly survivor: boolean;
};

/**
 * Learners that exist, by what records name them by: a reference, or the id of a result whose learner has none. One that
 * several name stands there as one value.
 */
export type KnownLearners = { byRef: Map<string, KnownLearner>; byResult: Map<string, KnownLearner> };

export const learnerOf = (known: KnownLearners, { learnerRef, assessmentId }: ReadyRecord): KnownLearner | undefined =>
  learnerRef === null ? known.byResult.get(assessmentId) : known.byRef.get(learnerRef);

/**
 * A learner without a reference can't be recognised: each such result has a learner of its own, the same at every
 * import.
 */
export function ownLearnerId(organisationId: number, assessmentId: string): string {
  return uuidOf(`${organisationId}:learner-of`, assessmentId);
}

/**
 * What an import knows of learners by their references from its batches of before. It holds as long as the feed stands where
 * the last of them left it: whatever changes a learner gives them a position (docs/decisions/0024).
 */
export type Memory = { at: number | null; byRef: Map<string, KnownLearner> };

export const emptyMemory = (): Memory => ({ at: null, byRef: new Map() });

/** Remembers what a unit of work leaves, once it is committed. @param known null: nothing that is remembered still holds */
export function rememberLearners(work: UnitOfWork, feed: Feed, memory: Memory, known: KnownLearners | null): void {
  work.afterCommit(async () => {
    const more = known?.byRef ?? new Map<string, KnownLearner>();
    if (memory.at !== feed.found || known === null || memory.byRef.size + more.size > limits.importRemembered)
      memory.byRef.clear();
    for (const [ref, learner] of more) memory.byRef.set(ref, learner);
    memory.at = feed.last();
  });
}

/** The learners of the records that exist already: by any reference of theirs, or who somebody turned out to be. */
export async function findKnownLearners(
  work: UnitOfWork,
  organisationId: number,
  records: ReadyRecord[],
  remembered: ReadonlyMap<string, KnownLearner> = new Map(),
): Promise<KnownLearners> {
  const one = new Map<string, KnownLearner>();
  // What is remembered stays as it is until the commit: names are changed in what a batch knows.
  const oneOf = (learner: KnownLearner): KnownLearner => {
    let known = one.get(learner.learner_id);
    if (known === undefined) one.set(learner.learner_id, (known = { ...learner }));
    return known;
  };
  const known: KnownLearners = { byRef: new Map(), byResult: new Map() };
  const refs = new Set<string>();
  const own = new Map<string, string>();
  for (const { learnerRef, assessmentId } of records) {
    const learner = learnerRef === null ? undefined : remembered.get(learnerRef);
    if (learner !== undefined) known.byRef.set(learnerRef!, oneOf(learner));
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
  const isSurvivor = new Set(survivors);
  const whole = ({ learner_id, ref, full_name }: LearnerName): KnownLearner => ({
    learner_id,
    ref,
    full_name,
    former: formerOf.get(learner_id)?.map((alias) => alias.ref) ?? [],
    survivor: isSurvivor.has(learner_id),
  });
  for (const row of byRefs) known.byRef.set(row.asked, oneOf(whole(row)));
  for (const row of byIds) known.byResult.set(own.get(row.asked)!, oneOf(whole(row)));
  return known;
}
