import { eventTypes } from '../validation/event-types.ts';
import { limits } from '../config/limits.ts';
import { faults, refusal } from '../validation/faults.ts';
import { learnerRefExpected } from '../validation/fields.ts';

const { malformed, notAllowed } = faults;
const dateTime = 'an RFC 3339 date-time with a zone, such as 2026-01-31T09:00:00Z';

function withStatus<Code extends string>(status: number, messages: Record<Code, string>) {
  const rows = Object.entries<string>(messages).map(([code, message]) => [code, [status, message]]);
  return Object.fromEntries(rows) as Record<Code, readonly [number, string]>;
}

/** Every error code of the API with its status and default message (the specification, Errors). */
export const errorTable = {
  ...withStatus(400, {
    unknown_parameter: 'The query has a parameter that this endpoint does not know. Correct its name or leave it out.',
    invalid_since: refusal('since', malformed, dateTime),
    invalid_cursor:
      'cursor does not belong to this request. Take it unchanged from pagination.next with the same parameters, or start again without it.',
    invalid_learner_ref: refusal('learner_ref', malformed, learnerRefExpected),
    invalid_subject: refusal('subject', notAllowed, 'one or more of digital, english, maths'),
    invalid_assessed_from: refusal('assessed_from', malformed, dateTime),
    invalid_assessed_to: refusal('assessed_to', malformed, dateTime),
    invalid_rqf_level_code: refusal('rqf_level_code', notAllowed, 'one or more of 1, 2, 3, 5'),
    invalid_below_level_1: refusal('below_level_1', notAllowed, 'true or false'),
    invalid_status: refusal('status', notAllowed, 'one or more of completed, deleted'),
    invalid_group_id: refusal('group_id', malformed, 'one or more group UUIDs'),
    too_many_groups: refusal('group_id', 'has too many group IDs', `at most ${limits.filterGroups}`),
    invalid_bits: refusal('bits', malformed, `a whole number from 0 to ${limits.digestBits}`),
    invalid_buckets: refusal('buckets', malformed, `at most ${limits.digestBuckets} whole numbers below 2^bits`),
    invalid_sort: refusal('sort', notAllowed, 'one of updated_at, -updated_at, assessed_at, -assessed_at'),
    sort_with_since: 'sort is not allowed with since. Leave out sort: the results are in the order of updated_at.',
    invalid_type: refusal('type', notAllowed, 'one or more group types, such as cohort'),
    invalid_active: refusal('active', notAllowed, 'true or false'),
    invalid_event_types: refusal('event_types', notAllowed, `one or more of ${eventTypes.join(', ')}`),
    invalid_after: 'after is malformed. Take it unchanged from a line of an earlier response, or leave it out.',
    invalid_json: 'The body is not valid JSON (RFC 8259). Send one JSON object.',
    bad_request: 'The request is not well-formed HTTP. Check the client and the proxies before the service.',
  }),
  invalid_credentials: [
    401,
    'The headers X-Access-Key-Id and X-Secret-Access-Key do not contain a valid access key. Send both, with the ID and secret of one active key.',
  ],
  insufficient_credits: [402, 'The organisation has no assessment credits left. Ask the operator for credits.'],
  not_found: [404, 'This access key reaches no resource with this ID or reference. Check the ID or reference.'],
  method_not_allowed: [405, 'This path does not support the method. Use a method that the Allow header lists.'],
  ...withStatus(409, {
    group_limit_exceeded: `The organisation already has ${limits.groupsPerOrganisation} groups. Archive one first.`,
    webhook_limit_exceeded: `The organisation already has ${limits.webhooksPerOrganisation} webhook endpoints. Remove one first.`,
    listener_limit_exceeded: `${limits.listenersPerOrganisation} requests of the organisation already listen to events. End one first.`,
    idempotency_conflict:
      'A request with this Idempotency-Key is still running. Repeat the request after the seconds in Retry-After.',
  }),
  payload_too_large: [413, `The body has more than ${limits.bodyBytes} bytes. Send several smaller requests.`],
  unsupported_media_type: [415, 'The body is not sent as JSON. Send the header Content-Type: application/json.'],
  ...withStatus(422, {
    group_autocreate_disabled:
      'A group in the request does not exist, and the organisation has disabled creating groups while provisioning. Create the group with POST /groups first.',
    team_group_managed:
      'The API cannot change groups of type team. Change the team in the console, or use another type.',
    unknown_group: 'group_ids contains a group that the organisation does not have. Take IDs from GET /groups.',
    idempotency_mismatch: 'This Idempotency-Key was used with another request. Use a new key for a new request.',
    invalid_idempotency_key: `Idempotency-Key is malformed. Send 1 to ${limits.idempotencyKeyChars} printable ASCII characters without a National Insurance number.`,
    unknown_field: 'The body has a field that this endpoint does not know. Correct its name or leave it out.',
    invalid_body: 'The body is not a JSON object. Send one JSON object.',
  }),
  rate_limited: [429, 'This key or IP address sends too many requests. Wait for the seconds in Retry-After.'],
  internal_error: [500, 'The service failed through its own fault. Retry with exponential backoff.'],
  service_unavailable: [503, 'The service is not available. Repeat the request after the seconds in Retry-After.'],
} as const;

export type ErrorCode = keyof typeof errorTable;

/** The message never repeats a value that the client sent. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message?: string, headers: Record<string, string> = {}) {
    super(message ?? errorTable[code][1]);
    this.code = code;
    this.status = errorTable[code][0];
    this.headers = headers;
  }

  /** The error 422 for a field whose JSON is well-formed, but whose value is not as expected. */
  static field(code: `invalid_${string}`, message: string): ApiError {
    const error = new ApiError('invalid_body', message);
    return Object.assign(error, { code, status: 422 });
  }
}

/** The path of the section that documents an error code. */
export const errorPage = (code: string): string => `/docs/reference/errors.html#${code}`;

/** The header of an error response that links to the documentation of its code (RFC 8288). */
export const helpLink = (origin: string, code: string) => ({ link: `<${origin}${errorPage(code)}>; rel="help"` });

export function errorBody(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } });
}
