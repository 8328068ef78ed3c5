import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  deliveryHeaders,
  sign,
  SignatureError,
  testHeader,
  verify,
  type RefusalCode,
} from '../../src/webhooks/signing.ts';

const secret = 'whsec_c2VjcmV0';
const nowMs = 1_767_225_600_000;
const body = '{"event":"assessment.completed"}';
const genuine = testHeader({ secret, body, nowMs });

function refused(changes: Partial<Parameters<typeof verify>[0]>, code: RefusalCode, cause: RegExp): void {
  assert.throws(
    () => verify({ secret, header: genuine, body, nowMs, ...changes }),
    (error) => {
      assert.ok(error instanceof SignatureError);
      assert.equal(error.code, code);
      assert.match(error.message, cause);
      return true;
    },
  );
}

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
          const header = testHeader({ secret: key, body: text, nowMs: second * 1_000 });
          const atMs = (second + skew) * 1_000;
          assert.equal(verify({ secret: key, header, body: Buffer.from(text), nowMs: atMs }), second);
          assert.throws(() => verify({ secret: key, header, body: `${text}x`, nowMs: atMs }), SignatureError);
          assert.throws(() => verify({ secret: `${key}x`, header, body: text, nowMs: atMs }), SignatureError);
        },
      ),
    );
  });
});

suite('a refusal names the likely cause:', () => {
  test('header missing', () => {
    refused({ header: undefined }, 'malformed_header', /missing/);
    refused({ header: null }, 'malformed_header', /missing/);
  });
  test('legacy header passed', () =>
    refused({ header: sign({ secrets: [secret], body, nowMs })['X-Svc-Signature'] }, 'malformed_header', /legacy/));
  test('two times', () => refused({ header: `t=1,${genuine}` }, 'malformed_header', /more than one t=/));
  test('time not in seconds', () => refused({ header: `t=${nowMs},v1=00` }, 'malformed_header', /whole seconds/));
  test('secret without its prefix', () => refused({ secret: secret.slice(6) }, 'no_matching_signature', /whsec_/));
  test('secret with a line break', () =>
    refused({ secret: `${secret}\n` }, 'no_matching_signature', /white space around/));
  test('line break added to the body', () =>
    refused({ body: `${body}\n` }, 'no_matching_signature', /White space was added/));
  test('another secret, or a body written again', () =>
    refused({ body: '{ "event": "assessment.completed" }' }, 'no_matching_signature', /another endpoint.*raw bytes/));
  test('MAC of the body alone', () =>
    refused(
      { header: `t=${nowMs / 1_000},v1=${sign({ secrets: [secret], body, nowMs })['X-Svc-Signature']}` },
      'no_matching_signature',
      /legacy/,
    ));
  test('too old', () => refused({ nowMs: nowMs + 301_000 }, 'timestamp_too_old', /301 s old/));
  test('in the future', () =>
    refused({ nowMs: nowMs - 301_000 }, 'timestamp_in_future', /301 s in the future.*behind/));
  test('another tolerance', () =>
    refused({ nowMs: nowMs + 11_000, toleranceSeconds: 10 }, 'timestamp_too_old', /10 s are tolerated/));
  test('a parsed body', () => {
    assert.throws(() => verify({ secret, header: genuine, body: JSON.parse(body), nowMs }), /raw bytes/);
  });
  test('and never the secret or the expected MAC', () => {
    const header = `t=${nowMs / 1_000},v1=${'0'.repeat(64)}`;
    assert.throws(
      () => verify({ secret, header, body, nowMs }),
      (error: Error) => !error.message.includes(secret) && !/[0-9a-f]{64}/.test(error.message),
    );
  });
});
