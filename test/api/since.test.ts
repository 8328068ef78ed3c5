import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import openapi from '../../docs/openapi.json' with { type: 'json' };
import { routes } from '../../src/api/route-table.ts';
import { changeReference } from '../../src/records/learners/reference.ts';
import { mergeLearners } from '../../src/governance/deduplication/merge.ts';
import { eraseLearner } from '../../src/governance/erasure/erase.ts';
import { Scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { read } from '../support/structure/source-tree.ts';

/** Filters beside `since`: each is said to be safe or unsafe, and is. */

const service = await withService();
const scene = async () => new Scenario(service, await service.organisation());
const idOf = async ({ org }: Scenario, ref: string): Promise<string> =>
  (await org.get(`/learners/${ref}`)).body.data.learner_id;
const why = { actor: 'operator', reason: null };

/** Of the groups of a list, the ones that a poll from its end brings after something has happened. */
async function polled({ org }: Scenario, filter: string, happens: () => Promise<unknown>): Promise<string[]> {
  const since = (await org.get(`/groups?${filter}`)).headers['x-sync-through']!;
  await happens();
  const { data } = (await org.get(`/groups?${filter}&since=${since}`)).body;
  return data.filter((one: { updated_at: string }) => one.updated_at > since).map((one: { ref: string }) => one.ref);
}

const words: Record<string, Record<string, 'Safe' | 'Unsafe' | 'Rejected'>> = {
  '/assessments': {
    learner_ref: 'Safe',
    subject: 'Safe',
    assessed_from: 'Safe',
    assessed_to: 'Safe',
    rqf_level_code: 'Safe',
    below_level_1: 'Safe',
    status: 'Unsafe',
    group_id: 'Unsafe',
    sort: 'Rejected',
  },
  '/groups': { type: 'Safe', active: 'Unsafe' },
  '/learners': {},
};

suite('every filter of every list that is polled', () => {
  const guide = read('docs/sync/filters.md').split('\n');
  const lists = routes.filter(({ query = [] }) => query.some(({ name }) => name === 'since'));

  test('is named here', () => {
    for (const { path, query } of lists)
      assert.deepEqual(
        query!
          .map(({ name }) => name)
          .filter((name) => name !== 'since')
          .sort(),
        Object.keys(words[path]!).sort(),
        path,
      );
    assert.equal(lists.length, Object.keys(words).length);
  });

  for (const [path, filters] of Object.entries(words))
    for (const [name, is] of Object.entries(filters))
      test(`${path} ${name}: ${is} in guide and reference`, () => {
        const row = guide.find((line) => line.startsWith(`| \`${path}\` |`) && line.includes(`\`${name}\``)) ?? '';
        assert.match(row, new RegExp(`\\| ${is.toLowerCase()} \\|`));
        const { parameters } = (openapi.paths as any)[path].get;
        const { description } = parameters.find((one: { name?: string }) => one.name === name);
        assert.match(description, new RegExp(` ${is} with since: `));
      });
});

suite('what they say is so', () => {
  test('/groups: active hides that a group was archived, or is active again; type hides nothing', async () => {
    const it = await scene();
    const group = await it.group('C1');
    assert.deepEqual(await polled(it, 'active=true', () => group.isArchived()), []);
    assert.deepEqual(await polled(it, 'active=false', () => group.isReactivated()), []);
    assert.deepEqual(await polled(it, 'type=cohort', () => group.isArchived()), ['C1']);
    assert.deepEqual(await polled(it, 'type=cohort', () => group.isRenamed('Another')), ['C1']);
    assert.deepEqual(await polled(it, 'limit=10', () => group.isReactivated()), ['C1']);
  });

  test('/assessments: status=completed hides a withdrawal', async () => {
    const it = await scene();
    const result = await (await it.learner('ana')).completes();
    const [hidden, shown] = [it.follow({ status: 'completed' }), it.follow({})];
    for (const feed of [hidden, shown]) await feed.poll();
    await result.isWithdrawn();
    assert.deepEqual([await hidden.poll(), await shown.poll()], [[], ['ana maths: deleted']]);
  });

  test('/assessments: group_id tells by a scope exit that a learner left', async () => {
    const it = await scene();
    const ana = await it.learner('ana');
    const group = await it.group('C1');
    await ana.joins(group);
    await ana.completes();
    const feed = it.follow({}, { of: [group] });
    await feed.poll();
    await ana.leaves(group);
    assert.deepEqual(await feed.poll(), ['ana maths: left']);
  });

  for (const [what, happens] of [
    [
      'its reference is changed',
      async (it: Scenario) =>
        service.withUnitOfWork(async (work) =>
          changeReference(work, it.org.id, { learnerId: await idOf(it, 'ana') }, 'ana-2', why),
        ),
    ],
    [
      'it is merged into another',
      async (it: Scenario) => {
        const [from, into] = [await idOf(it, 'ana'), await idOf(it, 'bo')];
        await service.withUnitOfWork((work) => mergeLearners(work, it.org.id, { from, into }, why));
      },
    ],
    [
      'another is merged into it',
      async (it: Scenario) => {
        const [from, into] = [await idOf(it, 'bo'), await idOf(it, 'ana')];
        await service.withUnitOfWork((work) => mergeLearners(work, it.org.id, { from, into }, why));
      },
    ],
    [
      'it is erased',
      async (it: Scenario) => {
        const id = await idOf(it, 'ana');
        await service.withUnitOfWork((work) => eraseLearner(work, it.org.id, id, { actor: 'operator' }));
      },
    ],
  ] as [string, (it: Scenario) => Promise<unknown>][])
    test(`/assessments: learner_ref loses nothing when ${what}`, async () => {
      const it = await scene();
      for (const [ref, subject] of [
        ['ana', 'maths'],
        ['bo', 'english'],
      ] as const)
        await (await it.learner(ref)).completes({ subject });
      const feed = it.follow({ learner_ref: 'ana' });
      await feed.poll();
      await happens(it);
      await feed.assertConverged();
    });
});
