import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AssessmentFilter, PageRequest } from '../../../src/records/results/pages/page-statements.ts';
import type { AccessPath } from '../../../src/records/results/pages/page-statements.ts';
import { pageStatement } from '../../../src/records/results/pages/page-statements.ts';

/** Pages are read by prepared statements: a name that stood for two texts would fail whoever comes second. */

const id = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';
const ids = (n: number) => Array.from({ length: n }, () => id);
const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const counts = [0, 1, 2, 33];

function* requests(): Generator<PageRequest> {
  for (const groupIds of [null, ...counts.map(ids)])
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
                  groupIds,
                  sort,
                };
                yield { organisationId: 1, filter, after, to, limit: 10 };
              }
}

const paths: AccessPath[] = [
  { by: 'position' },
  { by: 'window' },
  { by: 'learner', keys: [id] },
  { by: 'assessed_day', keys: null },
  ...counts.flatMap((n): AccessPath[] => [
    { by: 'facet', keys: numbers(n) },
    { by: 'group_set_id', keys: ids(n) },
    { by: 'assessed_day', keys: numbers(n) },
  ]),
];

suite('the statements for pages', () => {
  test('have a name each, whatever is asked for', () => {
    const texts = new Map<string, string>();
    for (const request of requests())
      for (const path of paths)
        for (const groupSets of [null, ids(2)])
          for (const learnerIds of [null, [id]])
            for (const hasExits of request.filter.groupIds === null ? [false] : [false, true]) {
              const { name, text } = pageStatement(request, path, { groupSets, hasExits, learnerIds });
              assert.equal(texts.get(name) ?? text, text, name);
              texts.set(name, text);
            }
    assert.ok(texts.size > 1000);
  });
});
