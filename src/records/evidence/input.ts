import type { Subject } from '../../engine/scoring/levels.ts';

/** `answered`: the number of answered questions, if it is known. */
export type EvidenceDomain = {
  name: string;
  score_pct: number | null;
  status: string | null;
  answered?: number | null;
};

/** Engagement flags. Each means that the result is less certain than its interval says. */
export type EvidenceEngagementFlags = {
  few_answers?: { answered: number; min: number };
  /** `answers`: the number of answers given faster than the question can be read. `of`: the number of all answers. */
  fast?: { answers: number; of: number };
  change?: 'better' | 'worse';
  /** How many of the questions the learner had seen in earlier sittings. */
  repeated?: { questions: number; of: number };
};

/** `seconds`: working time without pauses. `asked`: what the question asked; absent in older editions. */
export type EvidenceItem = {
  id: string;
  right: boolean;
  skipped?: true;
  seconds?: number;
  asked?: { area: string; skill: string; format: string };
};

/** The sitting behind a result. Abilities are on the bank's logistic scale, for a population N(0, 1). */
export type EvidenceSitting = {
  started_at: string;
  finished_at: string;
  minutes: number;
  supervision: string;
  supervisor?: string;
  /** The signed-in person who released the start code, if the sitting needed one. */
  released?: { by: string; at: string };
  purpose?: 'initial' | 'progress' | 'end';
  retake_reason?: string;
  /** `date`: when this version of the standard was published, as `YYYY-MM-DD`. */
  standard: { name: string; version: string; date: string };
  irt_level: string;
  rule_level: string;
  reconciled_level: string;
  /**
   * The cut score that decided the level. `met`: the estimate reaches it. `inside_interval`: the 95 % interval contains
   * it.
   */
  deciding_rule: { level: string; theta: number; met: boolean; inside_interval: boolean };
  /** The difficulties of the questions are judgements of the authors, not yet measured from answers. */
  provisional?: true;
  /** The error from judged difficulties, in logits; absent if `se`, `ci` and the probabilities do not include it. */
  calibration_sd?: number;
  /** The level at which the domains are judged, if it differs from the level of the deciding rule. */
  domains_level?: string;
  /** A learner meets a level from the ability at which this share of its questions is answered correctly: 0.65. */
  threshold_share: number;
  theta: number;
  se: number;
  ci: readonly [number, number];
  cuts: readonly { level: string; theta: number }[];
  /**
   * The rule engine's table. `given`: questions at or next to the level. `needed`: the right answers that meet the
   * level; null if too few questions were given.
   */
  levels: readonly { level: string; right: number; given: number; needed: number | null }[];
  extreme: 'all_right' | 'all_wrong' | null;
  adjustments: readonly string[];
  not_assessed: readonly string[];
  /** Scored questions in their order. */
  items: readonly EvidenceItem[];
  /** Why the sitting ended; absent in older editions. */
  ended?: 'precise' | 'max_items' | 'no_items' | 'time_limit' | 'idle';
  /** The number of questions on the screen when the sitting ended. These questions are not scored. */
  not_reached?: number;
  /** The number of questions on trial that the learner answered or skipped; absent if there were none. */
  pilots?: number;
  pauses?: { count: number; seconds: number };
  /** `count` suspensions of the organisation during the sitting, for `seconds` in total. */
  suspended?: { count: number; seconds: number };
  signs?: EvidenceEngagementFlags;
  versions: readonly { name: string; version: string }[];
  declaration: { text: string; at: string } | null;
};

export type EvidenceAmendment = {
  at: string;
  reason: string;
  changes: readonly { field: string; before: unknown; after: unknown }[];
};

/**
 * The input of one edition of one result. Date-times are RFC 3339 in UTC. The meaning of a published field never
 * changes, because verification renders stored inputs again.
 */
export type EvidenceInput = {
  /** Absent means 1. Version 2 distinguishes a person's decision from the sitting's own result. */
  version?: 1 | 2;
  source: 'imported' | 'sitting';
  organisation_name: string;
  ukprn?: string;
  learner: { full_name: string; ref: string | null };
  assessment_id: string;
  /** 1 for the first edition; each amendment adds 1. */
  edition: number;
  subject: Subject;
  framework: string | null;
  assessed_at: string;
  rqf_level: string | null;
  rqf_level_code: number | null;
  below_level_1: boolean | null;
  working_level: string | null;
  recommended_next_level: string | null;
  is_borderline: boolean | null;
  needs_review: boolean | null;
  domains: readonly EvidenceDomain[];
  /** The probability of each level by its name, lowest first. */
  level_probabilities?: Readonly<Record<string, number>> | null;
  /** The public page where a file can be checked, in plain ASCII. The URL names no learner. */
  verify_url: string;
  sitting?: EvidenceSitting;
  /** The ID of the withdrawn result, if a person set another placement and this result replaces it. */
  replaces?: string;
  reviewed_at?: string;
  /** Amendments before this edition, the oldest first. */
  amendments?: readonly EvidenceAmendment[];
};
