import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { manualClock } from '../platform/time/manual-clock.ts';
import { revokeKey } from '../../src/integrations/access-keys/keys.ts';
import { suspendOrganisation } from '../../src/governance/offboarding/suspend.ts';
import { limits } from '../../src/platform/config/limits.ts';
import type { Answer } from '../contract/support/client.ts';
import { ask, credentials } from '../contract/support/client.ts';
import { assertRefused } from '../contract/support/expect.ts';
import type { TestOrganisation } from '../support/service.ts';
import { withService } from '../support/service.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });

suite('keys', () => {
  test('several are active at once, so that they can be rotated', async () => {
    const org = await service.organisation();
    const second = await org.another();
    assert.equal((await org.get('/health')).status, 200);
    assert.equal((await second.get('/health')).status, 200);
    await service.withUnitOfWork((work) => revokeKey(work, org.id, org.key.access_key_id));
    assertRefused(await org.get('/health'), 401, 'invalid_credentials');
    assert.equal((await second.get('/health')).status, 200);
  });

  test('a revocation is effective with the next request, in every process', async () => {
    const sibling = await service.sibling();
    const org = await service.organisation();
    const there = sibling.client(org.key);
    assert.equal((await there.get('/health')).status, 200);
    await service.withUnitOfWork((work) => revokeKey(work, org.id, org.key.access_key_id));
    assertRefused(await there.get('/health'), 401, 'invalid_credentials');
  });

  test('a change whose body was long in coming is refused if the key was revoked meanwhile', async () => {
    const slow = async (org: TestOrganisation, meanwhile: () => Promise<unknown>) => {
      const body = JSON.stringify({ type: 'cohort', ref: 'C-1', name: 'Cohort' });
      const { hostname, port } = new URL(service.url);
      const socket = connect(Number(port), hostname);
      const answer = text(socket);
      const head = Object.entries({
        host: 'x',
        connection: 'close',
        ...credentials(org.key),
        'content-type': 'application/json',
        'content-length': body.length,
      }).map(([name, value]) => `${name}: ${value}`);
      socket.write(`POST /api/v1/groups HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`);
      // Let in: its key has counted one request more than those that are asked here.
      for (let asked = 1; ; asked++) {
        const left = Number(/r=(\d+)/.exec((await org.get('/health')).headers.ratelimit!)![1]);
        if (left < service.app.settings.rateLimit - asked) break;
      }
      clock.advance(limits.admittedMs);
      await meanwhile();
      socket.write(body.slice(5));
      return Number(/^HTTP\/1\.1 (\d{3})/.exec(await answer)?.[1]);
    };
    const org = await service.organisation();
    assert.equal(await slow(org, async () => {}), 201);
    const other = await service.organisation();
    const second = await other.another();
    const revoke = () => service.withUnitOfWork((work) => revokeKey(work, other.id, other.key.access_key_id));
    assert.equal(await slow(other, revoke), 401);
    assert.deepEqual((await second.get('/groups')).body.data, []);
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

  test('only a pair that would be let in is told that its organisation is suspended', async () => {
    const org = await service.organisation();
    const [revoked, ended, elsewhere] = [
      await org.another(),
      await org.another({ expiresAt: new Date(clock.nowMs() + 1000) }),
      await org.another({ networks: ['192.0.2.0/24'] }),
    ];
    await service.withUnitOfWork(async (work) => {
      await revokeKey(work, org.id, revoked.key.access_key_id);
      await suspendOrganisation(work, org.id, 'a test');
    });
    clock.advance(1000);
    const said = async (of: { get(path: string): Promise<Answer> }) => (await of.get('/health')).body.error.message;
    const unknown = await said(service.client({ ...org.key, secret_access_key: 'guess' }));
    assert.match(await said(org), /suspended/);
    for (const one of [revoked, ended, elsewhere]) assert.equal(await said(one), unknown);
  });

  test("another organisation can't revoke it", async () => {
    const [org, other] = [await service.organisation(), await service.organisation()];
    assert.equal(await service.withUnitOfWork((work) => revokeKey(work, other.id, org.key.access_key_id)), false);
    assert.equal((await org.get('/health')).status, 200);
  });

  test('secrets are stored as hashes only', async () => {
    const org = await service.organisation();
    const rows = await service.app.db.query('select to_jsonb(k)::text as row from access_key k');
    for (const { row } of rows) assert.ok(!row.includes(org.key.secret_access_key));
  });
});

test('pages of other origins are allowed nothing: no reply has a CORS header, and OPTIONS is no preflight', async () => {
  const org = await service.organisation();
  const headers = {
    origin: 'https://platform.example',
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'x-access-key-id,x-secret-access-key',
  };
  const preflight = await ask(service.url, 'OPTIONS', '/api/v1/assessments', { headers });
  assertRefused(preflight, 401, 'invalid_credentials');
  const named = await org.api('OPTIONS', '/assessments', { headers });
  assertRefused(named, 405, 'method_not_allowed');
  const read = await org.get('/assessments', headers);
  assert.equal(read.status, 200);
  for (const answer of [preflight, named, read])
    assert.deepEqual(
      Object.keys(answer.headers).filter((name) => name.startsWith('access-control-')),
      [],
    );
});

suite('failed attempts', () => {
  test("are throttled by address, without touching any key's quota, and valid credentials pass", async () => {
    const own = await withService({ own: 'Moves the clock.', clock });
    const org = await own.organisation();
    const guess = own.client({ ...org.key, secret_access_key: 'guess' });
    for (let i = 0; i < limits.failedAttempts; i++)
      assertRefused(await guess.get('/health'), 401, 'invalid_credentials');
    const throttled = await guess.get('/health');
    assertRefused(throttled, 429, 'rate_limited');
    assert.match(throttled.headers['retry-after']!, /^\d+$/);
    assert.equal(throttled.headers.ratelimit, undefined);
    assert.match((await org.get('/health')).headers.ratelimit!, /r=299;/);
    clock.advance(Number(throttled.headers['retry-after']) * 1000);
    assertRefused(await guess.get('/health'), 401, 'invalid_credentials');
  });
});
