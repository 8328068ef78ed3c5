import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Random } from '../random.ts';

/**
 * Signatures of webhook deliveries: HMAC-SHA256 (RFC 2104) in two headers.
 * The key is the whole secret, `whsec_` included, as UTF-8.
 */

export const legacyHeader = 'X-Svc-Signature';
export const signatureHeader = 'X-Svc-Signature-256';
export const deliveryIdHeader = 'X-Svc-Delivery-Id';

/** Seconds that a signature's time may lie before or after the receiver's clock. */
export const toleranceSeconds = 300;

export type SignatureHeaders = { [legacyHeader]: string; [signatureHeader]: string };

/** A signing secret: `whsec_` and 32 random bytes in base64url, 49 characters. `random` must be the system's. */
export function newSecret(random: Random): string {
  return `whsec_${random.bytes(32).toString('base64url')}`;
}

function mac(secret: string, ...parts: (string | Uint8Array)[]): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

/**
 * Both signature headers of one attempt. `secrets` holds the newest first: every one signs in
 * `X-Svc-Signature-256`, the newest alone in the legacy header, which has room for only one.
 * Each attempt is signed anew, so that a late retry is still inside the receiver's tolerance.
 */
export function sign({
  secrets,
  body,
  nowMs,
}: {
  secrets: readonly string[];
  body: Uint8Array | string;
  nowMs: number;
}): SignatureHeaders {
  const [newest] = secrets;
  if (newest === undefined) throw new RangeError('A delivery needs at least one signing secret.');
  const t = String(Math.floor(nowMs / 1000));
  const values = secrets.map((secret) => `,v1=${mac(secret, t, '.', body)}`);
  return { [legacyHeader]: mac(newest, body), [signatureHeader]: `t=${t}${values.join('')}` };
}

/** Every header of one attempt. `deliveryId` stays the same over retries and replays; the signatures don't. */
export function deliveryHeaders({
  deliveryId,
  secrets,
  body,
  nowMs,
}: {
  deliveryId: string;
  secrets: readonly string[];
  body: Uint8Array | string;
  nowMs: number;
}): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Assessment-Results-Service-Webhooks/1',
    [deliveryIdHeader]: deliveryId,
    ...sign({ secrets, body, nowMs }),
  };
}

export type RefusalCode = 'malformed_header' | 'no_matching_signature' | 'timestamp_too_old' | 'timestamp_in_future';

/** Why a delivery was refused. `code` is stable; `message` names the likely cause. */
export class SignatureError extends Error {
  readonly code: RefusalCode;
  constructor(code: RefusalCode, message: string) {
    super(message);
    this.name = 'SignatureError';
    this.code = code;
  }
}

function malformed(cause: string): SignatureError {
  return new SignatureError('malformed_header', `The ${signatureHeader} header can't be read: ${cause}`);
}

/**
 * The header's one time (as text, because the text is what was signed) and its `v1` values; unknown names are passed
 * over.
 */
function parseHeader(header: string | undefined | null): { t: string; values: string[] } {
  if (typeof header !== 'string' || header === '') {
    throw malformed('it is missing. Read it from the request without regard to upper and lower case.');
  }
  if (/^[0-9a-f]{64}$/i.test(header)) {
    throw malformed(`it is a bare MAC, which looks like the legacy ${legacyHeader}.`);
  }
  const times: string[] = [];
  const values: string[] = [];
  for (const part of header.split(',')) {
    const equals = part.indexOf('=');
    if (equals < 1) throw malformed('each part between commas must be name=value.');
    const name = part.slice(0, equals);
    if (name === 't') times.push(part.slice(equals + 1));
    else if (name === 'v1') values.push(part.slice(equals + 1));
  }
  const [t] = times;
  if (t === undefined) throw malformed('it has no t=.');
  if (times.length > 1) throw malformed('it has more than one t=.');
  if (!/^[0-9]{1,12}$/.test(t)) throw malformed('t must be whole seconds since 1970.');
  if (values.length === 0) throw malformed('it has no v1=.');
  return { t, values };
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

function mismatchCause(secret: string, t: string, body: Uint8Array | string, values: string[]): string {
  const matches = (otherSecret: string, otherBody: Uint8Array | string): boolean => {
    const expected = mac(otherSecret, t, '.', otherBody);
    return values.some((value) => sameText(expected, value));
  };
  if (secret === '') return 'The secret is empty.';
  if (secret !== secret.trim()) return 'The secret has white space around it.';
  if (!secret.startsWith('whsec_'))
    return 'The secret must be the whole string, with whsec_ at its front, used as text and not decoded.';
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  if (matches(secret, text.trim())) return 'White space was added to the body: verify the bytes as they arrived.';
  if (values.some((value) => sameText(mac(secret, body), value)))
    return `v1 holds the MAC of the legacy ${legacyHeader}.`;
  return 'Either the secret belongs to another endpoint or has been rotated away, or the body is not the raw bytes that arrived (parsed and written again, or decoded).';
}

/**
 * Returns the signature's time in seconds since 1970 if the delivery is genuine and fresh; throws SignatureError
 * otherwise. The MAC is judged before the time, because an unsigned time says nothing. Times too far in the
 * future are refused like those too far in the past: otherwise a signature made ahead would open a longer window
 * for replay.
 */
export function verify({
  secret,
  header,
  body,
  nowMs,
  toleranceSeconds: tolerance = toleranceSeconds,
}: {
  secret: string;
  header: string | undefined | null;
  body: Uint8Array | string;
  nowMs: number;
  toleranceSeconds?: number;
}): number {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('The body must be the raw bytes or text of the request, not a parsed object.');
  }
  const { t, values } = parseHeader(header);
  const expected = mac(secret, t, '.', body);
  let genuine = false;
  for (const value of values) genuine = sameText(expected, value) || genuine;
  // Anybody can sign with a secret that was never set.
  if (!genuine || secret === '')
    throw new SignatureError(
      'no_matching_signature',
      `No v1 signature matches. ${mismatchCause(secret, t, body, values)}`,
    );
  const ageSeconds = Math.floor(nowMs / 1000) - Number(t);
  if (ageSeconds > tolerance) {
    throw new SignatureError(
      'timestamp_too_old',
      `The signature is ${ageSeconds} s old, and ${tolerance} s are tolerated: the delivery was recorded and sent again, was held up, or this machine's clock is ahead.`,
    );
  }
  if (ageSeconds < -tolerance) {
    throw new SignatureError(
      'timestamp_in_future',
      `The signature's time lies ${-ageSeconds} s in the future, and ${tolerance} s are tolerated: this machine's clock is probably behind.`,
    );
  }
  return Number(t);
}

/** A genuine header for a consumer's own tests. */
export function testHeader({
  secret,
  body,
  nowMs,
}: {
  secret: string;
  body: Uint8Array | string;
  nowMs: number;
}): string {
  return sign({ secrets: [secret], body, nowMs })[signatureHeader];
}
