import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertRateHeaders, assertRefused } from './support/expect.ts';
import { contractTarget, freshRef } from './support/target.ts';

const target = await contractTarget();
const withKey = (path: string, body: unknown, key: string) => target.post(path, body, { 'idempotency-key': key });

suite('Idempotency-Key', () => {
  test('POST /learners: the first reply again, and nothing twice', async () => {
    const key = freshRef('key');
    const body = { full_name: 'No Reference' };
    const first = await withKey('/learners', body, key);
    assert.equal(first.status, 201);
    const before = (await target.get('/learners')).headers.etag;
    const again = await withKey('/learners', body, key);
    assert.equal(again.status, 201);
    assert.equal(again.text, first.text);
    assert.equal(again.headers['idempotency-replayed'], 'true');
    assert.equal(first.headers['idempotency-replayed'], undefined);
    assert.equal((await target.get('/learners')).headers.etag, before);
    assertRateHeaders(again);
  });

  test('POST /groups: 201 stays 201', async () => {
    const key = freshRef('key');
    const body = { type: 'cohort', ref: freshRef('G'), name: 'A group' };
    for (let i = 0; i < 3; i++) assert.equal((await withKey('/groups', body, key)).status, 201);
    assert.equal((await target.post('/groups', body)).status, 200);
  });

  test('POST /webhooks: the same endpoint with the same secret', async () => {
    const key = freshRef('key');
    const body = { url: 'https://portfolio.example.org/idempotent' };
    const [first, again] = [await withKey('/webhooks', body, key), await withKey('/webhooks', body, key)];
    assert.equal(first.status, 201);
    assert.match(first.body.data.secret, /^whsec_/);
    assert.equal(again.text, first.text);
    assert.equal((await target.delete(`/webhooks/${first.body.data.id}`)).status, 204);
  });

  test('POST /groups/{id}/members: what was added stays added in the replay', async () => {
    const ref = freshRef('member');
    await target.post('/learners', { ref, full_name: 'A Member' });
    const { id } = (await target.post('/groups', { type: 'cohort', ref: freshRef('G'), name: 'A group' })).body.data;
    const key = freshRef('key');
    for (let i = 0; i < 2; i++)
      assert.deepEqual((await withKey(`/groups/${id}/members`, { learner_refs: [ref] }, key)).body.added, [ref]);
  });

  test('422: idempotency_mismatch, for another body or another path', async () => {
    const key = freshRef('key');
    const body = { type: 'cohort', ref: freshRef('G'), name: 'A group' };
    await withKey('/groups', body, key);
    assertRefused(await withKey('/groups', { ...body, name: 'Another' }, key), 422, 'idempotency_mismatch');
    assertRefused(await withKey('/learners', { full_name: 'Some One' }, key), 422, 'idempotency_mismatch');
    assert.equal((await withKey('/groups', body, key)).status, 201);
  });

  test('refusals by a rule are replayed too', async () => {
    const key = freshRef('key');
    const body = { url: 'https://portfolio.example.org/', group_ids: ['00000000-0000-4000-8000-000000000000'] };
    const first = await withKey('/webhooks', body, key);
    assertRefused(first, 422, 'unknown_group');
    const again = await withKey('/webhooks', body, key);
    assert.equal(again.text, first.text);
    assert.equal(again.headers['idempotency-replayed'], 'true');
  });

  test('at once: one does it, the others are told the same or to wait', async () => {
    const key = freshRef('key');
    const body = { full_name: 'Only One' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => withKey('/learners', body, key)));
    const done = answers.filter((answer) => answer.status === 201);
    assert.ok(done.length >= 1);
    assert.equal(new Set(done.map((answer) => answer.text)).size, 1);
    for (const answer of answers.filter((one) => one.status !== 201)) {
      assertRefused(answer, 409, 'idempotency_conflict');
      assert.equal(answer.headers['retry-after'], '1');
    }
  });

  test('422: invalid_idempotency_key', async () => {
    for (const key of ['', ' ', 'k'.repeat(256), 'caf\u00e9', 'AB123456C']) {
      assertRefused(
        await withKey('/groups', { type: 'cohort', ref: 'x', name: 'x' }, key),
        422,
        'invalid_idempotency_key',
      );
    }
    assert.equal(
      (
        await withKey(
          '/groups',
          { type: 'cohort', ref: freshRef('G'), name: 'x' },
          `${freshRef('k')}${'k'.repeat(255)}`.slice(0, 255),
        )
      ).status,
      201,
    );
  });

  test(
    'a key belongs to its organisation',
    { skip: target.local === null && 'needs another organisation' },
    async () => {
      const key = freshRef('key');
      const body = { type: 'cohort', ref: 'MINE', name: 'Mine' };
      const mine = await withKey('/groups', body, key);
      const theirs = await target.local!.foreign.post(
        '/groups',
        { ...body, name: 'Theirs' },
        { 'idempotency-key': key },
      );
      assert.equal(theirs.status, 201);
      assert.notEqual(theirs.body.data.id, mine.body.data.id);
    },
  );

  test(
    'a key that is used again by another key pair of the organisation replays',
    { skip: target.local === null && 'needs another key pair' },
    async () => {
      const key = freshRef('key');
      const body = { type: 'cohort', ref: freshRef('G'), name: 'Shared' };
      const mine = await withKey('/groups', body, key);
      const again = await (await target.local!.org.another()).post('/groups', body, { 'idempotency-key': key });
      assert.equal(again.text, mine.text);
    },
  );

  test('GET and PATCH take no notice of it', async () => {
    assert.equal((await target.get('/groups', { 'idempotency-key': 'x' })).status, 200);
  });
});
