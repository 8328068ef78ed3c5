import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { verifyWebhook } from '../../../../examples/webhooks/typescript/verify.ts';
import { sign } from '../../../../src/integrations/webhooks/http/signing.ts';
import { vectorsFile, vectorsText, type Vectors } from './vectors.ts';

const { vectors, legacy }: Vectors = JSON.parse(readFileSync(vectorsFile, 'utf8'));
const expected = vectors.map(({ name, verdict }) => `${name}: ${verdict}`);
const judged = (verdicts: string[]): string[] => vectors.map(({ name }, index) => `${name}: ${verdicts[index]}`);

suite('the shared vectors', () => {
  test('are what test/integrations/webhooks/receiving/vectors.ts makes', () =>
    assert.equal(readFileSync(vectorsFile, 'utf8'), vectorsText()));

  test('hold the headers that the service itself would send', () => {
    const [genuine] = vectors;
    assert.equal(
      sign({ secrets: [genuine!.secret], body: genuine!.body, nowMs: genuine!.now * 1_000 + 999 })[
        'X-Svc-Signature-256'
      ],
      genuine!.header,
    );
    for (const { secret, body, header } of legacy)
      assert.equal(sign({ secrets: [secret], body, nowMs: 0 })['X-Svc-Signature'], header);
    const [during] = vectors.filter(({ name }) => name === 'during a rotation, with the new secret');
    const old = vectors.find(({ name }) => name === 'during a rotation, with the old secret');
    const signed = sign({ secrets: [during!.secret, old!.secret], body: during!.body, nowMs: during!.now * 1_000 });
    assert.equal(signed['X-Svc-Signature-256'], during!.header);
  });
});

suite("the consumer's kit judges the shared vectors in", () => {
  test('TypeScript', () => {
    assert.deepEqual(
      judged(vectors.map(({ secret, header, body, now }) => verifyWebhook(secret, header, Buffer.from(body), now))),
      expected,
    );
  });
});
