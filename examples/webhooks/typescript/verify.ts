import { createHmac, timingSafeEqual } from 'node:crypto';

export type Verdict =
  'valid' | 'malformed_header' | 'no_matching_signature' | 'timestamp_too_old' | 'timestamp_in_future';

/**
 * Judges one delivery. `secret` is the whole `whsec_…` string, `header` the value of X-Svc-Signature-256, `body` the raw
 * bytes as they arrived, `now` seconds since 1970. Accept the delivery only if the result is 'valid'.
 */
export function verifyWebhook(
  secret: string,
  header: string,
  body: Uint8Array,
  now: number,
  toleranceSeconds = 300,
): Verdict {
  const times: string[] = [];
  const signatures: string[] = [];
  for (const part of header.split(',')) {
    const equals = part.indexOf('=');
    if (equals < 1) return 'malformed_header';
    const name = part.slice(0, equals);
    if (name === 't') times.push(part.slice(equals + 1));
    if (name === 'v1') signatures.push(part.slice(equals + 1));
  }
  const t = times[0];
  if (t === undefined || times.length !== 1 || signatures.length === 0 || !/^[0-9]{1,12}$/.test(t))
    return 'malformed_header';

  const expected = Buffer.from(createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex'));
  let genuine = false;
  // While a secret is being rotated there are two signatures; one that matches is enough.
  for (const signature of signatures) {
    const given = Buffer.from(signature);
    if (given.length === expected.length && timingSafeEqual(given, expected)) genuine = true;
  }
  // Anybody can sign with a secret that was never set.
  if (!genuine || secret === '') return 'no_matching_signature';

  const age = now - Number(t);
  if (age > toleranceSeconds) return 'timestamp_too_old';
  if (age < -toleranceSeconds) return 'timestamp_in_future';
  return 'valid';
}
