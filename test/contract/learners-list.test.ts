import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Learner } from '../../src/records/learners/schema.ts';
import { assertList, assertRefused, assertShape, under } from './support/expect.ts';
import { contractTarget, freshRef } from './support/target.ts';

const target = await contractTarget();

suite('GET /learners', () => {
  test('200: learners with their newest results and active groups', async () => {
    const answer = await target.get('/learners');
    assertList(answer, 100);
    assert.ok(answer.body.data.length > 0);
    for (const learner of answer.body.data) {
      assertShape(Learner, learner);
      const dates = learner.last_assessed.map((one: any) => one.assessed_at).sort();
      assert.equal(learner.last_assessed_at, dates.at(-1) ?? null);
      const subjects = learner.last_assessed.map((one: any) => one.subject);
      assert.equal(new Set(subjects).size, subjects.length);
    }
    const stamps = answer.body.data.map((learner: any) => learner.updated_at);
    assert.deepEqual(stamps, [...stamps].sort());
  });

  test('200: the newest result of each subject is that of the feed', async () => {
    const { data } = (await target.get('/learners?limit=20')).body;
    for (const learner of data.filter((one: any) => one.ref !== null)) {
      const { data: results } = (
        await target.get(
          `/assessments?status=completed&sort=-assessed_at&limit=500&learner_ref=${encodeURIComponent(learner.ref)}`,
        )
      ).body;
      for (const last of learner.last_assessed) {
        const newest = results.find((one: any) => one.subject === last.subject);
        assert.deepEqual(last, Object.fromEntries(Object.keys(last).map((key) => [key, newest[key]])));
      }
      assert.equal(learner.last_assessed.length, new Set(results.map((one: any) => one.subject)).size);
    }
  });

  test('200: the learner of a result is named by the learner_id of the learner', async () => {
    const { data } = (await target.get('/assessments?status=completed&limit=50')).body;
    assert.ok(data.length > 0);
    for (const { learner } of data.filter((one: any) => one.learner.ref !== null).slice(0, 5)) {
      const { body } = await target.get(`/learners/${encodeURIComponent(learner.ref)}`);
      assert.equal(body.data.learner_id, learner.learner_id);
      for (const one of body.data.assessments) assert.equal(one.learner.learner_id, learner.learner_id);
    }
  });

  test('200: a learner without a result is listed', async () => {
    const ref = freshRef('no-result');
    const made = await target.post('/learners', { ref, full_name: 'Nobody Yet' });
    assert.ok([200, 201].includes(made.status), made.text);
    const since = (await target.get(`/learners/${ref}`)).body.data.updated_at;
    const found = (await target.get(`/learners?since=${since}`)).body.data.find((one: any) => one.ref === ref);
    assert.deepEqual(
      { ...found, updated_at: undefined },
      {
        learner_id: made.body.data.learner_id,
        status: 'active',
        ref,
        full_name: 'Nobody Yet',
        last_assessed_at: null,
        last_assessed: [],
        groups: [],
        updated_at: undefined,
      },
    );
  });

  for (const [given, limit] of [
    ['1', 1],
    ['500', 500],
    ['501', 500],
    ['0', 1],
    ['x', 100],
    ['', 100],
  ] as const) {
    test(`200: limit=${given} means ${limit}`, async () =>
      assertList(await target.get(`/learners?limit=${given}`), limit));
  }

  test('200: next goes on where the page ended', async () => {
    const first = await target.get('/learners?limit=2&since=2001-01-01T00:00:00Z');
    assertList(first, 2);
    assert.deepEqual([...new URL(first.body.pagination.next).searchParams.keys()].sort(), ['cursor', 'limit', 'since']);
    const second = await target.get(under(first.body.pagination.next));
    assertList(second, 2);
    assert.notDeepEqual(second.body.data, first.body.data);
  });

  test('200: a future since is empty', async () =>
    assert.deepEqual((await target.get('/learners?since=2999-01-01T00:00:00Z')).body.data, []));

  test('304: unchanged', async () => {
    const { etag } = (await target.get('/learners?limit=3')).headers;
    assert.equal((await target.get('/learners?limit=3', { 'if-none-match': etag! })).status, 304);
    assert.equal((await target.get('/learners?limit=4', { 'if-none-match': etag! })).status, 200);
  });

  test('400: unknown_parameter', async () => {
    for (const query of [
      'subject=maths',
      'learner_ref=a',
      'sort=updated_at',
      'full_name=Ana',
      'email=a%40example.org',
      'active=true',
    ]) {
      assertRefused(await target.get(`/learners?${query}`), 400, 'unknown_parameter');
    }
  });

  test('400: invalid_since, before invalid_cursor', async () => {
    for (const query of [
      'since=',
      'since=2026-01-01',
      'since=x&cursor=y',
      'cursor=&since=x',
      'since=2026-01-01T00:00:00Z&since=2026-01-01T00:00:00Z',
    ]) {
      assertRefused(await target.get(`/learners?${query}`), 400, 'invalid_since');
    }
  });

  test('400: invalid_cursor, also for a cursor of another list', async () => {
    const { next } = (await target.get('/assessments?limit=1')).body.pagination;
    for (const cursor of ['', 'x', new URL(next).searchParams.get('cursor')])
      assertRefused(await target.get(`/learners?cursor=${cursor}`), 400, 'invalid_cursor');
  });
});
