import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../platform/time/manual-clock.ts';
import { withService } from '../support/service.ts';

const dayMs = 86_400_000;

suite('/.well-known/security.txt', async () => {
  const clock = manualClock(Date.UTC(2026, 10, 23, 12));
  const contact = 'mailto:security@example.org';
  const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_SECURITY_CONTACT: contact } });
  const path = '/.well-known/security.txt';

  test('says whom to tell, and is valid for half a year whenever it is asked for', async () => {
    for (const years of [0, 1, 5]) {
      clock.set(Date.UTC(2026 + years, 10, 23, 12));
      const reply = await fetch(service.url + path);
      assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
      const fields = new Map((await reply.text()).split('\n').map((line) => line.split(/: (.*)/) as [string, string]));
      assert.deepEqual([fields.get('Contact'), fields.get('Canonical')], [contact, service.url + path]);
      const days = (Date.parse(fields.get('Expires')!) - clock.nowMs()) / dayMs;
      assert.ok(days > 180 && days < 365, String(days));
    }
  });

  test('is not there where nobody said whom to tell', async () => {
    const without = await withService();
    assert.equal((await fetch(without.url + path)).status, 404);
  });
});
