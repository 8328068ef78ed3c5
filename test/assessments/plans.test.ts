import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Drive } from '../../src/assessments/plans.ts';
import { assessedPlan, positionPlan, windowPlan } from '../../src/assessments/plans.ts';
import type { AssessmentFilter, Walk } from '../../src/assessments/walk.ts';

/** Pages are read by prepared statements: a name that stood for two texts would fail whoever comes second. */

const id = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';
const ids = (n: number) => Array.from({ length: n }, () => id);
const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const counts = [0, 1, 2, 33];

function* walks(): Generator<Walk> {
  for (const facets of [null, [], [1, 2]])
    for (const times of [0, 3])
      for (const status of [null, 'deleted'] as const)
        for (const sort of ['updated_at', '-updated_at', 'assessed_at', '-assessed_at'] as const)
          for (const after of [null, { value: 5, id }])
            for (const to of [null, 9]) {
              const filter: AssessmentFilter = {
                sinceUs: 1,
                learner: null,
                facets,
                assessedFromUs: times % 2 === 0 ? null : 1,
                assessedToUs: times < 2 ? null : 2,
                status,
                groupIds: null,
                sort,
              };
              yield { organisationId: 1, filter, after, to, limit: 10 };
            }
}

const drives: Drive[] = [
  { by: 'position' },
  { by: 'learner', learnerIds: [id] },
  ...counts.flatMap((n): Drive[] => [
    { by: 'facet', keys: numbers(n) },
    { by: 'group_set_id', keys: ids(n) },
    { by: 'assessed_day', keys: numbers(n) },
  ]),
];

suite('the statements for pages', () => {
  test('have a name each, whatever is asked for', () => {
    const texts = new Map<string, string>();
    const keep = ({ name, sql }: { name: string; sql: string }) => {
      assert.equal(texts.get(name) ?? sql, sql, name);
      texts.set(name, sql);
    };
    const scopes = [
      null,
      ...counts.flatMap((n) => [null, [id]].map((learnerIds) => ({ groupIds: ids(n), learnerIds }))),
    ];
    for (const walk of walks())
      for (const groupSets of [null, ids(2)]) {
        for (const learnerIds of [null, [id]])
          for (const near of [true, false]) keep(assessedPlan(walk, groupSets, learnerIds, near));
        for (const exits of scopes) {
          keep(windowPlan(walk, groupSets, exits));
          for (const drive of drives) keep(positionPlan(walk, drive, groupSets, exits));
        }
      }
    assert.ok(texts.size > 1000);
  });
});
