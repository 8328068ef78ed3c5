import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { emitGroupsUpdated } from '../../feed/events/emit.ts';
import { type Feed, lockFeed } from '../../feed/position.ts';
import { stampLearnersAndAssessments } from '../../feed/stamp.ts';
import { ensureGroups } from '../../organisations/groups/create.ts';
import { joinGroups } from '../../organisations/groups/members.ts';
import type { GroupInput } from '../../organisations/groups/schema.ts';
import { isVisibleLearner, type Visibility } from '../../organisations/groups/visibility.ts';
import {
  findLearnersByRefs,
  findLearnersOrSurvivors,
  insertLearners,
  type LearnerName,
  updateLearner,
} from '../../records/learners/learners.ts';
import { renameLearner, wouldBeReference } from '../../records/learners/rename.ts';
import { spendCredits, hasCountedCredits } from '../../organisations/credits.ts';
import { type Organisation, readOrganisation } from '../../organisations/organisations.ts';
import {
  adjustInvitation,
  type Adjustment,
  createInvitations,
  findOpenInvitations,
  type Invitation,
} from './invitations.ts';
import { cancelEmailsTo, mailInvitations } from './email-templates.ts';
import { type Recent, recentResults, satUnder, soonWords } from './retakes.ts';
import { requireStartCode } from './start-code.ts';
import type { ReadyRow, RowFault } from './runs/row.ts';

/** The learners whom a person may invite, and the team that invited learners join. */
export type Within = { visibility: Visibility; teamId: string | null };

const invisible = statement('invitation.outside_sight')`
  select l.learner_id from unnest($2::uuid[]) as l(learner_id) where not ${isVisibleLearner('l.learner_id', '$3')}`;

/** The state of the database that rows are checked against. */
type Around = {
  organisation: Organisation;
  /** Learners by current or previous reference. */
  learners: Map<string, LearnerName>;
  chosen: Map<string, LearnerName>;
  open: Map<string, Invitation[]>;
  recent: Recent;
  /** The completed subjects of each open invitation. */
  sat: ReadonlyMap<string, readonly string[]>;
  invisible: Set<string>;
};

async function readAround(tx: Tx, organisationId: number, rows: readonly ReadyRow[], within: Within, nowMs: number) {
  const organisation = await readOrganisation(tx, organisationId);
  const refs = rows.flatMap(({ ref }) => ref ?? []);
  const learners = refs.length === 0 ? [] : await findLearnersByRefs(tx, organisationId, refs);
  const said = rows.flatMap((row) => row.learner_id ?? []);
  const chosen = said.length === 0 ? [] : await findLearnersOrSurvivors(tx, organisationId, said);
  const ids = [...new Set([...learners, ...chosen].map((learner) => learner.learner_id))];
  const around: Around = {
    organisation,
    learners: new Map(learners.map(({ asked, ...learner }) => [asked, learner])),
    chosen: new Map(chosen.filter((one) => one.full_name !== '').map(({ asked, ...learner }) => [asked, learner])),
    open: new Map(),
    recent: new Map(),
    sat: new Map(),
    invisible: new Set(),
  };
  if (ids.length === 0) return around;
  for (const one of await findOpenInvitations(tx, organisationId, ids, new Date(nowMs)))
    around.open.set(one.learner_id, [...(around.open.get(one.learner_id) ?? []), one]);
  around.recent = await recentResults(tx, organisation, ids, nowMs);
  const invitationIds = [...around.open.values()].flat().map((one) => one.invitation_id);
  if (around.recent.size > 0 && invitationIds.length > 0)
    around.sat = await satUnder(tx, organisationId, invitationIds);
  around.invisible = await findInvisible(tx, organisationId, ids, within.visibility);
  return around;
}

export async function findInvisible(
  tx: Tx,
  organisationId: number,
  ids: readonly string[],
  visibility: Visibility,
): Promise<Set<string>> {
  if (visibility === null || ids.length === 0) return new Set();
  const rows = await tx.query<{ learner_id: string }>(invisible, [organisationId, ids, visibility]);
  return new Set(rows.map((row) => row.learner_id));
}

const isSame = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((one) => b.includes(one));

/** A later end counts as another assessment, so the gap between two assessments applies. */
const lastsLonger = ({ expires_at: end }: ReadyRow, again: Invitation): boolean =>
  end !== null && Date.parse(end) > again.expires_at.getTime();

/** The learner of a row. `again`: the open invitation that is returned instead of a new invitation. */
type Judged = { learner: LearnerName | null; again: Invitation | null; faults: RowFault[] };

function judge(row: ReadyRow, around: Around): Judged {
  const refuse = (column: RowFault['column'], expected: string, learner: LearnerName | null = null): Judged => ({
    learner,
    again: null,
    faults: [{ column, expected }],
  });
  const byRef = row.ref === null ? null : (around.learners.get(row.ref) ?? null);
  const chosen = row.learner_id === undefined ? null : (around.chosen.get(row.learner_id) ?? null);
  if (row.learner_id !== undefined && (chosen === null || around.invisible.has(chosen.learner_id)))
    return refuse('learner_id', 'of a learner whom you have');
  if (chosen !== null && row.ref !== null && byRef?.learner_id !== chosen.learner_id)
    return refuse('learner_id', 'left out, or that of the learner whom the reference reaches');
  const learner = byRef ?? chosen;
  if (learner === null) return { learner, again: null, faults: [] };
  if (around.invisible.has(learner.learner_id))
    return refuse('ref', 'a reference that you may use: ask an admin about this one');
  if (wouldBeReference(learner, row.full_name))
    return refuse('full_name', 'a name that is not the reference that the learner has now', learner);
  const open = around.open.get(learner.learner_id) ?? [];
  const again =
    open.find((one) => isSame(one.subjects, row.subjects) && (row.purpose ?? one.purpose) === one.purpose) ?? null;
  const hasReason = row.retake_reason !== null || (again !== null && again.retake_reason !== null);
  if (hasReason || (again !== null && !lastsLonger(row, again))) return { learner, again, faults: [] };
  const done = again === null ? [] : (around.sat.get(again.invitation_id) ?? []);
  const left = row.subjects.filter((subject) => !done.includes(subject));
  const expected = soonWords(around.organisation, learner.learner_id, left, around.recent);
  return { learner, again, faults: expected === null ? [] : [{ column: 'retake_reason', expected }] };
}

/** Checks all rows. A learner may have only one row, but two rows may contain different references of one learner. */
function judgeAll(rows: readonly ReadyRow[], around: Around): Judged[] {
  const seen = new Set<string>();
  return rows.map((row) => {
    const judged = judge(row, around);
    if (judged.learner === null) return judged;
    const { learner_id } = judged.learner;
    if (seen.has(learner_id))
      judged.faults.push({
        column: 'ref',
        expected: 'of a learner who has no other row: an earlier one is theirs, too',
      });
    seen.add(learner_id);
    return judged;
  });
}

/** Checks rows without writing. @returns the outcome of each row, and the credits that the rows would cost */
export async function foresee(
  tx: Tx,
  organisationId: number,
  rows: readonly ReadyRow[],
  within: Within,
  nowMs: number,
): Promise<{ judged: Judged[]; credits: number }> {
  const around = await readAround(tx, organisationId, rows, within, nowMs);
  const judged = judgeAll(rows, around);
  const made = judged.filter((one) => one.again === null && one.faults.length === 0).length;
  return { judged, credits: hasCountedCredits(around.organisation.plan) ? made : 0 };
}

/** `no_credit`: the credits ran out, so this row and all later rows were not processed. */
export type InviteOutcome =
  | { outcome: 'invited' | 'again'; learner_id: string; invitation: Invitation }
  | { outcome: 'refused'; faults: RowFault[] }
  | { outcome: 'no_credit' };

type LearnerEntry = { row: Pick<ReadyRow, 'full_name' | 'email' | 'groups'>; learner: LearnerName; isNew: boolean };
type Entry = LearnerEntry & { at: number; row: ReadyRow; again: Invitation | null };

/**
 * Invites learners. One unit of work writes the learners, groups, invitations and credits. If a reference exists, its
 * learner is updated; groups are only added.
 * If a learner already has an open invitation to these subjects, the invitation is returned and costs no credit. If the
 * credits run out, the remaining rows are not processed.
 * @param rows have distinct references
 * @param by.invitationId the ID of the new invitation, if there is only one row
 */
export async function inviteLearners(
  work: UnitOfWork,
  organisationId: number,
  rows: readonly ReadyRow[],
  by: Within & { actor: string; mails: boolean; invitationId?: string },
): Promise<InviteOutcome[]> {
  const feed = await lockFeed(work, organisationId);
  const around = await readAround(work.tx, organisationId, rows, by, work.nowMs);
  const judged = judgeAll(rows, around);
  let left = hasCountedCredits(around.organisation.plan) ? around.organisation.credits : Infinity;
  const cut = judged.findIndex(({ again, faults }) => again === null && faults.length === 0 && left-- < 1);
  const paid = cut < 0 ? rows : rows.slice(0, cut);
  const groups = await groupsOf(work, feed, paid, judged, around.organisation.group_autocreate);
  const outcomes: InviteOutcome[] = [];
  const entries: Entry[] = [];
  for (const [at, row] of paid.entries()) {
    const { learner, again, faults } = judged[at]!;
    if (faults.length > 0) {
      outcomes.push({ outcome: 'refused', faults });
      continue;
    }
    const made: LearnerName = { learner_id: work.uuid(), ref: row.ref, full_name: row.full_name };
    entries.push({ at, row, learner: learner ?? made, isNew: learner === null, again });
    // A placeholder, which is replaced below when the invitation exists.
    outcomes.push({ outcome: 'no_credit' });
  }
  while (outcomes.length < rows.length) outcomes.push({ outcome: 'no_credit' });
  await writeLearners(work, feed, entries);
  await writeGroups(work, feed, entries, groups, by);
  const invitations = await writeInvitations(work, around.organisation, entries, by);
  entries.forEach(({ at, again, learner }, i) => {
    const outcome = again === null ? 'invited' : 'again';
    outcomes[at] = { outcome, learner_id: learner.learner_id, invitation: invitations[i]! };
  });
  if (by.mails) await mailInvitations(work, around.organisation, invitations);
  return outcomes;
}

/**
 * Finds or creates the groups of all rows. If a group cannot be created, its rows get a fault.
 * @returns the groups' IDs by type and ref
 */
async function groupsOf(
  work: UnitOfWork,
  feed: Feed,
  rows: readonly ReadyRow[],
  judged: Judged[],
  autocreate: boolean,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  const ensure = async (wanted: GroupInput[]) => {
    const distinct = [...new Map(wanted.map((group) => [`${group.type} ${group.ref}`, group])).values()];
    for (const [key, id] of groupIds(await ensureGroups(work, feed, distinct, { autocreate }))) ids.set(key, id);
  };
  const refused = async (wanted: GroupInput[]): Promise<RowFault | null> => {
    try {
      await ensure(wanted);
      return null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return {
        column: 'groups',
        expected:
          error.code === 'group_limit_exceeded'
            ? 'groups that there are: no more can be made before one is archived'
            : 'groups that there are: new ones are not made here (Settings)',
      };
    }
  };
  const open = rows.filter((_, i) => judged[i]!.faults.length === 0);
  if ((await refused(open.flatMap((row) => row.groups))) === null) return ids;
  for (const [i, row] of rows.entries()) {
    if (judged[i]!.faults.length > 0) continue;
    const fault = await refused(row.groups);
    if (fault !== null) judged[i]!.faults.push(fault);
  }
  return ids;
}

export const groupIds = (groups: readonly { row: { type: string; ref: string; group_id: string } }[]) =>
  new Map(groups.map(({ row }) => [`${row.type} ${row.ref}`, row.group_id]));

export async function writeLearners(work: UnitOfWork, feed: Feed, entries: readonly LearnerEntry[]): Promise<void> {
  const namedAtUs = work.nowMs * 1000;
  await insertLearners(
    work,
    feed,
    entries
      .filter(({ isNew }) => isNew)
      .map(({ learner, row }) => ({ ...learner, email: row.email, named_at: namedAtUs })),
  );
  await cancelEmailsTo(
    work,
    feed.organisationId,
    entries
      .filter(({ isNew, row }) => !isNew && row.email !== null)
      .map(({ learner, row }) => ({ learner_id: learner.learner_id, email: row.email })),
  );
  for (const { learner, row, isNew } of entries) {
    if (isNew) continue;
    const contact = { email: row.email, namedAtUs };
    if (learner.full_name === row.full_name)
      await updateLearner(work.tx, feed.organisationId, learner.learner_id, row.full_name, contact);
    else await renameLearner(work, feed.organisationId, learner, row.full_name, contact);
  }
}

/** @param ids the groups' IDs by type and ref */
export async function writeGroups(
  work: UnitOfWork,
  feed: Feed,
  entries: readonly LearnerEntry[],
  ids: ReadonlyMap<string, string>,
  { teamId, actor }: { teamId: string | null; actor: string },
): Promise<void> {
  const joined = await joinGroups(
    work,
    feed,
    entries.flatMap(({ learner, row }) =>
      [
        ...new Set([
          ...row.groups.map((group) => ids.get(`${group.type} ${group.ref}`)!),
          ...(teamId === null ? [] : [teamId]),
        ]),
      ].map((group_id) => ({ group_id, learner_id: learner.learner_id })),
    ),
    actor,
  );
  const added = new Map<string, string[]>();
  for (const { learner_id, group_id } of joined) added.set(learner_id, [...(added.get(learner_id) ?? []), group_id]);
  const changed = entries.filter(
    ({ learner, row, isNew }) => !isNew && (learner.full_name !== row.full_name || added.has(learner.learner_id)),
  );
  await stampLearnersAndAssessments(
    work,
    feed,
    changed.map(({ learner }) => learner.learner_id),
  );
  await emitGroupsUpdated(
    work,
    feed.organisationId,
    changed.flatMap(({ learner: { ref, learner_id } }) =>
      ref === null || !added.has(learner_id) ? [] : [{ learner_ref: ref, added: added.get(learner_id)!, removed: [] }],
    ),
  );
}

/** Returns one invitation for each entry, in order: a new invitation, or the open one with the row's changes. */
async function writeInvitations(
  work: UnitOfWork,
  organisation: Organisation,
  entries: readonly Entry[],
  { actor, invitationId }: { actor: string; invitationId?: string },
): Promise<Invitation[]> {
  const { organisation_id } = organisation;
  const made = entries
    .filter(({ again }) => again === null)
    .map((entry) => ({ ...entry, invitationId: invitationId ?? work.uuid() }));
  const ids = made.map(({ invitationId }) => invitationId);
  const spent = await spendCredits(work, organisation, ids, actor);
  const created = await createInvitations(
    work,
    organisation_id,
    made.map(({ invitationId, learner, row }) => ({
      invitation_id: invitationId,
      learner_id: learner.learner_id,
      subjects: row.subjects,
      expires_at: row.expires_at,
      extra_time_pct: row.extra_time_pct,
      supervision: row.supervision,
      supervisor: row.supervisor,
      purpose: row.purpose,
      retake_reason: row.retake_reason,
    })),
    spent === true,
  );
  const byLearner = new Map(created.map((one) => [one.learner_id, one]));
  const all: Invitation[] = [];
  for (const { again, row, learner } of entries) {
    if (again === null) {
      all.push(byLearner.get(learner.learner_id)!);
      continue;
    }
    const adjustment: Adjustment = {
      ...(row.extra_time_pct === null ? {} : { extra_time_pct: row.extra_time_pct }),
      ...(row.supervision === null ? {} : { supervision: row.supervision }),
      ...(row.supervisor === null ? {} : { supervisor: row.supervisor }),
      ...(row.expires_at === null ? {} : { expires_at: new Date(row.expires_at) }),
      ...(row.retake_reason === null ? {} : { retake_reason: row.retake_reason }),
    };
    const isChanged = Object.keys(adjustment).length > 0;
    const changed = isChanged && (await adjustInvitation(work, organisation_id, again.invitation_id, adjustment));
    all.push(changed || again);
  }
  for (const on of [true, false]) {
    const ids = all.filter((_, i) => entries[i]!.row.start_code === on).map((one) => one.invitation_id);
    await requireStartCode(work.tx, organisation_id, ids, on);
  }
  return all;
}
