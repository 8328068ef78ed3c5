import { limits } from '../../platform/config/limits.ts';
import { sha256Pattern } from '../../platform/validation/fields.ts';
import { apiBase, defaultRateLimit, exampleOrigin } from '../../platform/config/settings.ts';

/** Describes a header. OpenAPI and docs/reference/headers.md are made from the tables below. */
export type HeaderMeaning = { meaning: string; schema: Record<string, unknown>; example: string };

/** Browsers do not guess a type other than the Content-Type, and show no response inside another site. */
export const onEveryResponse = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "frame-ancestors 'none'",
} as const;

const text = { type: 'string' };

/** The value of RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers). */
export const ratePolicy = (limit: number) => `"default";q=${limit};w=${limits.rateWindowMs / 1000}`;

export const requestHeaders = {
  'If-None-Match': {
    schema: text,
    example: 'W/"zV2sJ1cWq0n7sE5bXb0m3Q1p"',
    meaning:
      'The ETag of your last response to this URL, a list of ETags, or `*`. If nothing has changed that the request can show, the service returns 304 without a body.',
  },
  'Idempotency-Key': {
    schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyChars },
    example: '5b0d7f0e-2c1f-4a7e-9d53-7f6f2a1c9e10',
    meaning: `Your own text, new for each change. If you repeat the request with its key within ${limits.idempotencyMs / 3600_000} hours, the service returns the first response again and changes nothing.`,
  },
  'Accept-Encoding': {
    schema: text,
    example: 'zstd, br, gzip',
    meaning: 'Compression that your client can read. Most HTTP libraries send this header and decompress the body.',
  },
  Range: { schema: text, example: 'bytes=0-65535', meaning: 'One range of bytes of the PDF.' },
} as const satisfies Record<string, HeaderMeaning>;

export const replyHeaders = {
  'X-Request-Id': {
    schema: { type: 'string', format: 'uuid' },
    example: '019c1234-7d0a-7a52-9a63-0d8f0a3b7c21',
    meaning:
      "On every response: the ID of the request in the service's log. The audit log also contains the ID, except for a 503 while the database is unavailable. Log the ID, and quote it when you ask for help.",
  },
  ETag: {
    schema: text,
    example: 'W/"zV2sJ1cWq0n7sE5bXb0m3Q1p"',
    meaning: 'Changes when anything changes that the request can show, also on later pages. Send it in If-None-Match.',
  },
  'X-Sync-Through': {
    schema: { type: 'string', format: 'date-time' },
    example: '2026-01-31T09:41:00.000Z',
    meaning:
      'The checkpoint of this sync, with the same value on every page. After the last page, store the checkpoint. Send it as since in your next sync.',
  },
  'X-Sync-Restored': {
    schema: { type: 'string', format: 'date-time' },
    example: '2026-01-31T09:41:00.000Z',
    meaning:
      'Only after a restore of the service: the time of the backup. Later changes are lost, without tombstones. If the time is later than the X-Sync-Through of your last complete sync, run a full sync, and remove results that it does not return.',
  },
  'X-Sync-Digest': {
    schema: text,
    example: 'n=1042;w1=2869453210;w2=311871200',
    meaning:
      'On the last page of a sync by ascending updated_at: the number of results that match the filters, and 2 sums over them. Compare your local copy with these numbers. The header is absent with learner_ref, assessed_from, assessed_to or status, with group_id but no since, and during some upgrades.',
  },
  Link: {
    schema: text,
    example: `<${exampleOrigin}${apiBase}/assessments?limit=100&cursor=AAAA>; rel="next"`,
    meaning:
      'On a page: the next page, as in pagination.next (rel="next"), except on the last page. On an error: the documentation of its code (rel="help").',
  },
  'Cache-Control': {
    schema: text,
    example: 'private, no-cache',
    meaning:
      'You may store the response. Check it with If-None-Match before you use it again. Do not store a response with `no-store`: errors, secrets and invitation links.',
  },
  'Content-Encoding': {
    schema: { type: 'string', enum: ['zstd', 'br', 'gzip'] },
    example: 'zstd',
    meaning: `How the body is compressed. If Accept-Encoding allows it, the service compresses lists and single objects of at least ${limits.compressFromBytes} bytes. A page of 500 results shrinks to about a tenth. The ETag stays the same.`,
  },
  Vary: {
    schema: text,
    example: 'X-Access-Key-Id, Accept-Encoding',
    meaning: 'Request headers by which a cache must separate responses.',
  },
  'RateLimit-Policy': {
    schema: text,
    example: ratePolicy(defaultRateLimit),
    meaning: 'The rate limit of the access key: q requests in any w seconds.',
  },
  RateLimit: {
    schema: text,
    example: '"default";r=297;t=58',
    meaning:
      'On every response to a valid access key, also 429: r requests are left. After t seconds, more are available.',
  },
  'Retry-After': {
    schema: { type: 'integer', minimum: 1 },
    example: '7',
    meaning: 'Seconds to wait before you repeat the request. After a 429, the rate limit then allows the request.',
  },
  'WWW-Authenticate': {
    schema: text,
    example: 'AccessKey realm="api"',
    meaning: 'How to authenticate: with the 2 headers of an access key.',
  },
  Allow: { schema: text, example: 'GET, HEAD, POST', meaning: 'With 405: the methods of the URL.' },
  'Idempotency-Replayed': {
    schema: { type: 'string', const: 'true' },
    example: 'true',
    meaning: 'The response is a repeat of the first response to this Idempotency-Key. The service changed nothing.',
  },
  'X-Report-SHA256': {
    schema: { type: 'string', pattern: sha256Pattern },
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    meaning: 'SHA-256 of the full PDF in lower-case hex, like report_sha256.',
  },
  'Content-Disposition': {
    schema: text,
    example: 'inline; filename="evidence-8f14e45f-ceea-467f-a1d6-3f2d5c0b9a11.pdf"',
    meaning: 'A file name for the PDF, without personal data.',
  },
  'Accept-Ranges': { schema: text, example: 'bytes', meaning: 'The service serves ranges of bytes.' },
  'Content-Range': { schema: text, example: 'bytes 0-65535/81920', meaning: 'Position of these bytes in the PDF.' },
} as const satisfies Record<string, HeaderMeaning>;

export type ReplyHeader = keyof typeof replyHeaders;
export type RequestHeader = keyof typeof requestHeaders;
