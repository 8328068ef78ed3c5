import type { App } from '../platform/app.ts';
import { amendAssessment } from '../records/results/amend.ts';
import { withdrawAssessment } from '../governance/erasure/withdraw.ts';
import { contentOf } from '../records/results/body.ts';
import { readyRecord } from '../records/import/record.ts';
import { importRecords } from '../records/import/import.ts';
import { findLearnerAssessments } from '../records/results/results.ts';
import { feedQueue, type UnitOfWork, withUnitOfWork } from '../platform/db/unit-of-work.ts';
import { ApiError } from '../platform/errors/errors.ts';
import { formatPosition } from '../feed/time.ts';
import { changeGroup } from '../organisations/groups/change.ts';
import { findGroupsByKey } from '../organisations/groups/groups.ts';
import { addMembers, removeMembers } from '../organisations/groups/members.ts';
import { renderSets } from '../feed/group-sets.ts';
import { provisionLearner } from '../sittings/invitations/provision.ts';
import { findLearner } from '../records/learners/learners.ts';
import type { Random } from '../platform/crypto/random.ts';
import { type Change, type KnownLearner, nextChange } from './changes.ts';
import type { GroupKey, PlannedRecord, SandboxPlan } from './data/plan.ts';

const actor = 'sandbox';
const sampleSize = 20;

/**
 * Makes the changes of a working day in a sandbox. It calls the functions that real changes use, so that the sandbox
 * sends events.
 */
export class Activity {
  #app: App;
  #organisation: { organisation_id: number; public_id: string };
  #plan: SandboxPlan;
  #random: Random;
  #nextNumber: number;

  /** @param learners how many learners were seeded; the next learner to enrol has the next number */
  constructor(
    app: App,
    organisation: { organisation_id: number; public_id: string },
    plan: SandboxPlan,
    learners: number,
    random: Random,
  ) {
    this.#app = app;
    this.#organisation = organisation;
    this.#plan = plan;
    this.#random = random;
    this.#nextNumber = learners + 1;
  }

  /** @returns the kind of the change; null if another change had already changed or deleted the record */
  async step(): Promise<Change['kind'] | null> {
    const nextLearner = await this.#nextLearner();
    const sample: KnownLearner[] = [];
    for (let i = 0; i < sampleSize; i++) {
      const number = 1 + Math.floor(this.#random.float() * (this.#nextNumber - 1));
      const { ref } = this.#plan.learner(number);
      const learner = ref === null ? undefined : await this.#findLearner(ref);
      if (learner !== undefined) sample.push(learner);
    }
    const change = nextChange(this.#random, {
      nowMs: this.#app.clock.nowMs(),
      learners: sample,
      groups: this.#plan.groups,
      nextLearner,
    });
    try {
      await withUnitOfWork(this.#app, feedQueue(this.#organisation.organisation_id), (work) =>
        this.#apply(work, change),
      );
      return change.kind;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return null;
      throw error;
    }
  }

  /** The next learner who is not enrolled yet. An earlier run may have enrolled the next numbers. */
  async #nextLearner() {
    for (;;) {
      const learner = this.#plan.learner(this.#nextNumber);
      if (
        learner.ref !== null &&
        (await findLearner(this.#app.db, this.#organisation.organisation_id, learner.ref)) === undefined
      )
        return learner;
      this.#nextNumber++;
    }
  }

  async #findLearner(ref: string): Promise<KnownLearner | undefined> {
    const { organisation_id } = this.#organisation;
    const row = await findLearner(this.#app.db, organisation_id, ref);
    if (row === undefined) return undefined;
    const set = (await renderSets(this.#app.db, organisation_id, [row.group_set_id])).get(row.group_set_id)!;
    const results = await findLearnerAssessments(this.#app.db, organisation_id, row.learner_id);
    return {
      ref,
      full_name: row.full_name,
      groups: (JSON.parse(set.json) as { type: string; ref: string }[])
        .filter((group) => group.type !== 'team')
        .map(({ type, ref: groupRef }) => ({ type, ref: groupRef }) as GroupKey),
      results: results.reverse().map((result) => {
        const { assessed_at_us, reviewed_at: _, ...content } = contentOf(result.body, result.assessed_at);
        return {
          assessment_id: result.assessment_id,
          learner: { ref, full_name: row.full_name },
          assessed_at: formatPosition(assessed_at_us),
          ...content,
        } as PlannedRecord;
      }),
    };
  }

  async #groupId(work: UnitOfWork, key: GroupKey): Promise<string> {
    const [row] = await findGroupsByKey(work.tx, this.#organisation.organisation_id, [key]);
    if (row === undefined) throw new ApiError('not_found');
    return row.group_id;
  }

  async #apply(work: UnitOfWork, change: Change): Promise<void> {
    const { organisation_id: id, public_id } = this.#organisation;
    switch (change.kind) {
      case 'completion':
        await importRecords(work, id, [readyRecord(change.record, public_id, work.nowMs)], { events: true, actor });
        break;
      case 'move':
        for (const group of change.remove)
          await removeMembers(work, id, await this.#groupId(work, group), [change.learner_ref]);
        for (const group of change.add)
          await addMembers(work, id, await this.#groupId(work, group), [change.learner_ref]);
        break;
      case 'amendment':
        await amendAssessment(work, id, change.assessment_id, change.fields, { actor, reason: change.reason });
        break;
      case 'withdrawal':
        await withdrawAssessment(work, id, change.assessment_id, { actor, reason: change.reason });
        break;
      case 'enrolment':
        await provisionLearner(
          work,
          id,
          {
            full_name: change.learner.full_name,
            email: null,
            ref: change.learner.ref,
            groups: change.learner.groups,
          },
          actor,
        );
        break;
      case 'rename':
        await changeGroup(work, id, await this.#groupId(work, change.group), { name: change.name });
        break;
    }
  }
}
