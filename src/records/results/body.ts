import { formatPosition, parseInstant } from '../../feed/time.ts';
import { facetOf } from './facet.ts';
import { type ReviewFlag, flagsOf } from './reviews.ts';
import type { Subject } from '../../engine/scoring/levels.ts';

/** Results of an import, and results from before the comparison, lack the optional fields. */
export type ShownDomain = {
  name: string;
  score_pct: number | null;
  status: string | null;
  next_level_pct?: number | null;
  /** `weaker`, `same` or `stronger` than the learner's other domains; null if they can't be compared. */
  compared?: string | null;
  /** In levels. */
  difference?: number | null;
  difference_se?: number | null;
};

/** A result's own content, without its learner, groups, position and report. */
export type ResultContent = {
  assessed_at_us: number;
  subject: Subject;
  framework: string;
  rqf_level: string | null;
  rqf_level_code: number | null;
  below_level_1: boolean | null;
  working_level: string | null;
  recommended_next_level: string | null;
  is_borderline: boolean;
  needs_review: boolean;
  reviewed_at?: string;
  domains: ShownDomain[];
  level_probabilities: Record<string, number> | null;
};

/** A result's stored body, and the values that other columns and the review queue take from it. */
export type StoredColumns = { facet: number; body: string; flags: ReviewFlag[] };

const domainFields: readonly (keyof ShownDomain)[] = [
  ...(['name', 'score_pct', 'status', 'next_level_pct', 'compared', 'difference', 'difference_se'] as const),
];

/** Makes the stored body once, when the result is completed, so that pages only insert it into their JSON. */
export function storedColumns(content: ResultContent): StoredColumns {
  const assessed_at = formatPosition(content.assessed_at_us);
  const { rqf_level, rqf_level_code, below_level_1, working_level, recommended_next_level } = content;
  const level = { rqf_level, rqf_level_code, below_level_1, working_level, recommended_next_level };
  const facet = facetOf(content.subject, content);
  if (facet === undefined) throw new Error('the level fields contradict each other');
  return {
    facet,
    flags: flagsOf(content),
    body: JSON.stringify({
      assessed_at,
      subject: content.subject,
      framework: content.framework,
      ...level,
      is_borderline: content.is_borderline,
      needs_review: content.needs_review,
      // assessmentJson checks whether a body ends with the domains, so `reviewed_at` comes before them.
      ...(content.reviewed_at === undefined ? {} : { reviewed_at: content.reviewed_at }),
      domains: content.domains.map((domain) => Object.fromEntries(domainFields.map((field) => [field, domain[field]]))),
      // Most imported results have no probabilities, so the body omits the null and assessmentJson adds it.
      ...(content.level_probabilities === null ? {} : { level_probabilities: content.level_probabilities }),
    }).slice(1, -1),
  };
}

const lastAssessedFields = [
  'subject',
  'assessment_id',
  'assessed_at',
  'rqf_level',
  'rqf_level_code',
  'below_level_1',
  'working_level',
  'recommended_next_level',
];

export const lastAssessedJson = (assessmentId: string, body: string): string =>
  JSON.stringify({ assessment_id: assessmentId, ...JSON.parse(`{${body}}`) }, lastAssessedFields);

export function contentOf(body: string, assessedAtUs: number): ResultContent {
  const { assessed_at: _, ...content } = JSON.parse(`{${body}}`);
  return { assessed_at_us: assessedAtUs, level_probabilities: null, ...content };
}

export type OptionalField =
  'working_level' | 'recommended_next_level' | 'is_borderline' | 'needs_review' | 'domains' | 'level_probabilities';

/**
 * The body after an import record has replaced a stored body. Fields that the record leaves out, and the review time,
 * are kept from the stored body.
 */
export function bodyOver(before: string, body: string, absent: readonly OptionalField[]): string {
  if (absent.length === 0 && !before.includes('"reviewed_at":')) return body;
  const old = contentOf(before, 0);
  const { assessed_at } = JSON.parse(`{${body}}`) as { assessed_at: string };
  return storedColumns({
    ...contentOf(body, parseInstant(assessed_at)!),
    ...Object.fromEntries(absent.map((name) => [name, old[name]])),
    ...(old.reviewed_at === undefined ? {} : { reviewed_at: old.reviewed_at }),
  }).body;
}

export function learnerJson(ref: string | null, fullName: string): string {
  return JSON.stringify({ ref, full_name: fullName });
}

export type AssessmentColumns = {
  assessment_id: string;
  learner_id: string;
  position: number;
  /** The payload version (src/platform/db/payload-version.ts). */
  shape: number;
  learner: string;
  body: string;
  report_sha256: string | null;
};

/**
 * Builds the JSON of an assessment from its stored parts. `reportBase` is the absolute URL of reports, up to the
 * assessment's ID.
 */
export function assessmentJson(row: AssessmentColumns, groupsJson: string, reportBase: string): string {
  const { assessment_id: id, learner, body } = row;
  // A body without probabilities ends with its list of domains.
  const unknownProbabilities = body.endsWith(']') ? ',"level_probabilities":null' : '';
  return (
    `{"assessment_id":"${id}","status":"completed","updated_at":"${formatPosition(row.position)}"` +
    `,"learner":{"learner_id":"${row.learner_id}",${learner.slice(1)},${body}${unknownProbabilities}` +
    `,"evidence_pack_url":"${reportBase}${id}/report.pdf"` +
    `,"report_sha256":${row.report_sha256 === null ? 'null' : `"${row.report_sha256}"`},"groups":${groupsJson}}`
  );
}

export function tombstoneJson(assessmentId: string, position: number): string {
  return `{"assessment_id":"${assessmentId}","status":"deleted","updated_at":"${formatPosition(position)}"}`;
}

export function scopeExitJson(assessmentId: string, position: number): string {
  return `{"assessment_id":"${assessmentId}","updated_at":"${formatPosition(position)}","removed":{"reason":"left_scope","scope":"group_id"}}`;
}
