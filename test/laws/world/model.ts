import assert from 'node:assert/strict';
import type { Database } from '../../../src/platform/db/database.ts';
import { assertSame } from './mirror.ts';

/** What an organisation's lists must show when nobody writes, told from an unfiltered sweep and the stored memberships. */
export class Model {
  #assessments: Map<string, any>;
  #learners: Map<string, any>;
  /** Group ids of each learner, archived groups too. */
  #memberships: Map<string, Set<string>>;

  static async read(
    db: Database,
    organisationId: number,
    assessments: Map<string, string>,
    learners: Map<string, string>,
  ): Promise<Model> {
    const rows = await db.query<{ learner_id: string; group_id: string }>(
      'select learner_id, group_id from membership where organisation_id = $1 and left_position is null',
      [organisationId],
    );
    const memberships = new Map<string, Set<string>>();
    for (const { learner_id: id, group_id } of rows)
      memberships.set(id, (memberships.get(id) ?? new Set()).add(group_id));
    return new Model(assessments, learners, memberships);
  }

  constructor(assessments: Map<string, string>, learners: Map<string, string>, memberships: Map<string, Set<string>>) {
    const parsed = (texts: Map<string, string>) => new Map([...texts].map(([id, text]) => [id, JSON.parse(text)]));
    this.#assessments = parsed(assessments);
    this.#learners = parsed(learners);
    this.#memberships = memberships;
  }

  /** Every result shows its learner as the learner is shown: name and groups. */
  assertOneTruth(): void {
    for (const one of this.#assessments.values()) {
      const learner = this.#learners.get(one.learner.learner_id);
      assert.ok(learner, `law 1: ${one.assessment_id} has a learner that /learners does not show`);
      assert.deepEqual(
        [one.learner.ref, one.learner.full_name],
        [learner.ref, learner.full_name],
        `law 2: ${one.assessment_id} shows another reference or name than its learner`,
      );
      assert.deepEqual(
        one.groups,
        learner.groups,
        `law 2: ${one.assessment_id} does not show the groups of its learner`,
      );
      assert.ok(
        learner.last_assessed.some((last: any) => last.subject === one.subject && last.assessed_at >= one.assessed_at),
        `${one.learner.learner_id} has no newest ${one.subject}`,
      );
    }
    for (const [id, learner] of this.#learners) {
      const held = this.#memberships.get(id) ?? new Set();
      for (const group of learner.groups) assert.ok(held.has(group.id), `${id} shows a group that it is not in`);
    }
  }

  /** A filtered sweep is the whole sweep, filtered. @param reached whom references reach, by their paths */
  assertFiltered(query: string, sweep: Map<string, string>, reached: Map<string, string>): void {
    const given = new URLSearchParams(query);
    const many = (name: string) => given.get(name)?.split(',') ?? null;
    const below = given.get('below_level_1');
    const groups = many('group_id');
    const wanted = [...this.#assessments.values()].filter((one) => {
      if (many('subject')?.includes(one.subject) === false) return false;
      if (many('rqf_level_code')?.includes(String(one.rqf_level_code)) === false) return false;
      if (below !== null && String(one.below_level_1) !== below) return false;
      if (given.has('assessed_from') && one.assessed_at < given.get('assessed_from')!) return false;
      if (given.has('assessed_to') && one.assessed_at > given.get('assessed_to')!) return false;
      if (given.has('learner_ref') && one.learner.learner_id !== reached.get(given.get('learner_ref')!)) return false;
      return groups === null || groups.some((id) => this.#memberships.get(one.learner.learner_id)?.has(id));
    });
    assertSame(
      sweep,
      new Map(wanted.map((one) => [one.assessment_id, JSON.stringify(one)])),
      `law 1: the sweep of "${query}" is not the whole sweep, filtered`,
    );
  }
}
