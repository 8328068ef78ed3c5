import { amendAssessment } from '../../../src/records/results/amend.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { levels } from '../../../src/records/results/facet.ts';
import type { ManualClock } from '../../platform/time/manual-clock.ts';
import { formatPosition, parseInstant } from '../../../src/feed/time.ts';
import { changeGroup } from '../../../src/organisations/groups/change.ts';
import { createGroup } from '../../../src/organisations/groups/create.ts';
import { addMembers, removeMembers } from '../../../src/organisations/groups/members.ts';
import { provisionLearner } from '../../../src/sittings/invitations/provision.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { recordResults } from '../../support/scenario.ts';
import type { TestOrganisation, TestService } from '../../support/service.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';

/**
 * GET /assessments as the documents describe it, over plain lists in memory. Every act is done to the service and to the
 * lists; with a clock that stands still inside an act, even positions are foretold.
 */

type Group = { id: string; ref: string; type: string; active: boolean };
type Learner = { ref: string; name: string; groups: Set<Group> };
type Result = {
  id: string;
  learner: Learner;
  subject: Subject;
  level: number;
  assessedUs: number;
  positionUs: number;
  /** Where its exits from the groups that its learner left stand. */
  exits: Map<Group, number>;
  /** The groups that the learner was in when the result was withdrawn. */
  deleted: Set<Group> | null;
};

/** A filter as its parameters; lists are OR. */
export type Filter = {
  since?: string;
  learner_ref?: string;
  subject?: string[];
  assessed_from?: string;
  assessed_to?: string;
  rqf_level_code?: string[];
  below_level_1?: string;
  status?: string[];
  group_id?: string[];
  sort?: string;
};

/** What matters of an entry: the rest is the shape's business. */
export type Shown = {
  id: string;
  kind: 'completed' | 'deleted' | 'left';
  updated_at: string;
  name?: string;
  groups?: string[];
};

const stepUs = limits.positionStepUs;
const why = { actor: 'operator', reason: 'model' };

export class FeedModel {
  readonly groups: Group[] = [];
  readonly learners: Learner[] = [];
  readonly results: Result[] = [];
  #lastUs: number;
  #service: TestService;
  #org: TestOrganisation;
  #clock: ManualClock;

  constructor(service: TestService, org: TestOrganisation, clock: ManualClock) {
    this.#service = service;
    this.#org = org;
    this.#clock = clock;
    this.#lastUs = clock.nowMs() * 1000;
  }

  /** Every act has a second of its own, which holds 50,000 positions. */
  async #act<T>(inside: (organisationId: number) => Promise<T>): Promise<T> {
    this.#clock.advance(1000);
    this.#lastUs = Math.max(this.#lastUs, this.#clock.nowMs() * 1000 - stepUs);
    return inside(this.#org.id);
  }

  /** Moves live results to new positions, in their order. */
  #stamp(results: Result[]): void {
    for (const result of results.filter((one) => one.deleted === null).sort((a, b) => a.positionUs - b.positionUs)) {
      this.#lastUs += stepUs;
      result.positionUs = this.#lastUs;
    }
  }

  /** Learners who join or leave are given their positions first, then their live results. */
  #regroup(learners: Learner[]): void {
    this.#lastUs += learners.length * stepUs;
    this.#stamp(this.#resultsOf(learners));
  }

  #resultsOf(learners: Learner[]): Result[] {
    return this.results.filter((result) => learners.includes(result.learner));
  }

  async makesGroup(ref: string, type: string): Promise<void> {
    const { row } = await this.#act((id) =>
      this.#service.withUnitOfWork((work) => createGroup(work, id, { type, ref, name: ref })),
    );
    this.groups.push({ id: row.group_id, ref, type, active: true });
  }

  async provisions(ref: string, name: string): Promise<void> {
    await this.#act((id) =>
      this.#service.withUnitOfWork((work) =>
        provisionLearner(work, id, { ref, full_name: name, email: null, groups: [] }, 'test'),
      ),
    );
    const known = this.learners.find((learner) => learner.ref === ref);
    if (known === undefined) {
      this.learners.push({ ref, name, groups: new Set() });
      return;
    }
    if (known.name === name) return;
    known.name = name;
    this.#stamp(this.#resultsOf([known]));
  }

  async completes(given: { learner: Learner; subject: Subject; level: number; assessed_at: string }[]): Promise<void> {
    const ids = await this.#act((id) =>
      this.#service.withUnitOfWork((work) =>
        recordResults(
          work,
          id,
          given.map(({ learner, ...rest }) => ({ ref: learner.ref, ...rest })),
        ),
      ),
    );
    given.forEach(({ learner, subject, level, assessed_at }, i) => {
      this.#lastUs += stepUs;
      this.results.push({
        id: ids[i]!,
        learner,
        subject,
        level,
        assessedUs: parseInstant(assessed_at)!,
        positionUs: this.#lastUs,
        exits: new Map(),
        deleted: null,
      });
    });
  }

  async joins(group: Group, learners: Learner[]): Promise<void> {
    await this.#act((id) =>
      this.#service.withUnitOfWork((work) =>
        addMembers(
          work,
          id,
          group.id,
          learners.map((learner) => learner.ref),
        ),
      ),
    );
    const changed = learners.filter((learner) => !learner.groups.has(group));
    for (const learner of changed) learner.groups.add(group);
    for (const result of this.#resultsOf(changed)) if (result.deleted === null) result.exits.delete(group);
    this.#regroup(changed);
  }

  async leaves(group: Group, learners: Learner[]): Promise<void> {
    await this.#act((id) =>
      this.#service.withUnitOfWork((work) =>
        removeMembers(
          work,
          id,
          group.id,
          learners.map((learner) => learner.ref),
        ),
      ),
    );
    const changed = learners.filter((learner) => learner.groups.has(group));
    for (const learner of changed) learner.groups.delete(group);
    this.#regroup(changed);
    for (const result of this.#resultsOf(changed))
      if (result.deleted === null) result.exits.set(group, result.positionUs);
  }

  async withdraws(result: Result): Promise<void> {
    if (result.deleted !== null) return;
    await this.#act((id) => this.#service.withUnitOfWork((work) => withdrawAssessment(work, id, result.id, why)));
    this.#stamp([result]);
    for (const group of result.exits.keys()) result.exits.set(group, result.positionUs);
    result.deleted = new Set(result.learner.groups);
  }

  async amends(result: Result, framework: string): Promise<void> {
    if (result.deleted !== null) return;
    if (
      await this.#act((id) =>
        this.#service.withUnitOfWork((work) => amendAssessment(work, id, result.id, { framework }, why)),
      )
    )
      this.#stamp([result]);
  }

  /** Archives or reactivates. */
  async turns(group: Group, active: boolean): Promise<void> {
    await this.#act((id) => this.#service.withUnitOfWork((work) => changeGroup(work, id, group.id, { active })));
    if (group.active === active) return;
    group.active = active;
    this.#lastUs += stepUs;
    this.#stamp(this.#resultsOf(this.learners.filter((learner) => learner.groups.has(group))));
  }

  /** The whole walk of a filter. */
  walk(filter: Filter): Shown[] {
    const sinceUs = filter.since === undefined ? null : parseInstant(filter.since)!;
    const wanted = filter.group_id === undefined ? null : new Set(filter.group_id);
    const found: { result: Result; kind: Shown['kind']; positionUs: number }[] = [];
    for (const result of this.results) {
      if (!fits(result, filter)) continue;
      const held = [...(result.deleted ?? result.learner.groups)].some(
        (group) => wanted === null || wanted.has(group.id),
      );
      const left = [...result.exits].filter(([group]) => wanted?.has(group.id)).map(([, positionUs]) => positionUs);
      const positionUs = wanted === null || held ? result.positionUs : Math.max(...left);
      if (positionUs < (sinceUs ?? 0)) continue;
      if (wanted === null || held)
        found.push({ result, positionUs, kind: result.deleted === null ? 'completed' : 'deleted' });
      else if (sinceUs !== null && left.length > 0)
        found.push({ result, positionUs, kind: result.deleted === null ? 'left' : 'deleted' });
    }
    const sort = filter.sort ?? 'updated_at';
    const key = ({ result, positionUs }: (typeof found)[number]) =>
      sort.endsWith('assessed_at') ? result.assessedUs : positionUs;
    found.sort((a, b) => key(a) - key(b) || (a.result.id < b.result.id ? -1 : 1));
    if (sort.startsWith('-')) found.reverse();
    return found.map(({ result, kind, positionUs }) => ({
      id: result.id,
      kind,
      updated_at: formatPosition(positionUs),
      ...(kind === 'completed'
        ? {
            name: result.learner.name,
            groups: [...result.learner.groups]
              .filter((group) => group.active)
              .map((group) => group.ref)
              .sort(),
          }
        : {}),
    }));
  }
}

function fits(result: Result, filter: Filter): boolean {
  const level = levels[result.level]!;
  return (
    (filter.learner_ref === undefined || filter.learner_ref === result.learner.ref) &&
    (filter.subject === undefined || filter.subject.includes(result.subject)) &&
    (filter.assessed_from === undefined || result.assessedUs >= parseInstant(filter.assessed_from)!) &&
    (filter.assessed_to === undefined || result.assessedUs <= parseInstant(filter.assessed_to)!) &&
    (filter.rqf_level_code === undefined || filter.rqf_level_code.includes(String(level.rqf_level_code))) &&
    (filter.below_level_1 === undefined || filter.below_level_1 === String(level.below_level_1)) &&
    (filter.status === undefined || filter.status.includes(result.deleted === null ? 'completed' : 'deleted'))
  );
}

export function shownOf(entry: any): Shown {
  const kind = entry.removed !== undefined ? 'left' : entry.status;
  return {
    id: entry.assessment_id,
    kind,
    updated_at: entry.updated_at,
    ...(kind === 'completed'
      ? { name: entry.learner.full_name, groups: entry.groups.map((group: any) => group.ref).sort() }
      : {}),
  };
}
