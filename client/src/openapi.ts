// Made from docs/openapi.json by test/support/documents/client-types.ts: npm run check -- --write.

/** A result, a tombstone or a scope exit. */
export type FeedEntry = Assessment | Tombstone | ScopeExitTombstone;

/** The result of a completed assessment. */
export type Assessment = {
  /** The result's ID. It never changes. */
  assessment_id: string;
  /** A tombstone has the status deleted. */
  status: 'completed';
  /** When anything in this record last changed. The parameter since filters by this time. */
  updated_at: string;
  /** The learner who took the assessment. */
  learner: {
    /** ID of the learner. It does not change. */
    learner_id: string;
    /** Your own learner reference. Null: the learner has none. */
    ref: string | null;
    /** Current name of the learner. */
    full_name: string;
  };
  /** When the learner finished the assessment. */
  assessed_at: string;
  /** Subject of the assessment. */
  subject: 'digital' | 'english' | 'maths';
  /** Name of the assessment framework. */
  framework: string;
  /** Placement within the RQF level descriptors: Entry Level, Level 1, Level 2 or Level 3. Null: below Entry Level or not placed. */
  rqf_level: string | null;
  /** Level with the numbers of ILR PriorLevel: 1 is Entry Level, 2 is Level 1, 3 is Level 2, 5 is Level 3. Do not copy the code into an ILR return as prior attainment: it is an assessed level, not a qualification. Null with below_level_1 true: below Entry Level. Null with below_level_1 null: not placed. */
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  /** Whether the result is below Level 1. If subject is digital, this is the gate of the digital entitlement. Null: not placed. */
  below_level_1: boolean | null;
  /** Level, with the sub-level of Entry Level. Open enum. */
  working_level: string | null;
  /** The level above working_level. Null: working_level is the highest level. */
  recommended_next_level: string | null;
  /** True: the result is close to a level boundary. A 95% confidence interval crossed the deciding rule's threshold. */
  is_borderline: boolean;
  /** True: the 2 scoring engines placed the result at least one full level apart. */
  needs_review: boolean;
  /** When a person at the training provider last decided on this result. Absent without a human review. A review does not change is_borderline and needs_review. */
  reviewed_at?: string;
  /** The domains of the subject. */
  domains: Domain[];
  /** Probability of each level, lowest level first. The names are values of working_level, and the sum is 1. The probabilities are provisional until answers have shown how difficult each question is, and allow for this error. Null: not known, as in most imported results, or a person has set the level. */
  level_probabilities: Record<string, number> | null;
  /** URL of the evidence PDF in this API. */
  evidence_pack_url: string;
  /** SHA-256 of the evidence PDF. Null: no PDF exists yet. The first read creates the PDF. */
  report_sha256: string | null;
  /** The learner's active groups. */
  groups: GroupSummary[];
};

/** A domain of the subject, with its score. Results made elsewhere or earlier lack the last 4 fields. */
export type Domain = {
  /** Name of the domain. */
  name: string;
  /** Score in per cent. Null: not judged. */
  score_pct: number | null;
  /** Open enum: secure (score_pct from 65), developing (from 40), needs_support (below 40), not_assessed. It is judged at the level of the result, so most domains are secure: to plan teaching, read compared and next_level_pct. Null: not judged. */
  status: string | null;
  /** Like score_pct, but at the next higher level. Null: no score or no higher level. */
  next_level_pct?: number | null;
  /** Open enum: weaker, same or stronger than the learner's other domains. Null: too few questions to compare. */
  compared?: string | null;
  /** Difference from the mean of the other domains, in levels. Below 0: weaker. Null: not compared. */
  difference?: number | null;
  /** Standard error of the difference. Null: not compared. */
  difference_se?: number | null;
};

/** A group of a learner. */
export type GroupSummary = {
  /** The group's ID. It never changes. */
  id: string;
  /** Your own group reference. */
  ref: string;
  /** Name of the group. */
  name: string;
  /** Open enum. Accept values that you do not know. */
  type: string;
};

/** The result was withdrawn. Remove it from your copy. */
export type Tombstone = {
  /** The result's ID. It never changes. */
  assessment_id: string;
  /** A result has the status completed. */
  status: 'deleted';
  /** When the record left the feed. The parameter since filters by this time. */
  updated_at: string;
};

/** The learner left the requested groups. Only requests with group_id and since return scope exits. */
export type ScopeExitTombstone = {
  /** The result's ID. It never changes. */
  assessment_id: string;
  /** When the record left the feed. The parameter since filters by this time. */
  updated_at: string;
  /** Only scope exits have this field. */
  removed: {
    /** Always left_scope. The result still exists. */
    reason: 'left_scope';
    /** Always group_id: the filter that the result no longer matches. */
    scope: 'group_id';
  };
};

/** The page size, and the next page. */
export type Pagination = {
  /** Number of entries on a page. */
  limit: number;
  /** Whether another page follows. */
  has_more: boolean;
  /** Absolute URL of the next page. Null: this is the last page. */
  next: string | null;
};

/** The sums of all buckets, or the results in the requested buckets. */
export type FeedDigest = DigestBuckets | DigestMembers;

/** The sums of all buckets. */
export type DigestBuckets = {
  /** How many last bits of an ID are its bucket number. */
  bits: number;
  /** The X-Sync-Through at the time of the response. */
  through: string;
  /** Number of results. */
  n: number;
  /** Sum of the first words of the results modulo 2^32. */
  w1: number;
  /** Sum of the second words of the results modulo 2^32. */
  w2: number;
  /** For each bucket, from 0 on: n, w1 and w2 of the results whose IDs end in its bits. Hash 24 bytes with SHA-256: the 16 bytes of the ID, then updated_at in milliseconds since 1970 as 8 bytes, big-endian. The first 8 bytes of the hash are the two words of a result. */
  buckets: number[][];
};

/** The results in the requested buckets. */
export type DigestMembers = {
  /** How many last bits of an ID are its bucket number. */
  bits: number;
  /** The X-Sync-Through at the time of the response. */
  through: string;
  /** The results in the requested buckets. */
  assessments: {
    /** The result's ID. It never changes. */
    assessment_id: string;
    /** The updated_at of the result. */
    updated_at: string;
  }[];
};

/** A learner or a tombstone. */
export type LearnerEntry = Learner | LearnerTombstone;

/** A learner with the newest result of each subject. */
export type Learner = {
  /** ID of the learner. It does not change. */
  learner_id: string;
  /** A tombstone has the status deleted. */
  status: 'active';
  /** Your own learner reference. Null: the learner has none. */
  ref: string | null;
  /** Current name of the learner. */
  full_name: string;
  /** When the learner finished the newest assessment. Null: no result. */
  last_assessed_at: string | null;
  /** The newest completed result of each subject. */
  last_assessed: LastAssessed[];
  /** Active groups. */
  groups: GroupSummary[];
  /** When anything in this record last changed. The parameter since filters by this time. */
  updated_at: string;
};

/** The newest result in a subject. */
export type LastAssessed = {
  /** Subject of the assessment. */
  subject: 'digital' | 'english' | 'maths';
  /** The result's ID. It never changes. */
  assessment_id: string;
  /** When the learner finished the assessment. */
  assessed_at: string;
  /** Placement within the RQF level descriptors: Entry Level, Level 1, Level 2 or Level 3. Null: below Entry Level or not placed. */
  rqf_level: string | null;
  /** Level with the numbers of ILR PriorLevel: 1 is Entry Level, 2 is Level 1, 3 is Level 2, 5 is Level 3. Do not copy the code into an ILR return as prior attainment: it is an assessed level, not a qualification. Null with below_level_1 true: below Entry Level. Null with below_level_1 null: not placed. */
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  /** Whether the result is below Level 1. If subject is digital, this is the gate of the digital entitlement. Null: not placed. */
  below_level_1: boolean | null;
  /** Level, with the sub-level of Entry Level. Open enum. */
  working_level: string | null;
  /** The level above working_level. Null: working_level is the highest level. */
  recommended_next_level: string | null;
};

/** The learner was erased or merged. Remove the learner from your copy. */
export type LearnerTombstone = {
  /** ID of the learner. It does not change. */
  learner_id: string;
  /** A learner has the status active. */
  status: 'deleted';
  /** When the learner was removed. The parameter since filters by this time. */
  updated_at: string;
};

/** A learner with every completed result. */
export type LearnerDetail = {
  /** ID of the learner. It does not change. */
  learner_id: string;
  /** A tombstone has the status deleted. */
  status: 'active';
  /** Your own learner reference. Null: the learner has none. */
  ref: string | null;
  /** Current name of the learner. */
  full_name: string;
  /** When the learner finished the newest assessment. Null: no result. */
  last_assessed_at: string | null;
  /** The newest completed result of each subject. */
  last_assessed: LastAssessed[];
  /** Active groups. */
  groups: GroupSummary[];
  /** When anything in this record last changed. The parameter since filters by this time. */
  updated_at: string;
  /** Completed results, newest first. */
  assessments: Assessment[];
};

/** The learner, and the open invitation. */
export type Provisioned = {
  /** ID of the learner. It does not change. */
  learner_id: string;
  /** Your own learner reference. Null: the learner has none. */
  ref: string | null;
  /** The learner's full name. */
  full_name: string;
  /** Link to the assessment. Give the link to this learner only. */
  assessment_url: string;
  /** The invitation's ID. */
  invitation_id: string;
  /** When the invitation expires. */
  expires_at: string;
  /** All active groups of the learner. */
  groups: GroupSummary[];
  /** Archived groups of the request. The learner is a member, but responses show the groups only when they are active again. */
  archived_groups: GroupSummary[];
  /** When the invitation was created. */
  created_at: string;
};

/** The learner to provision. */
export type ProvisionInput = {
  /** The learner's full name. */
  full_name: string;
  /** Email address that receives the invitation. */
  email?: string;
  /** Your own learner reference. If a learner has this reference, the endpoint updates the learner. */
  ref?: string;
  /** Groups of the learner. The endpoint creates missing groups. groups requires ref. */
  groups?: GroupInput[];
};

/** A group to create, or an existing group. */
export type GroupInput = {
  /** Your own group reference. type and ref identify the group. */
  ref: string;
  /** Name of the group. */
  name: string;
  /** Type of the group. */
  type:
    | 'cohort'
    | 'course'
    | 'class'
    | 'curriculum_area'
    | 'campus'
    | 'funding_stream'
    | 'employer'
    | 'caseload'
    | 'registration_group'
    | 'teaching_group'
    | 'year_group';
};

/** A group of learners. */
export type Group = {
  /** The group's ID. It never changes. */
  id: string;
  /** Your own group reference. */
  ref: string;
  /** Name of the group. */
  name: string;
  /** Open enum. The organisation manages groups of type team in the console. */
  type: string;
  /** False: the group is archived. */
  active: boolean;
  /** When the group was created. */
  created_at: string;
  /** When the group last changed. The parameter since filters by this time. */
  updated_at: string;
};

/** A group with its number of members. */
export type GroupDetail = {
  /** The group's ID. It never changes. */
  id: string;
  /** Your own group reference. */
  ref: string;
  /** Name of the group. */
  name: string;
  /** Open enum. The organisation manages groups of type team in the console. */
  type: string;
  /** False: the group is archived. */
  active: boolean;
  /** When the group was created. */
  created_at: string;
  /** When the group last changed. The parameter since filters by this time. */
  updated_at: string;
  /** Number of active members. */
  member_count: number;
};

/** Changes to the group: at least one field. */
export type GroupChange = {
  /** The new name. */
  name?: string;
  /** False archives the group. True reactivates the group. */
  active?: boolean;
};

/** The learners to add or remove. */
export type LearnerRefs = {
  /** Your own learner references. */
  learner_refs: string[];
};

/** A webhook endpoint. */
export type WebhookEndpoint = {
  /** ID of the webhook endpoint. */
  id: string;
  /** URL that receives the events. */
  url: string;
  /** Types of events that the webhook endpoint receives. */
  event_types: ('assessment.completed' | 'learner.groups.updated')[];
  /** Groups whose events the webhook endpoint receives. Null: all groups. */
  group_ids: string[] | null;
  /** The service delivers to active webhook endpoints only. */
  status: 'active' | 'paused' | 'disabled';
  /** Why the service disabled the webhook endpoint. Null: not disabled. */
  disabled_reason: string | null;
  /** When the webhook endpoint was registered. */
  created_at: string;
  /** When the webhook endpoint last changed. */
  updated_at: string;
};

/** A new webhook endpoint with its signing secret. */
export type RegisteredWebhookEndpoint = {
  /** ID of the webhook endpoint. */
  id: string;
  /** URL that receives the events. */
  url: string;
  /** Types of events that the webhook endpoint receives. */
  event_types: ('assessment.completed' | 'learner.groups.updated')[];
  /** Groups whose events the webhook endpoint receives. Null: all groups. */
  group_ids: string[] | null;
  /** The service delivers to active webhook endpoints only. */
  status: 'active' | 'paused' | 'disabled';
  /** Why the service disabled the webhook endpoint. Null: not disabled. */
  disabled_reason: string | null;
  /** When the webhook endpoint was registered. */
  created_at: string;
  /** When the webhook endpoint last changed. */
  updated_at: string;
  /** Signing secret. Only this response shows the secret. */
  secret: string;
};

/** The webhook endpoint to register. */
export type WebhookInput = {
  /** HTTPS URL that the public internet can reach, without credentials or fragment. */
  url: string;
  /** Types of events to receive. Default: assessment.completed. */
  event_types?: ('assessment.completed' | 'learner.groups.updated')[];
  /** Groups whose events to receive. Default: all groups. */
  group_ids?: string[];
};

/** A line of GET /events. */
export type EventLine = {
  /** Open enum: open, delivery, heartbeat, end. Ignore other values. */
  type: string;
  /** Send this value after an interruption. */
  after: string;
  /** In an open line: the signing secret of this access key for GET /events. It does not change. */
  secret?: string;
  /** In an open line: the longest time between 2 lines. */
  heartbeat_seconds?: number;
  /** In a delivery line: the type of the event. */
  event?: string;
  /** In a delivery line: the ID of the delivery. A repeat of the event has the same ID. */
  delivery_id?: string;
  headers?: DeliveryHeaders;
  /** In a delivery line: the body of a delivery, as text. */
  body?: string;
  /** In an end line: stopping (connect again), key_gone or another reason. */
  reason?: string;
};

/** In a delivery line: the headers of a delivery. */
export type DeliveryHeaders = Record<string, string>;

/** A learner completed an assessment. */
export type AssessmentCompleted = {
  /** Type of the event. */
  event: 'assessment.completed';
  /** When the event occurred. */
  occurred_at: string;
  data: Assessment;
  /** Every group of the learner, also archived groups. */
  group_ids: string[];
};

/** A learner joined or left groups. */
export type LearnerGroupsUpdated = {
  /** Type of the event. */
  event: 'learner.groups.updated';
  /** Your own learner reference. */
  learner_ref: string;
  /** Groups that the learner joined. */
  added: string[];
  /** Groups that the learner left. */
  removed: string[];
  /** When the event occurred. */
  occurred_at: string;
};

/** An event that you know, or a newer one: pass over those by answering 2xx. */
export type WebhookEvent = AssessmentCompleted | LearnerGroupsUpdated | { event: string & {} };

/** Codes that the service refuses requests with. There can be new ones: treat those by their status. */
export type ErrorCode =
  | 'bad_request'
  | 'group_autocreate_disabled'
  | 'group_limit_exceeded'
  | 'idempotency_conflict'
  | 'idempotency_mismatch'
  | 'insufficient_credits'
  | 'internal_error'
  | 'invalid_active'
  | 'invalid_after'
  | 'invalid_assessed_from'
  | 'invalid_assessed_to'
  | 'invalid_below_level_1'
  | 'invalid_bits'
  | 'invalid_body'
  | 'invalid_buckets'
  | 'invalid_credentials'
  | 'invalid_cursor'
  | 'invalid_email'
  | 'invalid_event_types'
  | 'invalid_full_name'
  | 'invalid_group_id'
  | 'invalid_group_ids'
  | 'invalid_groups'
  | 'invalid_idempotency_key'
  | 'invalid_json'
  | 'invalid_learner_ref'
  | 'invalid_learner_refs'
  | 'invalid_name'
  | 'invalid_ref'
  | 'invalid_rqf_level_code'
  | 'invalid_since'
  | 'invalid_sort'
  | 'invalid_status'
  | 'invalid_subject'
  | 'invalid_type'
  | 'invalid_url'
  | 'listener_limit_exceeded'
  | 'method_not_allowed'
  | 'not_found'
  | 'payload_too_large'
  | 'rate_limited'
  | 'service_unavailable'
  | 'sort_with_since'
  | 'team_group_managed'
  | 'too_many_groups'
  | 'unknown_field'
  | 'unknown_group'
  | 'unknown_parameter'
  | 'unsupported_media_type'
  | 'webhook_limit_exceeded';

/** What each operation takes, and the body that it answers with. */
export type Operations = {
  /** Check the credentials */
  health: {
    path: {};
    query: {};
    body: undefined;
    reply: {
      /** Always ok. */
      status: 'ok';
      /** ID of your organisation. */
      organisation_id: string;
      /** Version of the API. */
      api_version: 'v1';
    };
  };
  /** Check the credentials: headers alone */
  healthHead: {
    path: {};
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** List results */
  listAssessments: {
    path: {};
    query: {
      /** Records whose updated_at is at or after this time: new and amended results, tombstones and, with group_id, scope exits. Send the X-Sync-Through of your last finished sync. */
      since?: string;
      /** One learner by your own learner reference. Safe with since: the reference names the same learner, also after a change or a merge. */
      learner_ref?: string;
      /** One or more subjects. Safe with since: it never changes. */
      subject?: readonly ('digital' | 'english' | 'maths')[];
      /** Results assessed at or after this time. Safe with since: it never changes. */
      assessed_from?: string;
      /** Results assessed at or before this time. Safe with since: it never changes. */
      assessed_to?: string;
      /** One or more of 1 (Entry), 2 (Level 1), 3 (Level 2), 5 (Level 3). Safe with since: it never changes. */
      rqf_level_code?: readonly (1 | 2 | 3 | 5)[];
      /** Whether the result is below Level 1. Safe with since: it never changes. */
      below_level_1?: boolean;
      /** completed, deleted or both. Unsafe with since: without deleted, an incremental sync does not show withdrawn results. */
      status?: readonly ('completed' | 'deleted')[];
      /** At most 20 group IDs: assessments of the groups' active members. Unsafe with since: a learner can leave a group: the response then contains a scope exit. If X-Sync-Digest differs, run a full sync. */
      group_id?: readonly string[];
      /** The order. By -updated_at, pages can miss records that change while you read. Rejected with since: an incremental sync has one order. */
      sort?: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
      /** Where the page begins. Take the cursor from pagination.next, and keep all other parameters. A cursor does not expire. */
      cursor?: string;
      /** Entries on a page. The service moves a number outside the range to the nearest limit. If the value is no whole number, the service uses the default. pagination.limit contains the number that the service used. */
      limit?: number;
    };
    body: undefined;
    reply: {
      /** The entries of this page. */
      data: FeedEntry[];
      pagination: Pagination;
    };
  };
  /** List results: headers alone */
  listAssessmentsHead: {
    path: {};
    query: {
      /** Records whose updated_at is at or after this time: new and amended results, tombstones and, with group_id, scope exits. Send the X-Sync-Through of your last finished sync. */
      since?: string;
      /** One learner by your own learner reference. Safe with since: the reference names the same learner, also after a change or a merge. */
      learner_ref?: string;
      /** One or more subjects. Safe with since: it never changes. */
      subject?: readonly ('digital' | 'english' | 'maths')[];
      /** Results assessed at or after this time. Safe with since: it never changes. */
      assessed_from?: string;
      /** Results assessed at or before this time. Safe with since: it never changes. */
      assessed_to?: string;
      /** One or more of 1 (Entry), 2 (Level 1), 3 (Level 2), 5 (Level 3). Safe with since: it never changes. */
      rqf_level_code?: readonly (1 | 2 | 3 | 5)[];
      /** Whether the result is below Level 1. Safe with since: it never changes. */
      below_level_1?: boolean;
      /** completed, deleted or both. Unsafe with since: without deleted, an incremental sync does not show withdrawn results. */
      status?: readonly ('completed' | 'deleted')[];
      /** At most 20 group IDs: assessments of the groups' active members. Unsafe with since: a learner can leave a group: the response then contains a scope exit. If X-Sync-Digest differs, run a full sync. */
      group_id?: readonly string[];
      /** The order. By -updated_at, pages can miss records that change while you read. Rejected with since: an incremental sync has one order. */
      sort?: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
      /** Where the page begins. Take the cursor from pagination.next, and keep all other parameters. A cursor does not expire. */
      cursor?: string;
      /** Entries on a page. The service moves a number outside the range to the nearest limit. If the value is no whole number, the service uses the default. pagination.limit contains the number that the service used. */
      limit?: number;
    };
    body: undefined;
    reply: undefined;
  };
  /** Find differences in a local copy */
  getAssessmentDigest: {
    path: {};
    query: {
      /** One or more subjects. */
      subject?: readonly ('digital' | 'english' | 'maths')[];
      /** One or more of 1 (Entry), 2 (Level 1), 3 (Level 2), 5 (Level 3). */
      rqf_level_code?: readonly (1 | 2 | 3 | 5)[];
      /** Whether the result is below Level 1. */
      below_level_1?: boolean;
      /** At most 20 group IDs: assessments of the groups' active members. */
      group_id?: readonly string[];
      /** How many last bits of an ID are its bucket number. Default: 16, which makes 65536 buckets. */
      bits?: number;
      /** List the results in these buckets instead of sums. */
      buckets?: readonly number[];
    };
    body: undefined;
    reply: {
      data: FeedDigest;
    };
  };
  /** Find differences in a local copy: headers alone */
  getAssessmentDigestHead: {
    path: {};
    query: {
      /** One or more subjects. */
      subject?: readonly ('digital' | 'english' | 'maths')[];
      /** One or more of 1 (Entry), 2 (Level 1), 3 (Level 2), 5 (Level 3). */
      rqf_level_code?: readonly (1 | 2 | 3 | 5)[];
      /** Whether the result is below Level 1. */
      below_level_1?: boolean;
      /** At most 20 group IDs: assessments of the groups' active members. */
      group_id?: readonly string[];
      /** How many last bits of an ID are its bucket number. Default: 16, which makes 65536 buckets. */
      bits?: number;
      /** List the results in these buckets instead of sums. */
      buckets?: readonly number[];
    };
    body: undefined;
    reply: undefined;
  };
  /** Read a result */
  getAssessment: {
    path: {
      /** The assessment's ID. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: {
      data: Assessment;
    };
  };
  /** Read a result: headers alone */
  getAssessmentHead: {
    path: {
      /** The assessment's ID. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** Read the evidence PDF */
  getReport: {
    path: {
      /** The assessment's ID. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: Uint8Array;
  };
  /** Read the evidence PDF: headers alone */
  getReportHead: {
    path: {
      /** The assessment's ID. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** List learners */
  listLearners: {
    path: {};
    query: {
      /** Learners whose updated_at is at or after this time. */
      since?: string;
      /** Where the page begins. Take the cursor from pagination.next, and keep all other parameters. A cursor does not expire. */
      cursor?: string;
      /** Entries on a page. The service moves a number outside the range to the nearest limit. If the value is no whole number, the service uses the default. pagination.limit contains the number that the service used. */
      limit?: number;
    };
    body: undefined;
    reply: {
      /** The entries of this page. */
      data: LearnerEntry[];
      pagination: Pagination;
    };
  };
  /** List learners: headers alone */
  listLearnersHead: {
    path: {};
    query: {
      /** Learners whose updated_at is at or after this time. */
      since?: string;
      /** Where the page begins. Take the cursor from pagination.next, and keep all other parameters. A cursor does not expire. */
      cursor?: string;
      /** Entries on a page. The service moves a number outside the range to the nearest limit. If the value is no whole number, the service uses the default. pagination.limit contains the number that the service used. */
      limit?: number;
    };
    body: undefined;
    reply: undefined;
  };
  /** Provision a learner */
  provisionLearner: {
    path: {};
    query: {};
    body: ProvisionInput;
    reply: {
      data: Provisioned;
    };
  };
  /** Read a learner with assessment history */
  getLearner: {
    path: {
      /** Your own learner reference, percent-encoded: / becomes %2F. */
      ref: string;
    };
    query: {};
    body: undefined;
    reply: {
      data: LearnerDetail;
    };
  };
  /** Read a learner with assessment history: headers alone */
  getLearnerHead: {
    path: {
      /** Your own learner reference, percent-encoded: / becomes %2F. */
      ref: string;
    };
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** List groups */
  listGroups: {
    path: {};
    query: {
      /** Groups whose updated_at is at or after this time. */
      since?: string;
      /** One or more group types. Safe with since: it never changes. */
      type?: readonly (
        | 'cohort'
        | 'course'
        | 'class'
        | 'curriculum_area'
        | 'campus'
        | 'funding_stream'
        | 'employer'
        | 'caseload'
        | 'registration_group'
        | 'teaching_group'
        | 'year_group'
        | 'team'
      )[];
      /** True: active groups only. False: archived groups only. Unsafe with since: an incremental sync does not show that a group left the list. Sync without active, and read active of each group. */
      active?: boolean;
      /** Where the page begins. Take the cursor from pagination.next, and keep all other parameters. A cursor does not expire. */
      cursor?: string;
      /** Entries on a page. The service moves a number outside the range to the nearest limit. If the value is no whole number, the service uses the default. pagination.limit contains the number that the service used. */
      limit?: number;
    };
    body: undefined;
    reply: {
      /** The groups of this page. */
      data: Group[];
      pagination: Pagination;
    };
  };
  /** List groups: headers alone */
  listGroupsHead: {
    path: {};
    query: {
      /** Groups whose updated_at is at or after this time. */
      since?: string;
      /** One or more group types. Safe with since: it never changes. */
      type?: readonly (
        | 'cohort'
        | 'course'
        | 'class'
        | 'curriculum_area'
        | 'campus'
        | 'funding_stream'
        | 'employer'
        | 'caseload'
        | 'registration_group'
        | 'teaching_group'
        | 'year_group'
        | 'team'
      )[];
      /** True: active groups only. False: archived groups only. Unsafe with since: an incremental sync does not show that a group left the list. Sync without active, and read active of each group. */
      active?: boolean;
      /** Where the page begins. Take the cursor from pagination.next, and keep all other parameters. A cursor does not expire. */
      cursor?: string;
      /** Entries on a page. The service moves a number outside the range to the nearest limit. If the value is no whole number, the service uses the default. pagination.limit contains the number that the service used. */
      limit?: number;
    };
    body: undefined;
    reply: undefined;
  };
  /** Create a group */
  createGroup: {
    path: {};
    query: {};
    body: GroupInput;
    reply: {
      data: Group;
    };
  };
  /** Read a group */
  getGroup: {
    path: {
      /** The group's ID. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: {
      data: GroupDetail;
    };
  };
  /** Read a group: headers alone */
  getGroupHead: {
    path: {
      /** The group's ID. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** Rename, archive or reactivate a group */
  changeGroup: {
    path: {
      /** The group's ID. */
      id: string;
    };
    query: {};
    body: GroupChange;
    reply: {
      data: GroupDetail;
    };
  };
  /** Add learners to a group */
  addMembers: {
    path: {
      /** The group's ID. */
      id: string;
    };
    query: {};
    body: LearnerRefs;
    reply: {
      /** Learners who joined. */
      added: string[];
      /** Learners who were members already. */
      already_members: string[];
      /** References of no learner. */
      not_found: string[];
    };
  };
  /** Remove learners from a group */
  removeMembers: {
    path: {
      /** The group's ID. */
      id: string;
    };
    query: {};
    body: LearnerRefs;
    reply: {
      /** Learners who left. */
      removed: string[];
      /** References of no member. */
      not_members: string[];
    };
  };
  /** List webhook endpoints */
  listWebhooks: {
    path: {};
    query: {};
    body: undefined;
    reply: {
      /** The webhook endpoints. */
      data: WebhookEndpoint[];
      pagination: Pagination;
    };
  };
  /** List webhook endpoints: headers alone */
  listWebhooksHead: {
    path: {};
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** Register a webhook endpoint */
  registerWebhook: {
    path: {};
    query: {};
    body: WebhookInput;
    reply: {
      data: RegisteredWebhookEndpoint;
    };
  };
  /** Remove a webhook endpoint */
  removeWebhook: {
    path: {
      /** ID of the webhook endpoint. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: undefined;
  };
};

export const operations = {
  health: { method: 'GET', path: '/health' },
  healthHead: { method: 'HEAD', path: '/health' },
  listAssessments: { method: 'GET', path: '/assessments' },
  listAssessmentsHead: { method: 'HEAD', path: '/assessments' },
  getAssessmentDigest: { method: 'GET', path: '/assessments/digest' },
  getAssessmentDigestHead: { method: 'HEAD', path: '/assessments/digest' },
  getAssessment: { method: 'GET', path: '/assessments/{id}' },
  getAssessmentHead: { method: 'HEAD', path: '/assessments/{id}' },
  getReport: { method: 'GET', path: '/assessments/{id}/report.pdf' },
  getReportHead: { method: 'HEAD', path: '/assessments/{id}/report.pdf' },
  listLearners: { method: 'GET', path: '/learners' },
  listLearnersHead: { method: 'HEAD', path: '/learners' },
  provisionLearner: { method: 'POST', path: '/learners' },
  getLearner: { method: 'GET', path: '/learners/{ref}' },
  getLearnerHead: { method: 'HEAD', path: '/learners/{ref}' },
  listGroups: { method: 'GET', path: '/groups' },
  listGroupsHead: { method: 'HEAD', path: '/groups' },
  createGroup: { method: 'POST', path: '/groups' },
  getGroup: { method: 'GET', path: '/groups/{id}' },
  getGroupHead: { method: 'HEAD', path: '/groups/{id}' },
  changeGroup: { method: 'PATCH', path: '/groups/{id}' },
  addMembers: { method: 'POST', path: '/groups/{id}/members' },
  removeMembers: { method: 'POST', path: '/groups/{id}/members/remove' },
  listWebhooks: { method: 'GET', path: '/webhooks' },
  listWebhooksHead: { method: 'HEAD', path: '/webhooks' },
  registerWebhook: { method: 'POST', path: '/webhooks' },
  removeWebhook: { method: 'DELETE', path: '/webhooks/{id}' },
} as const;
