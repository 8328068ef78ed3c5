import { test } from 'node:test';
import assert from 'node:assert/strict';
import { withService } from '../../support/service.ts';

test('the probe answers without credentials, and says nothing of any organisation', async () => {
  const service = await withService({ own: 'Is stopped.' });
  try {
    const reply = await fetch(`${service.url}/healthz`);
    assert.equal(reply.status, 200);
    assert.deepEqual(await reply.json(), { status: 'ok' });
    // Many probes ask without wanting the body.
    const head = await fetch(`${service.url}/healthz`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(await head.text(), '');
  } finally {
    await service.stop();
  }
});
