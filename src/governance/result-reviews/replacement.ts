import type { App } from '../../platform/app.ts';
import { findLive } from '../../records/results/results.ts';
import { contentOf, storedColumns } from '../../records/results/body.ts';
import type { NewAssessment, StoredAssessment } from '../../records/results/store.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { type Edition, renderReplacement } from '../../records/evidence/evidence.ts';
import {
  belowEntry,
  levelName,
  levelsOf,
  type Placement,
  publishedLevels,
  type Subject,
} from '../../engine/scoring/levels.ts';
import { publishedDomains } from '../../engine/scoring/score.ts';
import { judgeDomainsAgain } from '../../sittings/scoring/rescore-domains.ts';
import { frameworkOf } from '../../sittings/scoring/standards.ts';

/** The placements that a person can set, by name, lowest first. */
export function placementsOf(subject: Subject): Map<string, Placement> {
  return new Map([
    [belowEntry, 'below_entry' as Placement],
    ...levelsOf(subject).map((level) => [levelName(level), level] as const),
  ]);
}

/** A prepared result with its evidence, before either is stored. */
export type Replacement = { from: StoredAssessment; to: NewAssessment; edition: Edition; atMs: number };

/**
 * Prepares a replacement for a result whose level a person has changed. Levels cannot be amended, because platforms
 * filter results by level. The sitting stays; its domains are judged at the new level.
 * Flags and probabilities are dropped, because they explain the old level (docs/decisions/0016).
 * @returns `same` if the result already has that level
 */
export async function prepareReplacement(
  app: App,
  organisationId: number,
  assessmentId: string,
  placement: Placement,
  reason: string,
): Promise<Replacement | 'gone' | 'same'> {
  const from = await findLive(app.db, organisationId, assessmentId);
  if (from === undefined) return 'gone';
  const before = contentOf(from.body, from.assessed_at);
  const level = publishedLevels(before.subject, placement);
  if (level.working_level === before.working_level && level.rqf_level === before.rqf_level) return 'same';
  const atMs = app.clock.nowMs();
  const judged = await judgeDomainsAgain(app, organisationId, assessmentId, before.domains, {
    from: placementsOf(before.subject).get(before.working_level ?? ''),
    to: placement,
  });
  const texts = storedColumns({
    ...before,
    ...level,
    ...(judged === null ? {} : { domains: publishedDomains(judged.domains) }),
    framework: from.source === 'sitting' ? frameworkOf(before.subject, level.rqf_level) : before.framework,
    is_borderline: false,
    needs_review: false,
    level_probabilities: null,
    reviewed_at: formatMs(atMs),
  });
  const made = {
    assessment_id: app.random.uuid(),
    learner_id: from.learner_id,
    source: from.source,
    assessed_at: from.assessed_at,
  };
  const to = { ...made, learner: from.learner, ...texts };
  const edition = await renderReplacement(app, organisationId, from, to, { at: formatMs(atMs), reason, judged });
  return { from, to: { ...to, report_sha256: edition.sha256 }, edition, atMs };
}
