import { eventTypes } from '../validation/event-types.ts';
import { limits } from '../config/limits.ts';

/** Every error code of the API with its status and default message (the specification, Errors). */
export const errorTable = {
  unknown_parameter: [400, 'The query has a parameter that this endpoint does not know.'],
  invalid_since: [400, 'since must be an RFC 3339 date-time with a zone, such as 2026-01-31T09:00:00Z.'],
  invalid_cursor: [
    400,
    'cursor must be taken unchanged from pagination.next and used with the same parameters; start again without it.',
  ],
  invalid_learner_ref: [
    400,
    `learner_ref must be one opaque reference of 1 to ${limits.learnerRefChars} letters, digits, . _ : / or -, starting with a letter or digit; never a name, an e-mail address or a National Insurance number.`,
  ],
  invalid_subject: [400, 'subject must be one or more of digital, english, maths.'],
  invalid_assessed_from: [
    400,
    'assessed_from must be an RFC 3339 date-time with a zone, such as 2026-01-31T09:00:00Z.',
  ],
  invalid_assessed_to: [400, 'assessed_to must be an RFC 3339 date-time with a zone, such as 2026-01-31T09:00:00Z.'],
  invalid_rqf_level_code: [400, 'rqf_level_code must be one or more of 1, 2, 3, 5.'],
  invalid_below_level_1: [400, 'below_level_1 must be true or false.'],
  invalid_status: [400, 'status must be one or more of completed, deleted.'],
  invalid_group_id: [400, 'group_id must be one or more group UUIDs.'],
  too_many_groups: [400, `group_id takes at most ${limits.filterGroups} group ids.`],
  invalid_bits: [400, `bits must be a whole number from 0 to ${limits.digestBits}.`],
  invalid_buckets: [
    400,
    `buckets must be at most ${limits.digestBuckets} whole numbers, each below 2 to the power of bits.`,
  ],
  invalid_sort: [400, 'sort must be one of updated_at, -updated_at, assessed_at, -assessed_at.'],
  sort_with_since: [400, 'sort cannot be combined with since: a delta feed is ordered by updated_at.'],
  invalid_type: [400, 'type must be one or more of the group types.'],
  invalid_active: [400, 'active must be true or false.'],
  invalid_event_types: [400, `event_types must be one or more of ${eventTypes.join(', ')}.`],
  invalid_after: [400, 'after must be taken unchanged from a line of an earlier reply.'],
  invalid_json: [400, 'The body must be JSON (RFC 8259).'],
  bad_request: [400, 'The request is not well-formed HTTP.'],
  invalid_credentials: [401, 'The access key id or the secret access key is not valid.'],
  insufficient_credits: [402, 'The organisation has no assessment credits left.'],
  not_found: [404, 'There is no such resource.'],
  method_not_allowed: [405, 'The resource does not support this method; the Allow header lists those that it does.'],
  group_limit_exceeded: [409, `The organisation already has ${limits.groupsPerOrganisation} groups.`],
  webhook_limit_exceeded: [409, `The organisation already has ${limits.webhooksPerOrganisation} webhook endpoints.`],
  listener_limit_exceeded: [
    409,
    `${limits.listenersPerOrganisation} requests of the organisation listen to events already; end one of them.`,
  ],
  idempotency_conflict: [409, 'A request with this Idempotency-Key is still running; repeat it in a moment.'],
  payload_too_large: [413, 'The body is larger than this endpoint takes.'],
  unsupported_media_type: [415, 'The body must be sent as application/json.'],
  group_autocreate_disabled: [
    422,
    'A group in the request does not exist, and the organisation has disabled creating groups while provisioning.',
  ],
  team_group_managed: [
    422,
    "Groups of type team are managed from the organisation's teams and cannot be changed through the API.",
  ],
  unknown_group: [422, 'group_ids must be groups of your organisation.'],
  idempotency_mismatch: [422, 'This Idempotency-Key was used with another request; use a new key for a new request.'],
  invalid_idempotency_key: [
    422,
    `Idempotency-Key must be 1 to ${limits.idempotencyKeyChars} printable ASCII characters, without a National Insurance number.`,
  ],
  unknown_field: [422, 'The body has a field that this endpoint does not know.'],
  invalid_body: [422, 'The body must be a JSON object.'],
  rate_limited: [429, 'Too many requests; wait for as many seconds as the Retry-After header says.'],
  internal_error: [500, 'The service failed to answer; the fault is ours. Repeat the request.'],
  service_unavailable: [
    503,
    'The service is not available right now; repeat the request after the seconds in Retry-After.',
  ],
} as const satisfies Record<string, readonly [number, string]>;

export type FieldCode =
  | 'invalid_full_name'
  | 'invalid_email'
  | 'invalid_ref'
  | 'invalid_groups'
  | 'invalid_name'
  | 'invalid_type'
  | 'invalid_learner_refs'
  | 'invalid_url'
  | 'invalid_event_types'
  | 'invalid_group_ids'
  | 'invalid_active';

export type ErrorCode = keyof typeof errorTable;

/** The message never contains anything that the client sent. */
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
  static field(code: FieldCode, expected: string): ApiError {
    const error = new ApiError('invalid_body', expected);
    return Object.assign(error, { code, status: 422 });
  }
}

export function errorBody(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } });
}
