// Made from docs/openapi.json by test/support/documents/client-types.ts: npm run check -- --write.

/** An entry of the feed of results: a result, a tombstone, or a scope exit. */
export type FeedEntry = Assessment | Tombstone | ScopeExitTombstone;

/** The result of a completed assessment. */
export type Assessment = {
  /** The result's ID. It never changes. */
  assessment_id: string;
  /** Distinguishes a result from a tombstone. */
  status: 'completed';
  /** Sync position: rises whenever anything in this record changes. */
  updated_at: string;
  /** The learner who took the assessment. */
  learner: {
    /** Opaque; the same for as long as the learner exists. */
    learner_id: string;
    /** Your own learner reference. */
    ref: string | null;
    /** The learner's name now. */
    full_name: string;
  };
  /** When the learner finished the assessment. */
  assessed_at: string;
  /** Subject of the assessment. */
  subject: 'digital' | 'english' | 'maths';
  /** Name of the assessment framework. */
  framework: string;
  /** Placement within the RQF level descriptors: Entry Level, Level 1, Level 2, Level 3. */
  rqf_level: string | null;
  /** ILR PriorLevel code: Entry Level 1, Level 1 2, Level 2 3, Level 3 5. */
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  /** The result is below Level 1: the digital entitlement eligibility gate where subject is digital. */
  below_level_1: boolean | null;
  /** Level with its sub-level of Entry; open to other text. */
  working_level: string | null;
  /** The level above working_level; null at the highest level. */
  recommended_next_level: string | null;
  /** A 95 % confidence interval crossed the deciding rule's threshold. */
  is_borderline: boolean;
  /** The two scoring engines placed the result a full level or more apart. */
  needs_review: boolean;
  /** Time of the last human review of this result. Left out without a human review. The flags stay unchanged, because they show how the result came about. */
  reviewed_at?: string;
  /** The domains of the subject. */
  domains: Domain[];
  /** The probability of each level by its name in working_level, lowest level first, in thousandths that add up to 1. Provisional until the difficulty of the questions is measured on answers; an assumed error of the difficulty is included. Null if the probability is unknown, as in most imported results, or if a person has set the level. */
  level_probabilities: Record<string, number> | null;
  /** Address of the evidence PDF in this API. */
  evidence_pack_url: string;
  /** SHA-256 of the evidence PDF. */
  report_sha256: string | null;
  /** The learner's active groups. */
  groups: GroupSummary[];
};

/** A part of the subject, and how the learner did in it. */
export type Domain = {
  /** Name of the domain. */
  name: string;
  /** Score in per cent; null when not judged. */
  score_pct: number | null;
  /** Open enum: secure, developing, needs_support, not_assessed; null when not judged. */
  status: string | null;
};

/** A group of a learner. */
export type GroupSummary = {
  /** The group's ID. It never changes. */
  id: string;
  /** Your own group reference. */
  ref: string;
  /** Name of the group. */
  name: string;
  /** Open enum: tolerate values that you do not know. */
  type: string;
};

/** The record was withdrawn: remove it. */
export type Tombstone = {
  /** The result's ID. It never changes. */
  assessment_id: string;
  /** Distinguishes a tombstone from a result. */
  status: 'deleted';
  /** Sync position: when the record left the feed. */
  updated_at: string;
};

/** Only on polls with group_id and since: the learner left the requested groups. */
export type ScopeExitTombstone = {
  /** The result's ID. It never changes. */
  assessment_id: string;
  /** Sync position: when the record left the feed. */
  updated_at: string;
  /** Only scope exits have this field. */
  removed: {
    /** The result still exists. */
    reason: 'left_scope';
    /** The filter that the learner left. */
    scope: 'group_id';
  };
};

/** Where the next page is. */
export type Pagination = {
  /** The page size that was used. */
  limit: number;
  /** Whether another page follows. */
  has_more: boolean;
  /** Absolute address of the next page; null when exhausted. */
  next: string | null;
};

/** The sums of buckets, or with buckets the results in them. */
export type FeedDigest = DigestBuckets | DigestMembers;

/** The sums of every bucket. */
export type DigestBuckets = {
  /** Number of an ID's last bits that name its bucket. */
  bits: number;
  /** How far the feed went at the moment that this shows. */
  through: string;
  /** Live results. */
  n: number;
  /** The sum of their first words modulo 2^32. */
  w1: number;
  /** The sum of their second words modulo 2^32. */
  w2: number;
  /** For each bucket, from 0 on: n, w1 and w2 of the results whose IDs end in its bits. Hash 24 bytes with SHA-256: the 16 bytes of the ID, then updated_at in milliseconds since 1970 as 8 bytes, big-endian. The first 8 bytes of the hash are the two words of a result. */
  buckets: number[][];
};

/** The results in the requested buckets. */
export type DigestMembers = {
  /** Number of an ID's last bits that name its bucket. */
  bits: number;
  /** How far the feed went at the moment that this shows. */
  through: string;
  /** The results in the requested buckets. */
  assessments: {
    /** The result's ID. It never changes. */
    assessment_id: string;
    /** Sync position of the result. */
    updated_at: string;
  }[];
};

/** An entry of the list of learners: a learner or a tombstone. */
export type LearnerEntry = Learner | LearnerTombstone;

/** A learner with the newest result of each subject. */
export type Learner = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  /** Distinguishes a learner from a tombstone. */
  status: 'active';
  /** Your own learner reference. */
  ref: string | null;
  /** The learner's name now. */
  full_name: string;
  /** When the newest result was assessed; null without a result. */
  last_assessed_at: string | null;
  /** The newest completed result of each subject. */
  last_assessed: LastAssessed[];
  /** Active groups. */
  groups: GroupSummary[];
  /** What since is evaluated against. */
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
  /** Placement within the RQF level descriptors: Entry Level, Level 1, Level 2, Level 3. */
  rqf_level: string | null;
  /** ILR PriorLevel code: Entry Level 1, Level 1 2, Level 2 3, Level 3 5. */
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  /** The result is below Level 1: the digital entitlement eligibility gate where subject is digital. */
  below_level_1: boolean | null;
  /** Level with its sub-level of Entry; open to other text. */
  working_level: string | null;
  /** The level above working_level; null at the highest level. */
  recommended_next_level: string | null;
};

/** Nothing of the learner is left: remove what you hold of them. */
export type LearnerTombstone = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  /** Distinguishes a tombstone from a learner. */
  status: 'deleted';
  /** Sync position: when the learner was removed. */
  updated_at: string;
};

/** A learner with every completed result. */
export type LearnerDetail = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  /** Distinguishes a learner from a tombstone. */
  status: 'active';
  /** Your own learner reference. */
  ref: string | null;
  /** The learner's name now. */
  full_name: string;
  /** When the newest result was assessed; null without a result. */
  last_assessed_at: string | null;
  /** The newest completed result of each subject. */
  last_assessed: LastAssessed[];
  /** Active groups. */
  groups: GroupSummary[];
  /** What since is evaluated against. */
  updated_at: string;
  /** Completed results, newest first. */
  assessments: Assessment[];
};

/** The learner and the open invitation. */
export type Provisioned = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  /** Your own learner reference. */
  ref: string | null;
  /** The learner's full name. */
  full_name: string;
  /** Where the learner sits the assessment. Hand it to this learner only. */
  assessment_url: string;
  /** The invitation's ID. */
  invitation_id: string;
  /** When the invitation expires. */
  expires_at: string;
  /** All active groups of the learner. */
  groups: GroupSummary[];
  /** Groups of the request that are archived: joined, but shown nowhere until they are active again. */
  archived_groups: GroupSummary[];
  /** When the invitation was created. */
  created_at: string;
};

/** The learner to provision. */
export type ProvisionInput = {
  /** The learner's full name. */
  full_name: string;
  /** The address that receives the invitation. */
  email?: string;
  /** Your own learner reference. A reference that exists updates its learner. */
  ref?: string;
  /** Requires ref. Missing groups are created, existing ones joined. */
  groups?: GroupInput[];
};

/** A group to create or to join. */
export type GroupInput = {
  /** Your own group reference. With type, it identifies the group. */
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
  /** Open enum. Groups of type team are managed from the organisation's teams. */
  type: string;
  /** False: archived. */
  active: boolean;
  /** When the group was created. */
  created_at: string;
  /** The time that since is compared with. */
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
  /** Open enum. Groups of type team are managed from the organisation's teams. */
  type: string;
  /** False: archived. */
  active: boolean;
  /** When the group was created. */
  created_at: string;
  /** The time that since is compared with. */
  updated_at: string;
  /** Active members. */
  member_count: number;
};

/** At least one change. */
export type GroupChange = {
  /** The new name. */
  name?: string;
  /** False archives the group. */
  active?: boolean;
};

/** The learners to add or remove. */
export type LearnerRefs = {
  /** Your own learner references. */
  learner_refs: string[];
};

/** A webhook endpoint. */
export type WebhookEndpoint = {
  /** The endpoint's ID. */
  id: string;
  /** Address that receives the events. */
  url: string;
  /** Types of events that the endpoint receives. */
  event_types: ('assessment.completed' | 'learner.groups.updated')[];
  /** Null: all groups. */
  group_ids: string[] | null;
  /** Only an active endpoint receives deliveries. */
  status: 'active' | 'paused' | 'disabled';
  /** Why the service disabled the endpoint; otherwise null. */
  disabled_reason: string | null;
  /** When the endpoint was registered. */
  created_at: string;
  /** When the endpoint last changed. */
  updated_at: string;
};

/** A new webhook endpoint with its signing secret. */
export type RegisteredWebhookEndpoint = {
  /** The endpoint's ID. */
  id: string;
  /** Address that receives the events. */
  url: string;
  /** Types of events that the endpoint receives. */
  event_types: ('assessment.completed' | 'learner.groups.updated')[];
  /** Null: all groups. */
  group_ids: string[] | null;
  /** Only an active endpoint receives deliveries. */
  status: 'active' | 'paused' | 'disabled';
  /** Why the service disabled the endpoint; otherwise null. */
  disabled_reason: string | null;
  /** When the endpoint was registered. */
  created_at: string;
  /** When the endpoint last changed. */
  updated_at: string;
  /** Signing secret: shown this once only. */
  secret: string;
};

/** The endpoint to register. */
export type WebhookInput = {
  /** An https address that the public internet can reach, without credentials or fragment. */
  url: string;
  /** Omitted: assessment.completed. */
  event_types?: ('assessment.completed' | 'learner.groups.updated')[];
  /** Omitted: all groups. */
  group_ids?: string[];
};

/** A line of GET /events. */
export type EventLine = {
  /** Open enum: open, delivery, heartbeat, end. Pass over others. */
  type: string;
  /** Where to go on after an interruption. */
  after: string;
  /** Of open: what deliveries are signed with, the same whenever this key listens. */
  secret?: string;
  /** Of open: how often a line comes at least. */
  heartbeat_seconds?: number;
  /** Of delivery: the type of the event. */
  event?: string;
  /** Of delivery: the same for the same event, however often it comes. */
  delivery_id?: string;
  headers?: DeliveryHeaders;
  /** Of delivery: the bytes that an endpoint gets, as text. */
  body?: string;
  /** Of end: stopping (connect again), key_gone, or another. */
  reason?: string;
};

/** The headers that an endpoint gets. */
export type DeliveryHeaders = Record<string, string>;

/** A learner completed an assessment. */
export type AssessmentCompleted = {
  /** Type of the event. */
  event: 'assessment.completed';
  /** When the event occurred. */
  occurred_at: string;
  data: Assessment;
  /** Every group of the learner, archived ones included. */
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
  /** Follow the feed of results */
  listAssessments: {
    path: {};
    query: {
      /** Records whose updated_at is at or after it: new and amended results, tombstones, and with group_id scope exits. Use the X-Sync-Through of your last walk. */
      since?: string;
      /** One learner by your own reference. Safe with since: a reference that reaches a learner once reaches them for good, after a change or a merge too. */
      learner_ref?: string;
      /** One or more subjects. Safe with since: it never changes. */
      subject?: readonly ('digital' | 'english' | 'maths')[];
      /** Assessed at or after. Safe with since: it never changes. */
      assessed_from?: string;
      /** Assessed at or before. Safe with since: it never changes. */
      assessed_to?: string;
      /** One or more of 1 (Entry), 2 (Level 1), 3 (Level 2), 5 (Level 3). Safe with since: it never changes. */
      rqf_level_code?: readonly (1 | 2 | 3 | 5)[];
      /** Whether the result is below Level 1. Safe with since: it never changes. */
      below_level_1?: boolean;
      /** completed, deleted or both. Unsafe with since: without deleted a poll never says that a result was withdrawn. */
      status?: readonly ('completed' | 'deleted')[];
      /** At most 20 group IDs: assessments of the groups' active members. Unsafe with since: a learner can leave: the poll then carries a scope exit, and a full sync is still needed. */
      group_id?: readonly string[];
      /** The order. A walk by -updated_at can miss records that move while you walk. Refused with since: a delta feed has one order. */
      sort?: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
      /** Where the page begins: taken from pagination.next, opaque, and bound to the other parameters. It never expires. */
      cursor?: string;
      /** Size of the page. A number outside its range is moved to the nearest end, and anything else means the default; pagination.limit tells what was used. */
      limit?: number;
    };
    body: undefined;
    reply: {
      /** The entries of this page. */
      data: FeedEntry[];
      pagination: Pagination;
    };
  };
  /** Follow the feed of results: headers alone */
  listAssessmentsHead: {
    path: {};
    query: {
      /** Records whose updated_at is at or after it: new and amended results, tombstones, and with group_id scope exits. Use the X-Sync-Through of your last walk. */
      since?: string;
      /** One learner by your own reference. Safe with since: a reference that reaches a learner once reaches them for good, after a change or a merge too. */
      learner_ref?: string;
      /** One or more subjects. Safe with since: it never changes. */
      subject?: readonly ('digital' | 'english' | 'maths')[];
      /** Assessed at or after. Safe with since: it never changes. */
      assessed_from?: string;
      /** Assessed at or before. Safe with since: it never changes. */
      assessed_to?: string;
      /** One or more of 1 (Entry), 2 (Level 1), 3 (Level 2), 5 (Level 3). Safe with since: it never changes. */
      rqf_level_code?: readonly (1 | 2 | 3 | 5)[];
      /** Whether the result is below Level 1. Safe with since: it never changes. */
      below_level_1?: boolean;
      /** completed, deleted or both. Unsafe with since: without deleted a poll never says that a result was withdrawn. */
      status?: readonly ('completed' | 'deleted')[];
      /** At most 20 group IDs: assessments of the groups' active members. Unsafe with since: a learner can leave: the poll then carries a scope exit, and a full sync is still needed. */
      group_id?: readonly string[];
      /** The order. A walk by -updated_at can miss records that move while you walk. Refused with since: a delta feed has one order. */
      sort?: 'updated_at' | '-updated_at' | 'assessed_at' | '-assessed_at';
      /** Where the page begins: taken from pagination.next, opaque, and bound to the other parameters. It never expires. */
      cursor?: string;
      /** Size of the page. A number outside its range is moved to the nearest end, and anything else means the default; pagination.limit tells what was used. */
      limit?: number;
    };
    body: undefined;
    reply: undefined;
  };
  /** Find what a copy lacks */
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
      /** How many trailing bits of an ID name its bucket. There are 2 to the power of this number of buckets. Without it 16. */
      bits?: number;
      /** The buckets whose results are wanted, instead of sums. */
      buckets?: readonly number[];
    };
    body: undefined;
    reply: {
      data: FeedDigest;
    };
  };
  /** Find what a copy lacks: headers alone */
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
      /** How many trailing bits of an ID name its bucket. There are 2 to the power of this number of buckets. Without it 16. */
      bits?: number;
      /** The buckets whose results are wanted, instead of sums. */
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
      /** Learners whose updated_at is at or after it. */
      since?: string;
      /** Where the page begins: taken from pagination.next, opaque, and bound to the other parameters. It never expires. */
      cursor?: string;
      /** Size of the page. A number outside its range is moved to the nearest end, and anything else means the default; pagination.limit tells what was used. */
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
      /** Learners whose updated_at is at or after it. */
      since?: string;
      /** Where the page begins: taken from pagination.next, opaque, and bound to the other parameters. It never expires. */
      cursor?: string;
      /** Size of the page. A number outside its range is moved to the nearest end, and anything else means the default; pagination.limit tells what was used. */
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
      /** Groups whose updated_at is at or after it. */
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
      /** Only active groups, or only archived ones. Unsafe with since: a group can be archived or reactivated, and no poll reports that it left the list. Poll without active, and read it in each group. */
      active?: boolean;
      /** Where the page begins: taken from pagination.next, opaque, and bound to the other parameters. It never expires. */
      cursor?: string;
      /** Size of the page. A number outside its range is moved to the nearest end, and anything else means the default; pagination.limit tells what was used. */
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
      /** Groups whose updated_at is at or after it. */
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
      /** Only active groups, or only archived ones. Unsafe with since: a group can be archived or reactivated, and no poll reports that it left the list. Poll without active, and read it in each group. */
      active?: boolean;
      /** Where the page begins: taken from pagination.next, opaque, and bound to the other parameters. It never expires. */
      cursor?: string;
      /** Size of the page. A number outside its range is moved to the nearest end, and anything else means the default; pagination.limit tells what was used. */
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
  /** List the registered endpoints */
  listWebhooks: {
    path: {};
    query: {};
    body: undefined;
    reply: {
      /** The endpoints. */
      data: WebhookEndpoint[];
      pagination: Pagination;
    };
  };
  /** List the registered endpoints: headers alone */
  listWebhooksHead: {
    path: {};
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** Register an endpoint */
  registerWebhook: {
    path: {};
    query: {};
    body: WebhookInput;
    reply: {
      data: RegisteredWebhookEndpoint;
    };
  };
  /** Remove an endpoint */
  removeWebhook: {
    path: {
      /** The endpoint's ID. */
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
