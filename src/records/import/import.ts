import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { type Feed, lockFeed } from '../../feed/position.ts';
import { stampLearnersAndAssessments } from '../../feed/stamp.ts';
import { ensureGroups } from '../../organisations/groups/create.ts';
import { insertLearners, nameInstants } from '../learners/learners.ts';
import { limits } from '../../platform/config/limits.ts';
import { learnerJson } from '../results/body.ts';
import { type ImportOutcome, type Stored, type StoredById, anotherId, compare } from './compare.ts';
import { distinctGroups, importGroups } from './groups.ts';
import type { CachedLearner, CachedLearners, LearnerCache } from './learner-cache.ts';
import { findExistingLearners, learnerOf, ownLearnerId, updateLearnerCache } from './learner-cache.ts';
import type { ReadyRecord } from './record.ts';
import type { Fault } from '../results/result-fields.ts';
import { recordAssessments, emitRecordedAssessments } from '../results/record.ts';
import { renameLearner, wouldBeReference } from '../learners/rename.ts';
import { findStored, recordChanges } from '../results/results.ts';
import { importedAgain } from '../results/lists/history.ts';
import { replaceContents } from '../results/amend.ts';

type Options = { events: boolean; actor: string; memory?: LearnerCache };

const withdrawn: Fault = {
  field: 'assessment_id',
  expected: 'that of a result which was not withdrawn: a withdrawal is final',
  example: anotherId,
};
const ofAnotherLearner: Fault = {
  field: 'assessment_id',
  expected:
    'that of a result of this learner. This result belongs to another learner: withdraw it and record it again under another ID',
  example: anotherId,
};
const immutable: Fault = {
  field: 'the record',
  expected:
    'as before in subject, assessed_at, rqf_level_code and below_level_1, which cannot be amended: withdraw the result and record it again under another ID',
  example: anotherId,
};
const nameIsReference: Fault = {
  field: 'learner.full_name',
  expected: 'a name that is not the reference that the learner has now',
  example: 'Ana Silva',
};
const tooManyGroups: Fault = {
  field: 'groups',
  expected: `among the ${limits.groupsPerOrganisation} groups that an organisation may have: archive one first`,
  example: 'groups that exist already',
};

/**
 * Imports records in one unit of work. A record with a stored ID is skipped if it equals the last import, and otherwise
 * amends the result (docs/decisions/0024). A learner's name follows the latest record.
 * @returns an outcome for each record, in the order of `input`
 */
export async function importRecords(work: UnitOfWork, organisationId: number, input: ReadyRecord[], options: Options) {
  const { memory } = options;
  const locking = lockFeed(work, organisationId);
  // The connection runs statements in order. So this statement reads after `lockFeed` has locked the feed.
  const finding = findStoredById(work, organisationId, input);
  const knowing = locking.then((feed) =>
    findExistingLearners(work, organisationId, input, memory?.at === feed.found ? memory.byRef : undefined),
  );
  const [feed, cached, found] = await Promise.all([locking, knowing, finding]);
  const { records, stored } = await underTheirIds(work, organisationId, input, cached, found);
  const isDistinct = new Set(records.map((record) => record.assessmentId)).size === records.length;
  if (memory !== undefined) updateLearnerCache(work, feed, memory, isDistinct ? cached : null);
  if (isDistinct) return importDistinct(work, feed, records, { cached, stored }, options);
  const outcomes = new Array<ImportOutcome>(records.length);
  let waiting = [...records.entries()];
  // If several records have the same ID, each round imports the first of them that is left.
  while (waiting.length > 0) {
    const round = new Map(waiting.toReversed().map((entry) => [entry[1].assessmentId, entry]));
    const isNow = ([i, { assessmentId }]: [number, ReadyRecord]) => round.get(assessmentId)![0] === i;
    const entries = waiting.filter(isNow);
    waiting = waiting.filter((entry) => !isNow(entry));
    const together = entries.map(([, record]) => record);
    const state = {
      cached: await findExistingLearners(work, organisationId, together),
      stored: await findStoredById(work, organisationId, together),
    };
    const done = await importDistinct(work, feed, together, state, { ...options, events: options.events && 'groups' });
    entries.forEach(([index], i) => {
      outcomes[index] = done[i]!;
    });
  }
  // A later record may have amended a result or renamed its learner. So events are emitted last, when the content is
  // final.
  if (options.events) {
    const imported = records.filter((_, i) => outcomes[i]!.outcome === 'imported');
    await emitRecordedAssessments(
      work,
      feed,
      imported.map((record) => record.assessmentId),
    );
  }
  return outcomes;
}

type WithId = Pick<ReadyRecord, 'assessmentId'>;

async function findStoredById(work: UnitOfWork, organisationId: number, records: readonly WithId[]) {
  const rows = await findStored(
    work.tx,
    organisationId,
    records.map((record) => record.assessmentId),
  );
  return new Map(rows.map((row) => [row.assessment_id, row]));
}

/** Imports records whose IDs differ. With `events: 'groups'`, the import emits no events of results. */
async function importDistinct(
  work: UnitOfWork,
  feed: Feed,
  records: ReadyRecord[],
  { cached, stored }: { cached: CachedLearners; stored: StoredById },
  { events, actor }: { events: boolean | 'groups'; actor: string },
): Promise<ImportOutcome[]> {
  const outcomes = refuse(records, stored, cached);
  const { amended, confirmed } = await compare(work, feed.organisationId, records, stored, outcomes);
  await refuseGroupsBeyondLimit(work, feed, records, outcomes);
  const indexes = [...records.keys()].filter((i) => outcomes[i] === null);
  const open = indexes.map((i) => records[i]!);
  const learners = await importLearners(work, feed, open, cached);
  const hasGroups = open.some((record) => record.groups.length > 0);
  const grouping = { actor, events: events !== false };
  const moved = hasGroups ? await importGroups(work, feed, open, learners, stored, grouping) : [];
  // Learners with new names or groups get new positions first, so that new results contain these names and groups.
  const touched = new Set([...learners.renamed, ...moved.filter((id) => !learners.made.has(id))]);
  if (touched.size > 0) await stampLearnersAndAssessments(work, feed, [...touched]);

  const entries = open.map((record, i) => {
    const { assessmentId: id } = record;
    const learnerId = learners.ids[i]!;
    return { record, id, learnerId, json: learners.json[i]!, stored: stored.get(id), amendedTo: amended.get(id) };
  });
  entries.forEach((entry, i) => {
    const isUpdated = entry.amendedTo !== undefined || touched.has(entry.learnerId);
    const outcome = entry.stored === undefined ? 'imported' : isUpdated ? 'updated' : 'unchanged';
    outcomes[indexes[i]!] = { outcome };
  });
  await recordAssessments(
    work,
    feed,
    entries.flatMap(({ record, id, learnerId, json, stored: row }) =>
      row === undefined ? newAssessment(record, id, learnerId, json) : [],
    ),
    { events: events === true, madeLearners: learners.made },
  );
  const why = { actor, reason: importedAgain };
  await replaceContents(
    work,
    feed,
    why,
    entries.flatMap(({ id, learnerId, stored: row, amendedTo: body }) =>
      body === undefined ? [] : { assessment_id: id, learner_id: learnerId, body, before: row!.body! },
    ),
  );
  const taken = new Set(entries.map((entry) => entry.id));
  const repeated = confirmed.filter((row) => taken.has(row.assessment_id));
  await recordChanges(work, feed.organisationId, { kind: 'amended', ...why }, repeated);
  return outcomes as ImportOutcome[];
}

const newAssessment = (record: ReadyRecord, id: string, learnerId: string, json: string) => ({
  assessment_id: id,
  learner_id: learnerId,
  source: 'imported' as const,
  assessed_at: record.assessedAtUs,
  facet: record.facet,
  learner: json,
  body: record.body,
  report_sha256: null,
  flags: record.flags,
});

/** Checks records against stored results and learners. The outcome of an acceptable record is null. */
function refuse(records: ReadyRecord[], stored: StoredById, cached: CachedLearners): (ImportOutcome | null)[] {
  return records.map((record) => {
    const row = stored.get(record.assessmentId);
    const learner = learnerOf(cached, record);
    if (learner !== undefined && wouldBeReference(learner, record.fullName))
      return { outcome: 'rejected', faults: [nameIsReference] };
    if (row === undefined) return null;
    if (row.body === null) return { outcome: 'rejected', faults: [withdrawn] };
    const faults: Fault[] = [];
    if (learner?.learner_id !== row.learner_id) faults.push(ofAnotherLearner);
    if (row.facet !== record.facet || row.assessed_at !== record.assessedAtUs) faults.push(immutable);
    return faults.length === 0 ? null : { outcome: 'rejected', faults };
  });
}

/** A learner that was imported without a reference has a name-based UUID (version 8). */
const isOwnLearnerId = (learnerId: string): boolean => learnerId[14] === '8';

/**
 * Finds the stored results of records that were sent without an ID. Each import derives the ID from the learner's
 * current reference, and the reference may have changed since.
 */
async function underTheirIds(
  work: UnitOfWork,
  organisationId: number,
  input: ReadyRecord[],
  cached: CachedLearners,
  stored: Map<string, Stored>,
): Promise<{ records: ReadyRecord[]; stored: StoredById }> {
  const entries = input.map((record) => {
    const learner = record.learnerRef === null || record.idUnder === null ? undefined : learnerOf(cached, record);
    return { record, learner, others: learner === undefined ? [] : idsUnderOthers(record, learner) };
  });
  const others = entries.flatMap((entry) => entry.others.map((assessmentId) => ({ assessmentId })));
  if (others.length > 0)
    for (const [id, row] of await findStoredById(work, organisationId, others)) stored.set(id, row);
  const records = entries.map(({ record, learner, others: ids }) => {
    if (learner === undefined) return record;
    const isTheirs = (id: string) => stored.get(id)?.learner_id === learner.learner_id;
    if (isTheirs(record.assessmentId)) return record;
    const found = ids.find(isTheirs);
    if (found === undefined && learner.ref === record.learnerRef) return record;
    return { ...record, assessmentId: found ?? record.idUnder!(learner.ref) };
  });
  return { records, stored };
}

/**
 * Returns the IDs that a record would have under its learner's other references. The ID without a reference is included
 * if the learner may have been imported without one.
 */
function idsUnderOthers({ learnerRef, idUnder }: ReadyRecord, learner: CachedLearner): string[] {
  const refs: (string | null)[] = learner.ref === learnerRef ? [] : [learner.ref];
  for (const ref of learner.former) if (ref !== learnerRef) refs.push(ref);
  if (learner.ref !== null && (isOwnLearnerId(learner.learner_id) || learner.isSurvivor)) refs.push(null);
  return refs.map(idUnder!);
}

/**
 * Makes new learners and renames existing learners, as the records require.
 * @returns `ids`, `refs` and `json`: the ID, current reference and payload of each record's learner; `made` and
 *   `renamed`: IDs of learners
 */
async function importLearners(work: UnitOfWork, feed: Feed, records: ReadyRecord[], cached: CachedLearners) {
  const { organisationId } = feed;
  const made = new Map<string, CachedLearner>();
  const formerNames = new Map<CachedLearner, string>();
  const others = new Set<string>();
  for (const record of records) {
    const learner = learnerOf(cached, record);
    if (learner !== undefined && learner.full_name !== record.fullName) others.add(learner.learner_id);
  }
  const asOf = await nameInstants(work.tx, organisationId, [...others]);
  const holders = records.map((record) => {
    const { learnerRef: ref, fullName, assessmentId, assessedAtUs } = record;
    let learner = learnerOf(cached, record);
    if (learner === undefined) {
      const id = ref === null ? ownLearnerId(organisationId, assessmentId) : work.uuid();
      learner = { learner_id: id, ref, full_name: fullName, former: [], isSurvivor: false };
      made.set(id, learner);
      if (ref === null) cached.byResult.set(assessmentId, learner);
      else cached.byRef.set(ref, learner);
    }
    // An older record does not restore an older name. If records are equally old, the last line decides.
    if (assessedAtUs < (asOf.get(learner.learner_id) ?? 0)) return learner;
    asOf.set(learner.learner_id, assessedAtUs);
    if (learner.full_name !== fullName) {
      if (!made.has(learner.learner_id) && !formerNames.has(learner)) formerNames.set(learner, learner.full_name);
      learner.full_name = fullName;
    }
    return learner;
  });
  await insertLearners(
    work,
    feed,
    [...made.values()].map(({ learner_id, ref, full_name }) => ({ learner_id, ref, full_name, email: null })),
  );
  const renamed = [...formerNames].flatMap(([learner, former]) => (learner.full_name === former ? [] : learner));
  for (const learner of renamed) await renameLearner(work, organisationId, learner, learner.full_name);
  return {
    ids: holders.map((learner) => learner.learner_id),
    refs: holders.map((learner) => learner.ref),
    json: records.map((record, i) => {
      const { ref, full_name } = holders[i]!;
      const isAsRead = full_name === record.fullName && ref === record.learnerRef;
      return isAsRead ? record.learnerJson : learnerJson(ref, full_name);
    }),
    made: new Set(made.keys()),
    renamed: renamed.map((learner) => learner.learner_id),
  };
}

/** Rejects only the records whose groups exceed the organisation's limit, so that the rest of the batch is imported. */
async function refuseGroupsBeyondLimit(
  work: UnitOfWork,
  feed: Feed,
  records: ReadyRecord[],
  outcomes: (ImportOutcome | null)[],
): Promise<void> {
  const canHave = async (groups: ReadyRecord['groups']) => {
    try {
      await ensureGroups(work, feed, distinctGroups(groups), { autocreate: true });
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'group_limit_exceeded') throw error;
      return false;
    }
  };
  const wanted = records.flatMap((record, i) => (outcomes[i] === null ? record.groups : []));
  if (wanted.length === 0 || (await canHave(wanted))) return;
  for (const [i, { groups }] of records.entries())
    if (outcomes[i] === null && groups.length > 0 && !(await canHave(groups)))
      outcomes[i] = { outcome: 'rejected', faults: [tooManyGroups] };
}
