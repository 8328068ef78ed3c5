import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../src/clock.ts';
import { revokeKey } from '../../src/keys/keys.ts';
import { limits } from '../../src/limits.ts';
import { assertRefused } from '../contract/expect.ts';
import { withService } from '../service.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ clock });

suite('keys', () => {
  test('several are active at once, so that they can be rotated', async () => {
    const org = await service.organisation();
    const second = await org.another();
    assert.equal((await org.get('/health')).status, 200);
    assert.equal((await second.get('/health')).status, 200);
    await service.inWork((work) => revokeKey(work, org.id, org.key.access_key_id));
    assertRefused(await org.get('/health'), 401, 'invalid_credentials');
    assert.equal((await second.get('/health')).status, 200);
  });

  test('a revocation is effective with the next request, in every process', async () => {
    const sibling = await service.sibling();
    const org = await service.organisation();
    const there = sibling.client(org.key);
    assert.equal((await there.get('/health')).status, 200);
    await service.inWork((work) => revokeKey(work, org.id, org.key.access_key_id));
    assertRefused(await there.get('/health'), 401, 'invalid_credentials');
  });

  test('a key ends at its time', async () => {
    const org = await service.organisation();
    const key = await org.another({ expiresAt: new Date(clock.nowMs() + 1000) });
    assert.equal((await key.get('/health')).status, 200);
    clock.advance(999);
    assert.equal((await key.get('/health')).status, 200);
    clock.advance(1);
    assertRefused(await key.get('/health'), 401, 'invalid_credentials');
  });

  test("another organisation can't revoke it", async () => {
    const [org, other] = [await service.organisation(), await service.organisation()];
    assert.equal(await service.inWork((work) => revokeKey(work, other.id, org.key.access_key_id)), false);
    assert.equal((await org.get('/health')).status, 200);
  });

  test('secrets are stored as hashes only', async () => {
    const org = await service.organisation();
    const rows = await service.app.db.query('select to_jsonb(k)::text as row from access_key k');
    for (const { row } of rows) assert.ok(!row.includes(org.key.secret_access_key));
  });
});

suite('failed attempts', () => {
  test("are throttled by address, without touching any key's quota, and valid credentials pass", async () => {
    const own = await withService({ clock });
    const org = await own.organisation();
    const guess = own.client({ ...org.key, secret_access_key: 'guess' });
    for (let i = 0; i < limits.failedAttempts; i++)
      assertRefused(await guess.get('/health'), 401, 'invalid_credentials');
    const throttled = await guess.get('/health');
    assertRefused(throttled, 429, 'rate_limited');
    assert.match(throttled.headers['retry-after']!, /^\d+$/);
    assert.match((await org.get('/health')).headers.ratelimit!, /r=299;/);
    clock.advance(Number(throttled.headers['retry-after']) * 1000);
    assertRefused(await guess.get('/health'), 401, 'invalid_credentials');
  });
});
