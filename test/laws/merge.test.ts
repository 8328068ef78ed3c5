import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recountDigest } from '../../src/feed/digest.ts';
import { mergeLearners } from '../../src/governance/deduplication/merge.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import type { MirrorOptions } from './world/mirror.ts';
import { Mirror, Shown } from './world/mirror.ts';

/** Two learners turn out to be one: what every consumer must find afterwards, whatever it had seen before. */

const service = await withService();
const { app } = service;
const why = { actor: 'operator', reason: 'One person' };

const merges = (organisationId: number, from: string, into: string) =>
  service.withUnitOfWork((work) => mergeLearners(work, organisationId, { from, into }, why));

/** As `ars digest verify` looks. */
const digestDiffers = (organisationId: number) => recountDigest(app.db, organisationId);

test('law 1: a merge converges for references, groups and bounded keys', async () => {
  const scene = await scenario(service);
  const { org } = scene;
  const ana = await scene.learner('ana', 'Ana Silva');
  const twin = await scene.learner('twin', 'Ana Silva');
  const group = (ref: string) => scene.group(ref);
  const [hers, other, both, left, gone] = [
    await group('hers'),
    await group('other'),
    await group('both'),
    await group('left'),
    await group('gone'),
  ];
  await hers.adds(ana);
  await other.adds(twin);
  await both.adds(ana, twin);
  await left.adds(ana, twin);
  await gone.adds(ana);
  const maths = await ana.completes();
  const withdrawn = await ana.completes({ subject: 'english' });
  const twins = await twin.completes({ subject: 'digital' });
  const bounded = await org.another({ groupIds: [hers.id, gone.id], subjects: ['maths', 'digital'] });
  const shown = new Shown();
  const bounds = `group_id=${hers.id},${gone.id}&subject=maths,digital`;
  const follow = (query: string, more: Partial<MirrorOptions> = {}) =>
    new Mirror([more.bounds === undefined ? org : bounded], seededRandom(query), shown, {
      path: '/assessments',
      limit: 1,
      manner: 'follow',
      query,
      ...more,
    });
  const byRef = ['ana', 'twin'].map((ref) => follow(`learner_ref=${ref}`));
  const byGroup = [hers, other, both, left, gone].map((one) => follow(`group_id=${one.id}`));
  const mirrors = [
    ...byRef,
    ...byGroup,
    follow(''),
    follow('subject=english,digital', { manner: 'since only', limit: 100 }),
    follow(`group_id=${left.id},${gone.id}`, { limit: 7 }),
    follow(`learner_ref=ana&group_id=${gone.id}`),
    follow('', { path: '/learners' }),
    follow('', { bounds }),
  ];
  for (const mirror of mirrors) await mirror.poll();

  // What nobody has been told of yet when the two become one.
  await left.removes(ana);
  await gone.removes(ana);
  await withdrawn.isWithdrawn();
  const [from, into] = [(await ana.read()).learner_id, (await twin.read()).learner_id];
  const merged = await merges(org.id, from, into);
  assert.deepEqual([merged.results, merged.groups, merged.ref], [1, 1, 'twin']);

  for (const mirror of mirrors) await mirror.assertConverged();
  const ids = new Set([maths.id, twins.id]);
  for (const mirror of byRef)
    assert.deepEqual(new Set(mirror.held.keys()), ids, `law 1: ${mirror.name} lacks results of the learner`);
  const [inHers, inOther, inBoth, inLeft, inGone] = byGroup;
  for (const mirror of [inHers!, inOther!, inBoth!, inLeft!])
    assert.deepEqual(new Set(mirror.held.keys()), ids, `law 1: ${mirror.name} lacks results of the learner`);
  assert.equal(inGone!.held.size, 0);
  assert.deepEqual(await digestDiffers(org.id), []);
  const learners = (await org.get('/learners?limit=500')).body.data;
  assert.deepEqual(
    learners.map((one: any) => [one.learner_id, one.status, one.ref]).sort(),
    [
      [from, 'deleted', undefined],
      [into, 'active', 'twin'],
    ].sort(),
  );
  // Whoever leaves a group now leaves with all results.
  await hers.removes(twin);
  for (const mirror of mirrors) await mirror.assertConverged();
  assert.equal(inHers!.held.size, 0);
  assert.deepEqual(await digestDiffers(org.id), []);
});
