import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { LearnerDetail } from '../../src/records/learners/schema.ts';
import { assertPrivate, assertRefused, assertShape } from './support/expect.ts';
import { contractTarget, freshRef } from './support/target.ts';

const target = await contractTarget();
const { data: learners } = (await target.get('/learners?limit=500')).body;
const tested = learners.find((one: any) => one.ref !== null && one.last_assessed.length > 0);
const path = `/learners/${tested.ref}`;

suite('GET /learners/{ref}', () => {
  test('200: the list item and every completed result, newest first', async () => {
    const answer = await target.get(path);
    assert.equal(answer.status, 200, answer.text);
    assertShape(Type.Object({ data: LearnerDetail }), answer.body);
    assertPrivate(answer);
    const { assessments, ...item } = answer.body.data;
    assert.deepEqual(item, tested);
    assert.ok(assessments.length > 0);
    const { data } = (
      await target.get(`/assessments?status=completed&sort=-assessed_at&limit=500&learner_ref=${tested.ref}`)
    ).body;
    assert.deepEqual(assessments, data);
  });

  test('200: / and : and dots in the reference, as they are and percent-encoded, decoded once', async () => {
    const base = freshRef('P');
    for (const ref of [
      `${base}/b`,
      `${base}/../x`,
      `${base}/./y`,
      `${base}//z`,
      `${base}:1`,
      `${base}.`,
      `${base}/`,
      `${base}/%2F`.replace('%2F', 'members'),
      `${base}${'r'.repeat(100 - base.length)}`,
    ]) {
      const made = await target.post('/learners', { ref, full_name: 'Somebody Else' });
      assert.ok([200, 201].includes(made.status), made.text);
      for (const written of [ref, encodeURIComponent(ref), ref.replaceAll('/', '%2f'), ref.replaceAll('.', '%2E')]) {
        const answer = await target.get(`/learners/${written}`);
        assert.equal(answer.status, 200, written);
        assert.equal(answer.body.data.ref, ref);
      }
      assertRefused(
        await target.get(`/learners/${encodeURIComponent(encodeURIComponent(`${ref}/`))}`),
        404,
        'not_found',
      );
    }
  });

  test('304: unchanged', async () => {
    const { etag } = (await target.get(path)).headers;
    assert.equal((await target.get(path, { 'if-none-match': etag! })).status, 304);
  });

  test('400: unknown parameter', async () =>
    assertRefused(await target.get(`${path}?limit=1`), 400, 'unknown_parameter'));

  test('404: unknown, malformed, shaped like personal data, of another organisation, in the same bytes', async () => {
    const paths = [
      '/learners/nobody-at-all',
      '/learners/ana@example.org',
      '/learners/Ana%20Silva',
      '/learners/AB123456C',
      '/learners/ab-12-34-56-c',
      '/learners/-x',
      '/learners/..',
      '/learners/.',
      '/learners/%zz',
      '/learners/%00',
      '/learners/%C3',
      `/learners/${'a'.repeat(101)}`,
      `/learners/${'a'.repeat(4000)}`,
      '/learners/../health',
    ];
    if (target.local !== null) {
      await target.local.foreign.post('/learners', { ref: 'theirs', full_name: 'Foreign' });
      assert.equal((await target.local.foreign.get('/learners/theirs')).status, 200);
      paths.push('/learners/theirs');
    }
    const first = await target.get(paths[0]!);
    for (const one of paths) {
      const answer = await target.get(one);
      assertRefused(answer, 404, 'not_found');
      assert.equal(answer.text, first.text, one);
    }
  });
});
