import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import type { Feed } from '../../feed/position.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearnersAndAssessments } from '../../feed/stamp.ts';
import { ensureGroups } from '../../organisations/groups/create.ts';
import { insertLearners, nameInstants } from '../learners/learners.ts';
import { limits } from '../../platform/config/limits.ts';
import { learnerJson } from '../results/body.ts';
import type { ImportOutcome, Stored, StoredById } from './compare.ts';
import { anotherId, compare } from './compare.ts';
import { distinctGroups, importGroups } from './groups.ts';
import type { KnownLearner, KnownLearners, Memory } from './learner-cache.ts';
import { findKnownLearners, learnerOf, ownLearnerId, rememberLearners } from './learner-cache.ts';
import type { ReadyRecord } from './record.ts';
import type { Fault } from '../results/result-fields.ts';
import { recordAssessments, tellOfAssessments } from '../results/record.ts';
import { renameLearner, wouldBeReference } from '../learners/rename.ts';
import { findStored } from '../results/results.ts';
import { importedAgain } from '../results/lists/history.ts';
import { confirmContents, replaceContents } from '../results/amend.ts';

type Options = { events: boolean; actor: string; resultsToldLater?: boolean; memory?: Memory };

const withdrawn: Fault = {
  field: 'assessment_id',
  expected: 'that of a result which was not withdrawn: a withdrawal is final',
  example: anotherId,
};
const ofAnotherLearner: Fault = {
  field: 'assessment_id',
  expected:
    'that of a result of this learner: it belongs to another learner; withdraw that result and record it again under another id',
  example: anotherId,
};
const immutable: Fault = {
  field: 'the record',
  expected:
    'as before in subject, assessed_at, rqf_level_code and below_level_1, which cannot be amended: withdraw the result and record it again under another id',
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
 * Imports records in one unit of work. The same id again is skipped when the record says what was imported last, whatever was
 * amended since, and an amendment when it says something else (decision 0024); a learner's name follows the latest record.
 * Each outcome stands at its record's place.
 */
export async function importRecords(
  work: UnitOfWork,
  organisationId: number,
  given: ReadyRecord[],
  options: Options,
): Promise<ImportOutcome[]> {
  const { memory } = options;
  const locking = lockFeed(work, organisationId);
  // What is stored is asked for right behind the lock, by a statement of its own, which runs once it is held.
  const storedAsGiven = findStoredById(
    work,
    organisationId,
    given.map((record) => record.assessmentId),
  );
  const knowing = locking.then((feed) =>
    findKnownLearners(work, organisationId, given, memory?.at === feed.found ? memory.byRef : undefined),
  );
  const [feed, known, found] = await Promise.all([locking, knowing, storedAsGiven]);
  const { records, stored } = await underTheirIds(work, organisationId, given, known, found);
  if (new Set(records.map((record) => record.assessmentId)).size === records.length) {
    if (memory !== undefined) rememberLearners(work, feed, memory, known);
    return importDistinct(work, feed, records, { known, stored }, options);
  }
  if (memory !== undefined) rememberLearners(work, feed, memory, null);
  const outcomes = new Array<ImportOutcome>(records.length);
  let waiting = records.map((record, index) => ({ record, index }));
  // An id that comes twice is imported first and compared then, in the order of the file.
  while (waiting.length > 0) {
    const seen = new Set<string>();
    const now = waiting.filter(({ record }) => !seen.has(record.assessmentId) && seen.add(record.assessmentId));
    const chosen = new Set(now.map((entry) => entry.index));
    waiting = waiting.filter((entry) => !chosen.has(entry.index));
    const together = now.map((entry) => entry.record);
    const found = {
      known: await findKnownLearners(work, organisationId, together),
      stored: await findStoredById(
        work,
        organisationId,
        together.map((record) => record.assessmentId),
      ),
    };
    const done = await importDistinct(work, feed, together, found, { ...options, resultsToldLater: true });
    now.forEach((entry, i) => {
      outcomes[entry.index] = done[i]!;
    });
  }
  // A result that was amended, or whose learner was renamed, by a later record of the same unit of work is told of as
  // it is in the end.
  if (options.events)
    await tellOfAssessments(
      work,
      feed,
      records.filter((_, i) => outcomes[i]!.outcome === 'imported').map((record) => record.assessmentId),
    );
  return outcomes;
}

async function findStoredById(work: UnitOfWork, organisationId: number, ids: string[]): Promise<Map<string, Stored>> {
  return new Map((await findStored(work.tx, organisationId, ids)).map((row) => [row.assessment_id, row]));
}

/** A record that nothing refuses: its place, its learner, what is stored under its id, and the body that takes its place. */
type Entry = {
  record: ReadyRecord;
  i: number;
  learnerId: string;
  learnerJson: string;
  stored: Stored | undefined;
  amendedTo: string | undefined;
};

/** Imports records of different ids. */
async function importDistinct(
  work: UnitOfWork,
  feed: Feed,
  records: ReadyRecord[],
  { known, stored }: { known: KnownLearners; stored: StoredById },
  options: Options,
): Promise<ImportOutcome[]> {
  const outcomes = refuse(records, stored, known);
  const { amended, confirmed } = await compare(work, feed.organisationId, records, stored, outcomes);
  const groupsRefused = await refuseGroupsBeyondLimit(work, feed, records, outcomes);
  const places = records.map((_, i) => i).filter((i) => outcomes[i] === null);
  const open = places.map((i) => records[i]!);

  const learners = await importLearners(work, feed, open, known);
  const withoutGroups = groupsRefused.size === 0 && open.every((record) => record.groups.length === 0);
  const moved = withoutGroups ? [] : await importGroups(work, feed, open, learners, stored, options);
  // Names and groups first, so that what is recorded below is stamped with them.
  const touched = new Set([...learners.renamed, ...moved.filter((id) => !learners.made.has(id))]);
  if (touched.size > 0) await stampLearnersAndAssessments(work, feed, [...touched]);

  const entries = open.map((record, at): Entry => ({
    record,
    i: places[at]!,
    learnerId: learners.ids[at]!,
    learnerJson: learners.json[at]!,
    stored: stored.get(record.assessmentId),
    amendedTo: amended.get(record.assessmentId),
  }));
  for (const entry of entries) outcomes[entry.i] = { outcome: outcomeOf(entry, touched) };
  await recordNew(
    work,
    feed,
    entries.filter((entry) => entry.stored === undefined),
    learners.made,
    options,
  );
  await amendStored(
    work,
    feed,
    entries.filter((entry) => entry.amendedTo !== undefined),
    options,
  );
  const taken = new Set(open.map((record) => record.assessmentId));
  const said = confirmed.filter((row) => taken.has(row.assessment_id));
  await confirmContents(work, feed.organisationId, { actor: options.actor, reason: importedAgain }, said);
  return outcomes as ImportOutcome[];
}

function outcomeOf(entry: Entry, touched: ReadonlySet<string>): 'imported' | 'updated' | 'unchanged' {
  if (entry.stored === undefined) return 'imported';
  return entry.amendedTo !== undefined || touched.has(entry.learnerId) ? 'updated' : 'unchanged';
}

/** What is wrong with records beside what is here already; null where nothing is. */
function refuse(records: ReadyRecord[], stored: StoredById, known: KnownLearners): (ImportOutcome | null)[] {
  return records.map((record) => {
    const row = stored.get(record.assessmentId);
    const learner = learnerOf(known, record);
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

function recordNew(
  work: UnitOfWork,
  feed: Feed,
  entries: Entry[],
  madeLearners: ReadonlySet<string>,
  { events, resultsToldLater }: Options,
): Promise<void> {
  return recordAssessments(
    work,
    feed,
    entries.map(({ record, learnerId, learnerJson }) => ({
      assessment_id: record.assessmentId,
      learner_id: learnerId,
      source: 'imported',
      assessed_at: record.assessedAtUs,
      facet: record.facet,
      learner: learnerJson,
      body: record.body,
      report_sha256: null,
      flags: record.flags,
    })),
    { events: events && resultsToldLater !== true, madeLearners },
  );
}

async function amendStored(work: UnitOfWork, feed: Feed, entries: Entry[], { actor }: Options): Promise<void> {
  await replaceContents(
    work,
    feed,
    { actor, reason: importedAgain },
    entries.map((entry) => ({
      assessment_id: entry.record.assessmentId,
      learner_id: entry.learnerId,
      body: entry.amendedTo!,
      before: entry.stored!.body,
    })),
  );
}

type Learners = {
  /** Of each record's learner. */
  ids: string[];
  /** The references of now. */
  refs: (string | null)[];
  /** The learner object of each record's payload, with the name that the learner has after all records. */
  json: string[];
  made: Set<string>;
  renamed: string[];
};

/** Learners who came without a reference are told by the version of their ids: others have drawn ones. */
const isOwnLearnerId = (learnerId: string): boolean => learnerId[14] === '8';

/**
 * Records whose ids come from what they say, under the ids that their results have, and what is stored there: a learner's
 * reference may have changed since, or been given. New ones get theirs from the reference of now.
 */
async function underTheirIds(
  work: UnitOfWork,
  organisationId: number,
  given: ReadyRecord[],
  known: KnownLearners,
  stored: Map<string, Stored>,
): Promise<{ records: ReadyRecord[]; stored: StoredById }> {
  const learners = given.map((record) =>
    record.learnerRef === null || record.idUnder === null ? undefined : learnerOf(known, record),
  );
  const underOthers = given.map((record, i) => {
    const learner = learners[i];
    if (learner === undefined) return [];
    return idsUnderOthers(record, learner);
  });
  const others = underOthers.flat();
  if (others.length > 0)
    for (const [id, row] of await findStoredById(work, organisationId, others)) stored.set(id, row);
  const records = given.map((record, i) => {
    const learner = learners[i];
    if (learner === undefined) return record;
    const isTheirs = (id: string) => stored.get(id)?.learner_id === learner.learner_id;
    if (isTheirs(record.assessmentId)) return record;
    const assessmentId =
      underOthers[i]!.find(isTheirs) ??
      (learner.ref === record.learnerRef ? record.assessmentId : record.idUnder!(learner.ref));
    return assessmentId === record.assessmentId ? record : { ...record, assessmentId };
  });
  return { records, stored };
}

/**
 * The ids that a record would have under its learner's other references, and under none where results of theirs may have come
 * without one.
 */
function idsUnderOthers({ learnerRef, idUnder }: ReadyRecord, learner: KnownLearner): string[] {
  const refs: (string | null)[] = learner.ref === learnerRef ? [] : [learner.ref];
  for (const ref of learner.former) if (ref !== learnerRef) refs.push(ref);
  if (learner.ref !== null && (isOwnLearnerId(learner.learner_id) || learner.survivor)) refs.push(null);
  return refs.map(idUnder!);
}

async function importLearners(
  work: UnitOfWork,
  feed: Feed,
  records: ReadyRecord[],
  known: KnownLearners,
): Promise<Learners> {
  const { organisationId } = feed;
  const made = new Map<string, KnownLearner>();
  const formerNames = new Map<KnownLearner, string>();
  const knownTo = (record: ReadyRecord) => learnerOf(known, record);
  const otherwise = records.filter((record) => (knownTo(record)?.full_name ?? record.fullName) !== record.fullName);
  const asOf = await nameInstants(work.tx, organisationId, [
    ...new Set(otherwise.map((record) => knownTo(record)!.learner_id)),
  ]);
  const holders = records.map((record) => {
    let learner = knownTo(record);
    if (learner === undefined) {
      learner = {
        learner_id: record.learnerRef === null ? ownLearnerId(organisationId, record.assessmentId) : work.uuid(),
        ref: record.learnerRef,
        full_name: record.fullName,
        former: [],
        survivor: false,
      };
      made.set(learner.learner_id, learner);
      if (record.learnerRef === null) known.byResult.set(record.assessmentId, learner);
      else known.byRef.set(record.learnerRef, learner);
      asOf.set(learner.learner_id, record.assessedAtUs);
    }
    // An older record doesn't put an old name back; of equally old ones the later line counts.
    if (record.assessedAtUs < (asOf.get(learner.learner_id) ?? 0)) return learner;
    asOf.set(learner.learner_id, record.assessedAtUs);
    if (learner.full_name !== record.fullName) {
      if (!made.has(learner.learner_id) && !formerNames.has(learner)) formerNames.set(learner, learner.full_name);
      learner.full_name = record.fullName;
    }
    return learner;
  });
  const renamed = [...formerNames]
    .filter(([learner, former]) => learner.full_name !== former)
    .map(([learner]) => learner);
  await insertLearners(
    work,
    feed,
    [...made.values()].map(({ learner_id, ref, full_name }) => ({ learner_id, ref, full_name, email: null })),
  );
  for (const learner of renamed) await renameLearner(work, organisationId, learner, learner.full_name);
  return {
    ids: holders.map((learner) => learner.learner_id),
    refs: holders.map((learner) => learner.ref),
    json: records.map((record, i) => {
      const { ref, full_name } = holders[i]!;
      // The reference that is shown is the one of now, whichever the record has.
      const asGiven = full_name === record.fullName && ref === record.learnerRef;
      return asGiven ? record.learnerJson : learnerJson(ref, full_name);
    }),
    made: new Set(made.keys()),
    renamed: renamed.map((learner) => learner.learner_id),
  };
}

/** Groups beyond the limit can't be made: only their records are refused, not the batch. */
async function refuseGroupsBeyondLimit(
  work: UnitOfWork,
  feed: Feed,
  records: ReadyRecord[],
  outcomes: (ImportOutcome | null)[],
): Promise<Set<number>> {
  const refused = new Set<number>();
  const wanted = records.flatMap((record, i) => (outcomes[i] === null ? record.groups : []));
  if (wanted.length === 0) return refused;
  try {
    await ensureGroups(work, feed, distinctGroups(wanted), { autocreate: true });
    return refused;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'group_limit_exceeded') throw error;
  }
  for (const [i, record] of records.entries()) {
    if (outcomes[i] !== null || record.groups.length === 0) continue;
    try {
      await ensureGroups(work, feed, distinctGroups(record.groups), { autocreate: true });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'group_limit_exceeded') throw error;
      outcomes[i] = { outcome: 'rejected', faults: [tooManyGroups] };
      refused.add(i);
    }
  }
  return refused;
}
