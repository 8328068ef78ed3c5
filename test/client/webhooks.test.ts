import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { openWebhook, testWebhook, verifyWebhook, WebhookError } from '../../client/src/index.ts';
import type { Vectors } from '../integrations/webhooks/receiving/vectors.ts';
import { vectorsFile } from '../integrations/webhooks/receiving/vectors.ts';
import { verify } from '../integrations/webhooks/receiving/verify.ts';

const { vectors }: Vectors = JSON.parse(readFileSync(vectorsFile, 'utf8'));
const event = {
  event: 'learner.groups.updated',
  learner_ref: 'L',
  added: [],
  removed: [],
  occurred_at: 'now',
} as const;
const now = 1_800_000_000;
const secret = 'whsec_one';

suite("the client's verification", () => {
  for (const { name, verdict, ...given } of vectors) {
    test(`judges the shared vector "${name}"`, async () => {
      const { header, body } = given;
      assert.equal(await verifyWebhook({ secret: given.secret, header, body, now: given.now }), verdict);
      const bytes = new TextEncoder().encode(body);
      assert.equal(
        await verifyWebhook({ secret: ['whsec_x', given.secret], header, body: bytes, now: given.now }),
        verdict,
      );
    });
  }

  test('takes a delivery without a header for malformed', async () => {
    assert.equal(await verifyWebhook({ secret, header: null, body: '' }), 'malformed_header');
  });

  test('never takes a secret that was not set', async () => {
    const body = '{}';
    const header = `t=${now},v1=${createHmac('sha256', '').update(`${now}.${body}`).digest('hex')}`;
    for (const unset of ['', [], [''], undefined as never])
      assert.equal(await verifyWebhook({ secret: unset, header, body, now }), 'no_matching_signature');
  });
});

suite('signed test requests', () => {
  test('verify, by the verifier of the examples as well, on both sides of the tolerance and no further', async () => {
    for (const [age, verdict] of [
      [0, 'valid'],
      [300, 'valid'],
      [-300, 'valid'],
      [301, 'timestamp_too_old'],
      [-301, 'timestamp_in_future'],
    ] as const) {
      const { headers, body } = await testWebhook({ secret, event, now: now - age });
      const header = headers['x-svc-signature-256']!;
      assert.equal(await verifyWebhook({ secret, header, body, now }), verdict);
      const served = () => verify({ secret, header, body, nowMs: now * 1000 });
      if (verdict === 'valid') served();
      else assert.throws(served);
    }
  });

  test('during a rotation, verify with either secret, and with no third', async () => {
    const { headers, body } = await testWebhook({ secret: ['whsec_new', 'whsec_old'], event, now });
    const header = headers['x-svc-signature-256'];
    for (const [mine, verdict] of [
      ['whsec_new', 'valid'],
      ['whsec_old', 'valid'],
      ['whsec_other', 'no_matching_signature'],
    ] as const)
      assert.equal(await verifyWebhook({ secret: mine, header, body, now }), verdict);
  });

  test('with the clock of the machine, if none is given', async () => {
    const { headers, body } = await testWebhook({ secret, event });
    assert.deepEqual(await openWebhook({ secret, header: headers['x-svc-signature-256'], body }), event);
  });

  test('that were changed are refused with the verdict and its usual cause', async () => {
    const { headers, body } = await testWebhook({ secret, event });
    await assert.rejects(
      openWebhook({ secret, header: headers['x-svc-signature-256'], body: `${body} ` }),
      (error: unknown) => error instanceof WebhookError && error.verdict === 'no_matching_signature',
    );
  });
});
