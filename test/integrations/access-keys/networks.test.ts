import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { findKey, listKeys } from '../../../src/integrations/access-keys/keys.ts';
import { usesOf } from '../../../src/integrations/access-keys/key-uses.ts';
import { assertRefused } from '../../contract/support/expect.ts';
import { withService } from '../../support/service.ts';

/** Where a key may be used from, and where it was. The tests stand behind a proxy that names the caller. */

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({
  own: 'Moves the clock.',
  clock,
  settings: { ARS_TRUSTED_PROXIES: '127.0.0.1', ARS_RATE_LIMIT: '20' },
});
const from = (address: string) => ({ 'x-forwarded-for': address });

suite('networks of a key', () => {
  test('elsewhere it looks like a key that is unknown, and what is tried there uses nothing up', async () => {
    const org = await service.organisation();
    const key = await org.another({ networks: ['203.0.113.0/24', '2001:db8::/32'] });
    for (const inside of ['203.0.113.9', '2001:db8:1::7', '::ffff:203.0.113.200', '[2001:db8::1]:443'])
      assert.equal((await key.get('/health', from(inside))).status, 200, inside);
    const wrong = { ...key.key, secret_access_key: 'guess' };
    for (const outside of ['203.0.114.1', '192.0.2.1', '2001:db9::1', 'not an address', '10.0.0.1, 192.0.2.1']) {
      const answer = await key.get('/health', from(outside));
      assertRefused(answer, 401, 'invalid_credentials');
      assert.equal(answer.text, (await service.client(wrong).get('/health', from(outside))).text);
    }
    assert.match((await key.get('/health', from('203.0.113.9'))).headers.ratelimit!, /r=15;/);
    // Without networks it works from anywhere.
    assert.equal((await org.get('/health', from('198.51.100.1'))).status, 200);
  });

  test('a poll that is repeated from elsewhere is refused, too', async () => {
    const org = await service.organisation();
    const key = await org.another({ networks: ['203.0.113.0/24'] });
    const { etag } = (await key.get('/assessments', from('203.0.113.9'))).headers;
    const poll = (address: string) => key.get('/assessments', { ...from(address), 'if-none-match': etag! });
    for (let i = 0; i < 3; i++) assert.equal((await poll('203.0.113.9')).status, 304);
    assertRefused(await poll('203.0.114.9'), 401, 'invalid_credentials');
    assert.equal((await poll('203.0.113.10')).status, 304);
  });

  test('what comes from many addresses at once is counted together, exactly', async () => {
    const org = await service.organisation();
    const { etag } = (await org.get('/assessments')).headers;
    await org.get('/assessments', { 'if-none-match': etag! });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        org.get('/assessments', { ...from(`192.0.2.${n}`), ...(n % 2 === 0 ? { 'if-none-match': etag! } : {}) }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 429).length, 22);
    const left = answers.filter(({ status }) => status !== 429).map(({ headers }) => headers.ratelimit);
    assert.equal(new Set(left).size, 18);
  });
});

suite('the last use of a key', () => {
  test('is known with its time, network and client; of many places the latest are kept', async () => {
    const org = await service.organisation();
    const { access_key_id: keyId } = org.key;
    assert.equal((await findKey(service.app.db, org.id, keyId))!.last_used_ms, null);
    await org.get('/health', { ...from('203.0.113.77'), 'user-agent': 'sync-client/2.1 (Ana Silva; AB 12 34 56 C)' });
    clock.advance(1000);
    await org.get('/health', { ...from('2001:db8:7:1::9'), 'user-agent': '<script>' });
    const usedMs = clock.nowMs();
    clock.advance(60_000);
    for (let n = 0; n < 19; n++) await org.get('/health', { ...from('198.51.100.1'), 'user-agent': `tool/${n}` });
    await service.restart();
    const [key] = await listKeys(service.app.db, org.id);
    assert.deepEqual([key!.last_used_ms, key!.last_network], [clock.nowMs(), '198.51.100.0/24']);
    const places = await usesOf(service.app.db, org.id, keyId);
    assert.equal(places.length, 20);
    assert.deepEqual(places.at(-1), {
      network: '2001:db8:7::/48',
      client: '',
      first_at: new Date(usedMs),
      last_at: new Date(usedMs),
    });
    assert.ok(!JSON.stringify(places).includes('Ana'));
  });
});
