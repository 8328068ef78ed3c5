import type { App } from '../platform/app.ts';
import { amendAssessment } from '../records/results/amend.ts';
import { withdrawAssessment } from '../governance/erasure/withdraw.ts';
import { readyRecord } from '../records/import/record.ts';
import { importRecords } from '../records/import/import.ts';
import { feedQueue, withUnitOfWork } from '../platform/db/unit-of-work.ts';
import { ApiError } from '../platform/errors/errors.ts';
import { lockFeed } from '../feed/position.ts';
import { changeGroup } from '../organisations/groups/change.ts';
import { ensureGroups } from '../organisations/groups/create.ts';
import { addMembers, joinGroups, removeMembers } from '../organisations/groups/members.ts';
import { findLearnersByRefs, insertLearners } from '../records/learners/learners.ts';
import { ensureTeam } from '../organisations/teams.ts';
import { uuidOf } from '../platform/crypto/random.ts';
import type { PlannedLearner, SandboxPlan } from './data/plan.ts';

/** How many learners one transaction adds. The first transaction adds fewer, so that the service starts soon. */
const chunkSize = 250;
const firstChunkSize = 50;

const actor = 'sandbox';
const keyOf = (group: { type: string; ref: string }) => `${group.type} ${group.ref}`;

type Seeding = {
  app: App;
  organisationId: number;
  publicId: string;
  plan: SandboxPlan;
  groupIds: Map<string, string>;
  teamIds: Map<string, string>;
};

/**
 * Adds learners, groups and results to an organisation by the functions that real changes use. Yields the number of
 * learners after each step. A repeated call keeps existing records.
 */
export async function* seedOrganisation(
  app: App,
  organisation: { organisation_id: number; public_id: string },
  plan: SandboxPlan,
  done: number,
): AsyncGenerator<number> {
  const organisationId = organisation.organisation_id;
  const seeding: Seeding = {
    app,
    organisationId,
    publicId: organisation.public_id,
    plan,
    groupIds: new Map(),
    teamIds: new Map(),
  };
  await withUnitOfWork(app, feedQueue(organisationId), async (work) => {
    const feed = await lockFeed(work, organisationId);
    const groups = await ensureGroups(
      work,
      feed,
      plan.groups.map(({ type, ref, name }) => ({ type, ref, name })),
      { autocreate: true },
    );
    for (const { row } of groups) seeding.groupIds.set(keyOf(row), row.group_id);
    for (const team of plan.teams)
      seeding.teamIds.set(team.ref, await ensureTeam(work, organisationId, { ref: team.ref, name: team.name }));
  });
  let analyzed = 0;
  while (done < plan.total) {
    const size = Math.min(done === 0 ? firstChunkSize : chunkSize, plan.total - done);
    await seedLearners(
      seeding,
      Array.from({ length: size }, (_, i) => plan.learner(done + 1 + i)),
    );
    done += size;
    if (done >= analyzed * 8) {
      analyzed = done;
      await app.db.query(
        'analyze learner, learner_feed, membership, assessment, assessment_feed, group_set, group_set_group',
      );
    }
    yield done;
  }
  for (const group of plan.groups.filter((one) => one.archived)) {
    await withUnitOfWork(app, feedQueue(organisationId), (work) =>
      changeGroup(work, organisationId, seeding.groupIds.get(keyOf(group))!, { active: false }),
    );
  }
}

async function seedLearners(seeding: Seeding, learners: PlannedLearner[]): Promise<void> {
  const { app, organisationId, plan } = seeding;
  const named = learners.filter((learner): learner is PlannedLearner & { ref: string } => learner.ref !== null);
  await withUnitOfWork(app, feedQueue(organisationId), async (work) => {
    const feed = await lockFeed(work, organisationId);
    const known = new Set(
      (
        await findLearnersByRefs(
          work.tx,
          organisationId,
          named.map((learner) => learner.ref),
        )
      ).map((row) => row.asked),
    );
    const fresh = named
      .filter((learner) => !known.has(learner.ref))
      .map((learner) => ({ ...learner, learner_id: uuidOf(`${seeding.publicId}:learner`, learner.ref) }));
    if (fresh.length === 0) return;
    await insertLearners(
      work,
      feed,
      fresh.map(({ learner_id, ref, full_name }) => ({ learner_id, ref, full_name, email: null })),
    );
    await joinGroups(
      work,
      feed,
      fresh.flatMap((learner) =>
        [
          ...learner.groups.map((group) => seeding.groupIds.get(keyOf(group))!),
          ...plan.teams.filter((team) => team.includes(learner.number)).map((team) => seeding.teamIds.get(team.ref)!),
        ].map((group_id) => ({ group_id, learner_id: learner.learner_id })),
      ),
      actor,
    );
  });
  const results = learners.flatMap((learner) => learner.results);
  await withUnitOfWork(app, feedQueue(organisationId), async (work) => {
    const records = results.map((result) => readyRecord(result.record, seeding.publicId, work.nowMs));
    await importRecords(work, organisationId, records, { events: false, actor });
  });
  for (const { record, amend, withdraw } of results) {
    if (amend !== null)
      await withUnitOfWork(app, feedQueue(organisationId), (work) =>
        amendAssessment(work, organisationId, record.assessment_id, amend.fields, { actor, reason: amend.reason }),
      ).catch(ignoreGone);
    if (withdraw !== null)
      await withUnitOfWork(app, feedQueue(organisationId), (work) =>
        withdrawAssessment(work, organisationId, record.assessment_id, { actor, reason: withdraw.reason }),
      ).catch(ignoreGone);
  }
  await moveLearners(seeding, named);
}

/** Ignores a missing result, because an earlier, interrupted run may have withdrawn it. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
}

/** Moves learners in rounds. In each round, one call for each group removes or adds all its learners. */
async function moveLearners(seeding: Seeding, learners: (PlannedLearner & { ref: string })[]): Promise<void> {
  const rounds = Math.max(0, ...learners.map((learner) => learner.moves.length));
  for (let round = 0; round < rounds; round++) {
    const leaving = new Map<string, string[]>();
    const joining = new Map<string, string[]>();
    const put = (map: Map<string, string[]>, group: string, ref: string) => {
      map.set(group, [...(map.get(group) ?? []), ref]);
    };
    for (const learner of learners) {
      for (const group of learner.moves[round]?.remove ?? [])
        put(leaving, seeding.groupIds.get(keyOf(group))!, learner.ref);
      for (const group of learner.moves[round]?.add ?? [])
        put(joining, seeding.groupIds.get(keyOf(group))!, learner.ref);
    }
    await withUnitOfWork(seeding.app, feedQueue(seeding.organisationId), async (work) => {
      for (const [groupId, refs] of leaving) await removeMembers(work, seeding.organisationId, groupId, refs);
      for (const [groupId, refs] of joining) await addMembers(work, seeding.organisationId, groupId, refs);
    });
  }
}
