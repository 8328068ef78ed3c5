import assert from 'node:assert/strict';
import { verifyWebhook } from '../../../../examples/webhooks/typescript/verify.ts';

/**
 * Verifies a delivery as a receiver does, with the verifier of the examples, which the shared vectors judge (kit.test.ts).
 * @returns the signature's time in seconds since 1970
 */
export function verify({
  secret,
  header,
  body,
  nowMs,
}: {
  secret: string;
  header: string | string[] | undefined;
  body: Uint8Array | string;
  nowMs: number;
}): number {
  const text = String(header);
  assert.equal(verifyWebhook(secret, text, Buffer.from(body), Math.floor(nowMs / 1000)), 'valid');
  return Number(/t=(\d+)/.exec(text)![1]);
}
