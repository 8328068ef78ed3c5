import type { Subject } from '../../engine/scoring/levels.ts';

/** A domain of the result. `answered` is how many of its questions were answered, where that is known. */
export type EvidenceDomain = {
  name: string;
  score_pct: number | null;
  status: string | null;
  answered?: number | null;
};

/** Signs that a result is less sure than its interval says. */
export type EvidenceSigns = {
  /** Fewer questions were answered than a full sitting has. */
  few_answers?: { answered: number; min: number };
  /** Answers that came sooner than their question can be read, of all answers. */
  fast?: { answers: number; of: number };
  /** From some question on the answers were much better, or worse, than those before. */
  change?: 'better' | 'worse';
};

/** What a sitting adds to the result. Abilities are on the logistic scale of the bank, population N(0, 1). */
export type EvidenceSitting = {
  started_at: string;
  finished_at: string;
  /** Minutes of working time. */
  minutes: number;
  /** How the sitting was supervised, in words. */
  supervision: string;
  /** Who supervised it, by name; absent where it is not known. */
  supervisor?: string;
  /** Who, signed in to the service, released the code that it began with; absent where it needed none. */
  released?: { by: string; at: string };
  /** What the assessment was for; absent where it was not said. */
  purpose?: 'initial' | 'progress' | 'end';
  /** Why there was another one, in the words of whoever invited; absent where nobody said. */
  retake_reason?: string;
  /** `date` is when this version of the standard was published, as `YYYY-MM-DD`. */
  standard: { name: string; version: string; date: string };
  /** Levels as `working_level` writes them. */
  irt_level: string;
  rule_level: string;
  reconciled_level: string;
  /** The cut that decided: its level, its ability, whether the estimate reaches it, whether the interval holds it. */
  deciding_rule: { level: string; theta: number; met: boolean; inside_interval: boolean };
  /** The questions' difficulties were judged, not yet measured on answers; absent where nothing was said of it. */
  provisional?: true;
  /** The error that this adds, in logits, which `se`, `ci` and the probabilities hold; absent where they don't. */
  calibration_sd?: number;
  /** The level that the domains are judged at, not always the result's; absent where it is the deciding rule's. */
  domains_level?: string;
  /** The share of a level's questions that stands for meeting the level, 0.65. */
  threshold_share: number;
  theta: number;
  se: number;
  /** Ends of the 95% confidence interval. */
  ci: readonly [number, number];
  /** One cut for each level, rising. */
  cuts: readonly { level: string; theta: number }[];
  /**
   * The rule engine's table: answers right, questions given in the band, and the number needed (null: too few given).
   */
  levels: readonly { level: string; right: number; given: number; needed: number | null }[];
  /** Every answer right, every answer wrong, or neither. */
  extreme: 'all_right' | 'all_wrong' | null;
  adjustments: readonly string[];
  not_assessed: readonly string[];
  /** Questions that count, in the order given. `skipped` is passed over; `seconds` of working time, without pauses. */
  items: readonly { id: string; right: boolean; skipped?: true; seconds?: number }[];
  /** Why no further question was asked; absent in editions of before it was printed. */
  ended?: 'precise' | 'max_items' | 'no_items' | 'time_limit' | 'idle';
  /** Questions on the screen when the sitting ended: they don't count. */
  not_reached?: number;
  /** Absent where pauses were not measured. */
  pauses?: { count: number; seconds: number };
  /** How often the organisation was suspended meanwhile, and for how long together; absent where it was not. */
  suspended?: { count: number; seconds: number };
  /** What a reader should know of how the answers came about; each is absent where there is nothing to say. */
  signs?: EvidenceSigns;
  /** Bank and engines, in the order in which they are printed. */
  versions: readonly { name: string; version: string }[];
  declaration: { text: string; at: string } | null;
};

/** One amendment: when, why in its maker's words, and the fields of the result that it changed. */
export type EvidenceAmendment = {
  at: string;
  reason: string;
  changes: readonly { field: string; before: unknown; after: unknown }[];
};

/**
 * Everything that can be known about one edition of one result. Date-times are RFC 3339 in UTC.
 * A shape once published is never changed: stored editions are rendered again from it to verify them.
 */
export type EvidenceInput = {
  /** The shape of this value; absent means 1. From 2 on, what a person has changed is told from what the sitting found. */
  version?: 1 | 2;
  source: 'imported' | 'sitting';
  organisation_name: string;
  /** The provider's UKPRN; absent where it is not known. */
  ukprn?: string;
  learner: { full_name: string; ref: string | null };
  assessment_id: string;
  /** 1 for the first, one more for each amendment. */
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
  /** How likely each level is, by its name, lowest first; absent or null where it is not known. */
  level_probabilities?: Readonly<Record<string, number>> | null;
  /** The public page where a file can be checked; plain ASCII. It names no learner. */
  verify_url: string;
  sitting?: EvidenceSitting;
  /** The result in whose place this one was recorded, with another placement by a person. */
  replaces?: string;
  /** When a person at the provider last looked at the result and decided; absent where nobody did. */
  reviewed_at?: string;
  /** What was amended before this edition, the oldest first; absent when nothing was. */
  amendments?: readonly EvidenceAmendment[];
};
