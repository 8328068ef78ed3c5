import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { deliveryHeaders, sign } from '../../../../src/integrations/webhooks/http/signing.ts';
import { verify } from '../receiving/verify.ts';

const secret = 'whsec_c2VjcmV0';
const nowMs = 1_767_225_600_000;
const body = '{"event":"assessment.completed"}';

suite('signing', () => {
  test('signs with every secret, the newest first, and with the newest alone in the legacy header', () => {
    const both = sign({ secrets: ['whsec_new', 'whsec_old'], body, nowMs });
    const [newest, old] = ['whsec_new', 'whsec_old'].map((one) => sign({ secrets: [one], body, nowMs }));
    assert.equal(both['X-Svc-Signature'], newest!['X-Svc-Signature']);
    assert.equal(
      both['X-Svc-Signature-256'],
      `${newest!['X-Svc-Signature-256']},${old!['X-Svc-Signature-256'].split(',')[1]}`,
    );
    for (const one of ['whsec_new', 'whsec_old'])
      assert.equal(verify({ secret: one, header: both['X-Svc-Signature-256'], body, nowMs }), nowMs / 1_000);
  });

  test('needs a secret', () => assert.throws(() => sign({ secrets: [], body, nowMs }), RangeError));

  test('signs anew at each attempt while the delivery id stays', () => {
    const headers = (atMs: number) => deliveryHeaders({ deliveryId: 'd', secrets: [secret], body, nowMs: atMs });
    const [first, later] = [headers(nowMs), headers(nowMs + 86_400_000)];
    assert.equal(first['X-Svc-Delivery-Id'], later['X-Svc-Delivery-Id']);
    assert.notEqual(first['X-Svc-Signature-256'], later['X-Svc-Signature-256']);
    verify({ secret, header: later['X-Svc-Signature-256'], body, nowMs: nowMs + 86_400_000 });
  });

  test('is verified for any secret, body and time, as text or bytes, and not a byte beside', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.string({ unit: 'grapheme' }),
        fc.nat(),
        fc.integer({ min: -300, max: 300 }),
        (key, text, second, skew) => {
          const header = sign({ secrets: [key], body: text, nowMs: second * 1_000 })['X-Svc-Signature-256'];
          const atMs = (second + skew) * 1_000;
          assert.equal(verify({ secret: key, header, body: Buffer.from(text), nowMs: atMs }), second);
          assert.throws(() => verify({ secret: key, header, body: `${text}x`, nowMs: atMs }), /no_matching_signature/);
          assert.throws(() => verify({ secret: `${key}x`, header, body: text, nowMs: atMs }), /no_matching_signature/);
        },
      ),
    );
  });
});
