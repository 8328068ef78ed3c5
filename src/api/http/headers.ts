import { limits } from '../../platform/config/limits.ts';
import { sha256Pattern } from '../../platform/validation/fields.ts';
import { apiBase, defaultRateLimit, exampleOrigin } from '../../platform/config/settings.ts';

/** Describes a header. OpenAPI and docs/reference/headers.md are made from the tables below. */
export type HeaderMeaning = { meaning: string; schema: Record<string, unknown>; example: string };

/** Every response has this header, so that browsers do not guess a type other than the Content-Type. */
export const noSniff = { 'x-content-type-options': 'nosniff' } as const;

const text = { type: 'string' };

/** The value of RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers). */
export const ratePolicy = (limit: number) => `"default";q=${limit};w=${limits.rateWindowMs / 1000}`;

export const requestHeaders = {
  'If-None-Match': {
    schema: text,
    example: 'W/"zV2sJ1cWq0n7sE5bXb0m3Q1p"',
    meaning:
      'ETags that you hold, or `*`. Answered by 304 without a body while nothing has changed that the request could show.',
  },
  'Idempotency-Key': {
    schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyChars },
    example: '5b0d7f0e-2c1f-4a7e-9d53-7f6f2a1c9e10',
    meaning: `A text of your own, new for each request that must happen once. The same key with the same request gives the first response again for ${limits.idempotencyMs / 3600_000} hours.`,
  },
  'Accept-Encoding': {
    schema: text,
    example: 'zstd, br, gzip',
    meaning: 'Which compressed bodies you can read. Most HTTP libraries send it, and decompress, by themselves.',
  },
  Range: { schema: text, example: 'bytes=0-65535', meaning: 'One range of bytes of the PDF.' },
} as const satisfies Record<string, HeaderMeaning>;

export const replyHeaders = {
  'X-Request-Id': {
    schema: { type: 'string', format: 'uuid' },
    example: '019c1234-7d0a-7a52-9a63-0d8f0a3b7c21',
    meaning:
      "On every response: the ID of the request in the service's log. The audit log contains it too, except for a 503 while the database is unavailable. Log it, and quote it when you ask for help.",
  },
  ETag: {
    schema: text,
    example: 'W/"zV2sJ1cWq0n7sE5bXb0m3Q1p"',
    meaning: 'Stands for everything that the request could show, later pages included. Send it back in If-None-Match.',
  },
  'X-Sync-Through': {
    schema: { type: 'string', format: 'date-time' },
    example: '2026-01-31T09:41:00.000Z',
    meaning: 'The since of your next walk, once this walk is finished. Every page of a walk carries the same value.',
  },
  'X-Sync-Restored': {
    schema: { type: 'string', format: 'date-time' },
    example: '2026-01-31T09:41:00.000Z',
    meaning:
      'Only if the service was restored from a backup: the time of that backup. Later changes are lost, without tombstones. If the time is later than the X-Sync-Through of your last finished sync, do a full sync, and remove what that sync does not show.',
  },
  'X-Sync-Digest': {
    schema: text,
    example: 'n=1042;w1=2869453210;w2=311871200',
    meaning:
      'On the last page of a sync by ascending updated_at: the number of results that match the filters now, and two sums over them. Compare your local copy with it. Absent with learner_ref, assessed_from, assessed_to or status, with group_id unless since is there too, and while an upgrade counts what is stored.',
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
      'You may store the response, and must check it with If-None-Match before you use it again. With `no-store`, never store the response. Errors and responses with a secret or a link have `no-store`.',
  },
  'Content-Encoding': {
    schema: { type: 'string', enum: ['zstd', 'br', 'gzip'] },
    example: 'zstd',
    meaning: `How the body is compressed: lists and single resources from ${limits.compressFromBytes} bytes on, where Accept-Encoding names the coding. A page of 500 becomes about a tenth. The ETag is the same.`,
  },
  Vary: {
    schema: text,
    example: 'X-Access-Key-Id, Accept-Encoding',
    meaning: 'Caches must separate responses by access key and by content coding.',
  },
  'RateLimit-Policy': {
    schema: text,
    example: ratePolicy(defaultRateLimit),
    meaning: 'The limit of the key: q requests in any w seconds.',
  },
  RateLimit: {
    schema: text,
    example: '"default";r=297;t=58',
    meaning:
      'On every response to an accepted key, including 429: r requests are left, and after t seconds there are more.',
  },
  'Retry-After': {
    schema: { type: 'integer', minimum: 1 },
    example: '7',
    meaning: 'Seconds after which the request can be repeated; after a 429 it then passes.',
  },
  'WWW-Authenticate': {
    schema: text,
    example: 'AccessKey realm="api"',
    meaning: 'Names the way to sign in: the two access key headers.',
  },
  Allow: { schema: text, example: 'GET, HEAD, POST', meaning: 'With 405: the methods that the address supports.' },
  'Idempotency-Replayed': {
    schema: { type: 'string', const: 'true' },
    example: 'true',
    meaning: 'The response is the first one to this Idempotency-Key. The request was not repeated.',
  },
  'X-Report-SHA256': {
    schema: { type: 'string', pattern: sha256Pattern },
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    meaning: 'SHA-256 of the full PDF in lower-case hex, the same as report_sha256.',
  },
  'Content-Disposition': {
    schema: text,
    example: 'inline; filename="evidence-8f14e45f-ceea-467f-a1d6-3f2d5c0b9a11.pdf"',
    meaning: 'A file name for the PDF, without personal data.',
  },
  'Accept-Ranges': { schema: text, example: 'bytes', meaning: 'Ranges of bytes are served.' },
  'Content-Range': { schema: text, example: 'bytes 0-65535/81920', meaning: 'Which bytes of the PDF these are.' },
} as const satisfies Record<string, HeaderMeaning>;

export type ReplyHeader = keyof typeof replyHeaders;
export type RequestHeader = keyof typeof requestHeaders;
