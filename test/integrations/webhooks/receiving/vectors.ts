import { readFileSync, writeFileSync } from 'node:fs';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';

/**
 * Makes docs/webhooks/vectors.json, the cases that every verifier of the consumer's kit must judge alike.
 * The MACs are computed here from their definition, not by src/integrations/webhooks/http/signing.ts, which is one of those judged.
 *
 *   node test/integrations/webhooks/receiving/vectors.ts --write    writes the file
 *   node test/integrations/webhooks/receiving/vectors.ts --check    exits 1 if the file differs
 */

export type Verdict =
  'valid' | 'malformed_header' | 'no_matching_signature' | 'timestamp_too_old' | 'timestamp_in_future';
export type Vector = { name: string; secret: string; header: string; body: string; now: number; verdict: Verdict };
export type LegacyVector = { name: string; secret: string; header: string; body: string };
export type Vectors = { about: string; tolerance_seconds: number; vectors: Vector[]; legacy: LegacyVector[] };

const now = 1_767_225_600; // 2026-01-01T00:00:00Z
const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY';
const oldSecret = 'whsec_b2xkIHNlY3JldCwgcm90YXRlZCBhd2F5IGp1c3Qgbm93ISE';
const otherSecret = 'whsec_YW5vdGhlciBlbmRwb2ludCdzIHNlY3JldCwgbm90IG91cnM';
const body =
  '{"event":"learner.groups.updated","learner_ref":"L-1001","added":["3f0c4a52-7f43-4c5e-9d0a-2b8d6a1f9e11"],"removed":[],"occurred_at":"2026-01-01T00:00:00.000Z"}';

const hex = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex');
const v1 = (t: number | string = now, key = secret, text = body): string => `v1=${hex(key, `${t}.${text}`)}`;
const genuine = (t: number | string = now, text = body): string => `t=${t},${v1(t, secret, text)}`;
const zeros = `v1=${'0'.repeat(64)}`;

export function makeVectors(): Vectors {
  const one = (name: string, verdict: Verdict, changes: Partial<Vector> = {}): Vector => ({
    name,
    secret,
    header: genuine(),
    body,
    now,
    verdict,
    ...changes,
  });
  const both = (key: string): string => `t=${now},${v1(now, key)},${v1(now, oldSecret)}`;
  const names = '{"full_name":"Zoë O’Neill-Ōtani","note":"\\u00e9 é 你好 😀"}';
  const current = hex(secret, `${now}.${body}`);
  return {
    about:
      'Each verifier is called with secret, header (X-Svc-Signature-256), body (UTF-8) and now (seconds since 1970), and must give the verdict. The signature is judged before the time. legacy: values of X-Svc-Signature, the MAC of the body alone.',
    tolerance_seconds: 300,
    vectors: [
      one('genuine', 'valid'),
      one('an empty body', 'valid', { body: '', header: genuine(now, '') }),
      one('letters beyond ASCII', 'valid', { body: names, header: genuine(now, names) }),
      one('white space and a line break are part of the body', 'valid', {
        body: `${body}\r\n `,
        header: genuine(now, `${body}\r\n `),
      }),
      one('at the tolerance in the past', 'valid', { header: genuine(now - 300) }),
      one('one second beyond the tolerance in the past', 'timestamp_too_old', { header: genuine(now - 301) }),
      one('recorded yesterday and sent again', 'timestamp_too_old', { header: genuine(now - 86_400) }),
      one('t=0', 'timestamp_too_old', { header: genuine(0) }),
      one('at the tolerance in the future', 'valid', { header: genuine(now + 300) }),
      one('one second beyond the tolerance in the future', 'timestamp_in_future', { header: genuine(now + 301) }),
      one('tomorrow', 'timestamp_in_future', { header: genuine(now + 86_400) }),
      one('t in milliseconds of twelve digits', 'timestamp_in_future', { header: genuine(now * 100) }),
      one('during a rotation, with the new secret', 'valid', { header: both(secret) }),
      one('during a rotation, with the old secret', 'valid', { secret: oldSecret, header: both(secret) }),
      one('during a rotation, with neither secret', 'no_matching_signature', {
        secret: otherSecret,
        header: both(secret),
      }),
      one('the matching v1 is the last of three', 'valid', {
        header: `t=${now},${zeros},${v1(now, otherSecret)},${v1()}`,
      }),
      one('a v1 of another length beside the matching one', 'valid', { header: `t=${now},v1=abc,${v1()}` }),
      one('an unknown name is passed over', 'valid', { header: `t=${now},${v1()},v2=whatever` }),
      one('v1 before t', 'valid', { header: `${v1()},t=${now}` }),
      one('t with a leading zero is signed as it is written', 'valid', { header: genuine(`0${now}`) }),
      one('another secret', 'no_matching_signature', { secret: otherSecret }),
      one('the secret without whsec_', 'no_matching_signature', { secret: secret.slice('whsec_'.length) }),
      one('an empty secret, as when it was never set, even with its own MAC', 'no_matching_signature', {
        secret: '',
        header: `t=${now},${v1(now, '')}`,
      }),
      one('one byte of the body altered', 'no_matching_signature', { body: body.replace('L-1001', 'L-1002') }),
      one('the body written again with spaces', 'no_matching_signature', {
        body: JSON.stringify(JSON.parse(body), null, 1),
      }),
      one('a line break added to the body', 'no_matching_signature', { body: `${body}\n` }),
      one('the time altered', 'no_matching_signature', { header: `t=${now + 1},${v1()}` }),
      one('altered and old: the signature is judged first', 'no_matching_signature', {
        header: `t=${now - 900},${v1()}`,
      }),
      one('a leading zero added to the time', 'no_matching_signature', { header: `t=0${now},${v1()}` }),
      one('one digit of the MAC altered', 'no_matching_signature', {
        header: `t=${now},v1=${current.slice(0, -1)}${current.endsWith('0') ? '1' : '0'}`,
      }),
      one('a MAC cut short', 'no_matching_signature', { header: `t=${now},v1=${current.slice(0, 32)}` }),
      one('a MAC with more after it', 'no_matching_signature', { header: `t=${now},v1=${current}00` }),
      one('an empty v1', 'no_matching_signature', { header: `t=${now},v1=` }),
      one('capital hex digits', 'no_matching_signature', { header: `t=${now},v1=${current.toUpperCase()}` }),
      one('the MAC of the body alone in v1', 'no_matching_signature', { header: `t=${now},v1=${hex(secret, body)}` }),
      one('an empty header', 'malformed_header', { header: '' }),
      one('the legacy value in the place of the header', 'malformed_header', { header: hex(secret, body) }),
      one('no t', 'malformed_header', { header: v1() }),
      one('no v1', 'malformed_header', { header: `t=${now}` }),
      one('t twice, the genuine one first', 'malformed_header', { header: `t=${now},t=${now - 900},${v1()}` }),
      one('t twice, the genuine one last', 'malformed_header', { header: `t=${now - 900},t=${now},${v1()}` }),
      one('t twice, both the same', 'malformed_header', { header: `t=${now},t=${now},${v1()}` }),
      one('t is empty', 'malformed_header', { header: `t=,${v1('')}` }),
      one('t is negative', 'malformed_header', { header: genuine(-1) }),
      one('t has a sign', 'malformed_header', { header: genuine(`+${now}`) }),
      one('t has decimals', 'malformed_header', { header: genuine(`${now}.0`) }),
      one('t is hexadecimal', 'malformed_header', { header: genuine(`0x${now.toString(16)}`) }),
      one('t has an exponent', 'malformed_header', { header: genuine('1e9') }),
      one('t has digits that are not ASCII', 'malformed_header', { header: genuine('１７６７２２５６００') }),
      one('t has a line break after it', 'malformed_header', { header: `t=${now}\n,${v1(`${now}\n`)}` }),
      one('t has more than twelve digits', 'malformed_header', { header: genuine(`${now}000`) }),
      one('t has more digits than a number holds', 'malformed_header', { header: genuine('9'.repeat(40)) }),
      one('a part without =', 'malformed_header', { header: `t=${now},${v1()},v1` }),
      one('an empty part at the end', 'malformed_header', { header: `t=${now},${v1()},` }),
      one('a part without a name', 'malformed_header', { header: `t=${now},=1,${v1()}` }),
      one('spaces make other names', 'malformed_header', { header: `t=${now}, ${v1()}` }),
      one('T is not t', 'malformed_header', { header: `T=${now},${v1()}` }),
      one('separated by semicolons', 'malformed_header', { header: `t=${now};${v1()}` }),
    ],
    legacy: [
      { name: 'genuine', secret, header: hex(secret, body), body },
      { name: 'letters beyond ASCII', secret, header: hex(secret, names), body: names },
    ],
  };
}

export const vectorsFile = fileURLToPath(new URL('../../../../docs/webhooks/vectors.json', import.meta.url));
export const vectorsText = (): string => `${JSON.stringify(makeVectors(), null, 2)}\n`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === '--write') {
    writeFileSync(vectorsFile, vectorsText());
  } else if (readFileSync(vectorsFile, 'utf8') !== vectorsText()) {
    console.error(
      'docs/webhooks/vectors.json differs from what test/integrations/webhooks/receiving/vectors.ts makes; run it with --write.',
    );
    process.exitCode = 1;
  }
}
