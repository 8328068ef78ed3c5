// Made from docs/openapi.json by test/support/client-types.ts: npm run check -- --write.

export type Assessment = {
  assessment_id: string;
  status: 'completed';
  /** Sync position: rises whenever anything in this record changes. */
  updated_at: string;
  learner: {
    /** Opaque; the same for as long as the learner exists. */
    learner_id: string;
    /** Your own learner reference. */
    ref: string | null;
    full_name: string;
  };
  assessed_at: string;
  subject: 'digital' | 'english' | 'maths';
  /** Name of the assessment framework. */
  framework: string;
  /** Placement within the RQF level descriptors: Entry Level, Level 1, Level 2, Level 3. */
  rqf_level: string | null;
  /** ILR PriorLevel code: Entry Level 1, Level 1 2, Level 2 3, Level 3 5. */
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  /** The result is below Level 1: the digital entitlement eligibility gate where subject is digital. */
  below_level_1: boolean | null;
  working_level: string | null;
  recommended_next_level: string | null;
  /** A 95 % confidence interval crossed the deciding rule's threshold. */
  is_borderline: boolean;
  /** The two scoring engines placed the result a full level or more apart. */
  needs_review: boolean;
  /** When a person at the provider last looked at this result and decided on it. Left out where nobody did. The flags stay as they were: they say how the result came about. */
  reviewed_at?: string;
  domains: Domain[];
  /** How likely each level is, given the answers, by the name that working_level would have, lowest first; thousandths that add up to 1. Provisional, as every level of a sitting here, until the questions’ difficulties have been measured on answers: a stated error of theirs is included. Null where it is not known, as in most imported results, and where a person has set the level. */
  level_probabilities: Record<string, number> | null;
  evidence_pack_url: string;
  /** SHA-256 of the evidence PDF. */
  report_sha256: string | null;
  /** The learner's active groups. */
  groups: GroupSummary[];
};

export type Domain = {
  name: string;
  score_pct: number | null;
  /** Open enum: secure, developing, needs_support, not_assessed; null when not judged. */
  status: string | null;
};

export type GroupSummary = {
  id: string;
  /** The client's own group reference. */
  ref: string;
  name: string;
  /** Open enum: tolerate values that you do not know. */
  type: string;
};

/** The record was withdrawn: remove it. */
export type Tombstone = {
  assessment_id: string;
  status: 'deleted';
  updated_at: string;
};

/** Only on polls with group_id and since: the learner left the requested groups. */
export type ScopeExitTombstone = {
  assessment_id: string;
  updated_at: string;
  removed: {
    reason: 'left_scope';
    scope: 'group_id';
  };
};

export type Pagination = {
  /** The page size that was used. */
  limit: number;
  has_more: boolean;
  /** Absolute address of the next page; null when exhausted. */
  next: string | null;
};

export type DigestBuckets = {
  bits: number;
  /** How far the feed went at the moment that this shows. */
  through: string;
  /** Live results. */
  n: number;
  /** The sum of their first words modulo 2^32. */
  w1: number;
  /** The sum of their second words modulo 2^32. */
  w2: number;
  /** For each bucket, from 0 on, n, w1 and w2 of the results whose ids end in its bits. The first 8 bytes of SHA-256(the 16 bytes of the id, then updated_at in milliseconds since 1970 as 8 bytes, big-endian) are the two words of a result. */
  buckets: number[][];
};

export type DigestMembers = {
  bits: number;
  /** How far the feed went at the moment that this shows. */
  through: string;
  assessments: {
    assessment_id: string;
    updated_at: string;
  }[];
};

export type Learner = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  status: 'active';
  /** Your own learner reference. */
  ref: string | null;
  full_name: string;
  last_assessed_at: string | null;
  /** The newest completed result of each subject. */
  last_assessed: LastAssessed[];
  /** Active groups. */
  groups: GroupSummary[];
  /** What since is evaluated against. */
  updated_at: string;
};

export type LastAssessed = {
  subject: 'digital' | 'english' | 'maths';
  assessment_id: string;
  assessed_at: string;
  /** Placement within the RQF level descriptors: Entry Level, Level 1, Level 2, Level 3. */
  rqf_level: string | null;
  /** ILR PriorLevel code: Entry Level 1, Level 1 2, Level 2 3, Level 3 5. */
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  /** The result is below Level 1: the digital entitlement eligibility gate where subject is digital. */
  below_level_1: boolean | null;
  working_level: string | null;
  recommended_next_level: string | null;
};

/** Nothing of the learner is left: remove what you hold of them. */
export type LearnerTombstone = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  status: 'deleted';
  updated_at: string;
};

export type LearnerDetail = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  status: 'active';
  /** Your own learner reference. */
  ref: string | null;
  full_name: string;
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

export type Provisioned = {
  /** Opaque; the same for as long as the learner exists. */
  learner_id: string;
  ref: string | null;
  full_name: string;
  /** Where the learner sits the assessment. Hand it to this learner only. */
  assessment_url: string;
  invitation_id: string;
  expires_at: string;
  /** All active groups of the learner. */
  groups: GroupSummary[];
  /** Groups of the request that are archived: joined, but shown nowhere until they are active again. */
  archived_groups: GroupSummary[];
  created_at: string;
};

export type ProvisionInput = {
  full_name: string;
  email?: string;
  ref?: string;
  /** Requires ref. Missing groups are created, existing ones joined. */
  groups?: GroupInput[];
};

export type GroupInput = {
  ref: string;
  name: string;
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

export type Group = {
  id: string;
  ref: string;
  name: string;
  /** Open enum. Groups of type team are managed from the organisation's teams. */
  type: string;
  /** False: archived. */
  active: boolean;
  created_at: string;
  updated_at: string;
};

export type GroupDetail = {
  id: string;
  ref: string;
  name: string;
  /** Open enum. Groups of type team are managed from the organisation's teams. */
  type: string;
  /** False: archived. */
  active: boolean;
  created_at: string;
  updated_at: string;
  /** Active members. */
  member_count: number;
};

export type GroupChange = {
  name?: string;
  active?: boolean;
};

export type LearnerRefs = {
  learner_refs: string[];
};

export type WebhookEndpoint = {
  id: string;
  url: string;
  event_types: ('assessment.completed' | 'learner.groups.updated')[];
  /** Null: all groups. */
  group_ids: string[] | null;
  status: 'active' | 'paused' | 'disabled';
  disabled_reason: string | null;
  created_at: string;
  updated_at: string;
};

export type RegisteredWebhookEndpoint = {
  id: string;
  url: string;
  event_types: ('assessment.completed' | 'learner.groups.updated')[];
  /** Null: all groups. */
  group_ids: string[] | null;
  status: 'active' | 'paused' | 'disabled';
  disabled_reason: string | null;
  created_at: string;
  updated_at: string;
  /** Signing secret: shown this once only. */
  secret: string;
};

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

export type AssessmentCompleted = {
  event: 'assessment.completed';
  occurred_at: string;
  data: Assessment;
  /** Every group of the learner, archived ones included. */
  group_ids: string[];
};

export type LearnerGroupsUpdated = {
  event: 'learner.groups.updated';
  /** Your own learner reference. */
  learner_ref: string;
  /** Groups that the learner joined. */
  added: string[];
  /** Groups that the learner left. */
  removed: string[];
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
      status: 'ok';
      organisation_id: string;
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
      /** At most 20 group ids: assessments of the groups' active members. Unsafe with since: a learner can leave: the poll then carries a scope exit, and a sweep is still needed. */
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
      data: (Assessment | Tombstone | ScopeExitTombstone)[];
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
      /** At most 20 group ids: assessments of the groups' active members. Unsafe with since: a learner can leave: the poll then carries a scope exit, and a sweep is still needed. */
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
      /** At most 20 group ids: assessments of the groups' active members. */
      group_id?: readonly string[];
      /** How many of an id's trailing bits tell its bucket: 2 to the power of it are the buckets. Without it 16. */
      bits?: number;
      /** The buckets whose results are wanted, instead of sums. */
      buckets?: readonly number[];
    };
    body: undefined;
    reply: {
      data: DigestBuckets | DigestMembers;
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
      /** At most 20 group ids: assessments of the groups' active members. */
      group_id?: readonly string[];
      /** How many of an id's trailing bits tell its bucket: 2 to the power of it are the buckets. Without it 16. */
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
      /** The assessment's id. */
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
      /** The assessment's id. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** Read the evidence PDF */
  getReport: {
    path: {
      /** The assessment's id. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: Uint8Array;
  };
  /** Read the evidence PDF: headers alone */
  getReportHead: {
    path: {
      /** The assessment's id. */
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
      data: (Learner | LearnerTombstone)[];
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
      /** Your own learner reference. */
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
      /** Your own learner reference. */
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
      /** Only active groups, or only archived ones. Unsafe with since: a group can be archived or made active again, and a poll never says that it left the list: poll without active, and read active of each group. */
      active?: boolean;
      /** Where the page begins: taken from pagination.next, opaque, and bound to the other parameters. It never expires. */
      cursor?: string;
      /** Size of the page. A number outside its range is moved to the nearest end, and anything else means the default; pagination.limit tells what was used. */
      limit?: number;
    };
    body: undefined;
    reply: {
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
      /** Only active groups, or only archived ones. Unsafe with since: a group can be archived or made active again, and a poll never says that it left the list: poll without active, and read active of each group. */
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
      /** The group's id. */
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
      /** The group's id. */
      id: string;
    };
    query: {};
    body: undefined;
    reply: undefined;
  };
  /** Rename, archive or reactivate a group */
  changeGroup: {
    path: {
      /** The group's id. */
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
      /** The group's id. */
      id: string;
    };
    query: {};
    body: LearnerRefs;
    reply: {
      added: string[];
      already_members: string[];
      not_found: string[];
    };
  };
  /** Remove learners from a group */
  removeMembers: {
    path: {
      /** The group's id. */
      id: string;
    };
    query: {};
    body: LearnerRefs;
    reply: {
      removed: string[];
      not_members: string[];
    };
  };
  /** List the registered endpoints */
  listWebhooks: {
    path: {};
    query: {};
    body: undefined;
    reply: {
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
      /** The endpoint's id. */
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
