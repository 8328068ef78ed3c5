import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { systemClock } from '../../../../src/platform/time/clock.ts';
import { readAudit } from '../../../../src/platform/audit/read.ts';
import { limits } from '../../../../src/platform/config/limits.ts';
import { setProvider } from '../../../../src/organisations/users/single-sign-on.ts';
import { withService } from '../../../support/service.ts';
import { startReceiver, trustTestAuthority } from '../../../integrations/webhooks/receiver.ts';
import { password, personOf, visitor } from '../visitor.ts';

/** What an organisation's provider is asked by people who needn't be known to anybody. */

trustTestAuthority();
let laterMs = 0;
const service = await withService({
  own: 'Moves the clock.',
  settings: { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8, ::1/128' },
  clock: { ...systemClock, nowMs: () => systemClock.nowMs() + laterMs },
});
let answers = true;
const provider = await startReceiver({
  behaviour({ path }, reply) {
    const said = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
    };
    const status = path === '/token' ? 400 : answers ? 200 : 503;
    const body = path === '/token' ? { error: 'invalid_grant' } : said;
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  },
});
const issuer = `https://localhost:${provider.port}`;
after(() => provider.close());
const asked = (path: RegExp) => provider.received.filter((one) => path.test(one.path)).length;
const typed = { 'sec-fetch-site': 'none' };

async function organisation() {
  const org = await service.organisation();
  const settings = { issuer, client_id: org.publicId, client_secret: 's', tenant: null };
  await service.withUnitOfWork((work) => setProvider(work, org.id, settings));
  return { org, path: `/console/sso/sign-in/${org.publicId}` };
}

suite('a provider', () => {
  test('is asked once what it says of itself, however many sign in, and again after some minutes', async () => {
    const { path } = await organisation();
    const before = asked(/openid-configuration/);
    const many = () => Promise.all(Array.from({ length: 20 }, () => visitor(service).get(path, typed)));
    for (const left of await many()) assert.equal(left.status, 303, left.text);
    await many();
    assert.equal(asked(/openid-configuration/) - before, 1);
    laterMs += limits.providerKeptMs;
    await many();
    assert.equal(asked(/openid-configuration/) - before, 2);
  });

  test('that fails is left alone for some seconds, and then asked again', async () => {
    const { path } = await organisation();
    const before = asked(/openid-configuration/);
    answers = false;
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push((await visitor(service).get(path, typed)).status);
    assert.deepEqual([statuses, asked(/openid-configuration/) - before], [[502, 502, 502, 502, 502], 1]);
    answers = true;
    laterMs += limits.providerFailedMs;
    assert.equal((await visitor(service).get(path, typed)).status, 303);
  });

  test('is asked about no more returns of one address that come to nothing than sign-ins may fail', async () => {
    const { org, path } = await organisation();
    const one = visitor(service);
    const before = asked(/token/);
    const statuses = new Map<number, number>();
    for (let i = 0; i < limits.signInReturnsPerAddress + 20; i++) {
      const state = new URL((await one.get(path, typed)).headers.location!).searchParams.get('state')!;
      const { status, headers } = await one.get(`/console/sso/callback?code=x&state=${state}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) assert.ok(Number(headers['retry-after']) > 0);
    }
    assert.deepEqual([asked(/token/) - before, statuses.get(429)], [limits.signInReturnsPerAddress, 20]);
    const failures: string[] = [];
    for await (const { action, status, detail } of readAudit(service.app, 0, null, null))
      if (action === 'GET /console/sso/callback') failures.push(`${status} ${detail}`);
    const count = (line: string) => failures.filter((one) => one === line).length;
    assert.equal(count('403 {"code":"identity_provider"}'), statuses.get(403));
    assert.equal(count('429 {"code":"too_many_attempts"}'), 20);
    // Passwords have a count of their own: an owner can repair what is wrong.
    const owner = await personOf(service, org.id, 'owner');
    const signed = await visitor(service).post('/console/sign-in', { email: owner.email, password });
    assert.equal(signed.status, 303);
  });
});
