import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { Assessment } from '../../src/records/results/schema.ts';
import { assertPrivate, assertRateHeaders, assertRefused, assertShape } from './support/expect.ts';
import { contractTarget } from './support/target.ts';

const target = await contractTarget();
const {
  data: [listed],
} = (await target.get('/assessments?status=completed&sort=assessed_at&limit=1')).body;
const path = `/assessments/${listed.assessment_id}`;
const unknown = '/assessments/00000000-0000-4000-8000-000000000000';

suite('GET /assessments/{id}', () => {
  test('200: the object of the feed, with its domains', async () => {
    const answer = await target.get(path);
    assert.equal(answer.status, 200, answer.text);
    assertShape(Type.Object({ data: Assessment }), answer.body);
    const { data: fromFeed } = (await target.get(`/assessments?status=completed&sort=assessed_at&limit=1`)).body;
    assert.deepEqual(answer.body.data, fromFeed[0]);
    assertPrivate(answer);
    assertRateHeaders(answer);
    assert.match(answer.headers.etag!, /^W\/"/);
  });

  test('200: the id in any case and spelling, with the one ETag', async () => {
    const plain = await target.get(path);
    for (const spelling of [
      path.toUpperCase().replace('/ASSESSMENTS', '/assessments'),
      path.replace('-', '%2D'),
      path.replace('-', '%2d').toUpperCase().replace('/ASSESSMENTS', '/assessments'),
    ]) {
      const { body, headers } = await target.get(spelling);
      assert.deepEqual(body, plain.body);
      assert.equal(headers.etag, plain.headers.etag);
      assert.equal((await target.get(spelling, { 'if-none-match': plain.headers.etag! })).status, 304);
    }
  });

  test('200: HEAD', async () => {
    const answer = await target.api('HEAD', path);
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '');
  });

  test('304: unchanged', async () => {
    const { etag } = (await target.get(path)).headers;
    assert.equal((await target.get(path, { 'if-none-match': etag! })).status, 304);
    assert.equal((await target.get(path, { 'if-none-match': '*' })).status, 304);
    assert.equal((await target.get(path, { 'if-none-match': '"x"' })).status, 200);
  });

  test('400: unknown parameter', async () =>
    assertRefused(await target.get(`${path}?expand=groups`), 400, 'unknown_parameter'));

  test('404: unknown, malformed, of another organisation, withdrawn, all in the same bytes', async () => {
    const paths = [
      unknown,
      '/assessments/x',
      '/assessments/%00',
      '/assessments/%zz',
      '/assessments/..',
      `${path}x`,
      `/assessments/${listed.assessment_id.replaceAll('-', '')}`,
      '/assessments/1%27%20or%201=1',
    ];
    if (target.local !== null) {
      const { service, foreign, learners } = target.local;
      await foreign.post('/learners', { ref: 'f', full_name: 'Foreign' });
      const { recordResults } = await import('../support/scenario.ts');
      const [id] = await service.withUnitOfWork((work) => recordResults(work, foreign.id, [{ ref: 'f' }]));
      assert.equal((await foreign.get(`/assessments/${id}`)).status, 200);
      const gone = await learners[3]!.completes();
      await gone.isWithdrawn();
      paths.push(`/assessments/${id}`, `/assessments/${gone.id}`);
    }
    const first = await target.get(paths[0]!);
    for (const one of paths) {
      const answer = await target.get(one);
      assertRefused(answer, 404, 'not_found');
      assert.equal(answer.text, first.text, one);
      assert.deepEqual(Object.keys(answer.headers), Object.keys(first.headers), one);
      assertRefused(await target.get(`${one}/report.pdf`), 404, 'not_found');
    }
  });

  test('404: a conditional request is refused all the same', async () =>
    assertRefused(await target.get(unknown, { 'if-none-match': '*' }), 404, 'not_found'));
});
