import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertRateHeaders, assertRefused } from './support/expect.ts';
import { contractTarget } from './support/target.ts';

const target = await contractTarget();

suite('GET /health', () => {
  test('200: who asks, and the version', async () => {
    const answer = await target.get('/health');
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.body), ['status', 'organisation_id', 'api_version']);
    assert.equal(answer.body.status, 'ok');
    assert.equal(answer.body.api_version, 'v1');
    assert.match(answer.body.organisation_id, /^[0-9a-f-]{36}$/);
    if (target.local !== null) assert.equal(answer.body.organisation_id, target.local.org.publicId);
    assertRateHeaders(answer);
  });

  test('400: unknown parameter', async () =>
    assertRefused(await target.get('/health?verbose=1'), 400, 'unknown_parameter'));
});
