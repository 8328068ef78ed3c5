import type { EvidenceSitting } from '../records/evidence/document.ts';
import { formatMs } from '../platform/time/clock.ts';
import type { Invitation } from './invitations/invitations.ts';
import { levelName, type Placement, publishedLevels, type Subject } from '../engine/scoring/levels.ts';
import type { ScoredResult } from '../engine/scoring/score.ts';
import { changeFlag, type Course } from './scoring/engagement-flags.ts';
import { standards } from './scoring/standards.ts';
import type { FrozenSettings } from './delivery.ts';
import type { SittingRow } from './store.ts';

export const declarationText = 'The answers are my own, and nobody helped me to answer the questions.';

const workingLevel = (subject: Subject, placement: Placement): string =>
  publishedLevels(subject, placement).working_level;

type ShownInvitation = Pick<Invitation, 'supervision' | 'supervisor' | 'purpose' | 'retake_reason'>;

const ifKnown = (
  { released_by: by, released_at: at }: SittingRow,
  { purpose, retake_reason, supervisor }: ShownInvitation,
): Partial<EvidenceSitting> => ({
  ...(by === null || at === null ? {} : { released: { by, at: formatMs(at.getTime()) } }),
  ...(purpose === null ? {} : { purpose }),
  ...(retake_reason === null ? {} : { retake_reason }),
  ...(supervisor === null ? {} : { supervisor }),
});

/** Returns the part of the evidence that describes a sitting. It depends on stored values only. */
export function evidenceOfSitting(
  sitting: SittingRow,
  result: ScoredResult,
  course: Course,
  shown: ShownInvitation,
): EvidenceSitting {
  const { subject, irt, rules, deciding } = result;
  const { extra_time_pct } = JSON.parse(sitting.settings) as FrozenSettings;
  const { standard, notAssessed } = standards[subject];
  return {
    started_at: formatMs(sitting.started_at.getTime()),
    finished_at: formatMs(sitting.finished_at!.getTime()),
    minutes: Math.max(1, Math.round(sitting.used_ms / 60_000)),
    supervision: shown.supervision,
    ...ifKnown(sitting, shown),
    standard,
    irt_level: workingLevel(subject, irt.placement),
    rule_level: rules.placement === null ? 'Not judged' : workingLevel(subject, rules.placement),
    reconciled_level: result.published.working_level,
    deciding_rule: {
      level: levelName(deciding.level),
      theta: deciding.threshold,
      met: deciding.side === 'at_or_above',
      inside_interval: deciding.isBorderline,
    },
    // No item is calibrated yet. After the first calibration, this value must depend on the items that were shown.
    provisional: true,
    calibration_sd: irt.calibrationSd,
    domains_level: levelName(result.domainLevel),
    threshold_share: result.tau,
    theta: irt.theta,
    se: irt.reportedSe,
    ci: [irt.ci.low, irt.ci.high],
    cuts: result.cuts.map(({ level, theta }) => ({ level: levelName(level), theta })),
    levels: rules.levels.map(({ level, bandRight, bandItems, s }) => ({
      level: levelName(level),
      right: bandRight,
      given: bandItems,
      needed: s,
    })),
    extreme: result.flags.includes('ceiling') ? 'all_right' : result.flags.includes('floor') ? 'all_wrong' : null,
    adjustments: [
      ...(extra_time_pct > 0 ? [`${extra_time_pct}% extra time`] : []),
      ...(sitting.declared_at === null ? ['Closed unfinished after 48 hours without activity'] : []),
    ],
    not_assessed: notAssessed,
    ...course,
    signs: { ...course.signs, ...changeFlag(result) },
    versions: [
      { name: 'Item bank', version: result.versions.bank },
      { name: 'IRT engine', version: result.versions.irt },
      { name: 'Rule engine', version: result.versions.rules },
      { name: 'Reconciliation', version: result.versions.reconciliation },
    ],
    declaration:
      sitting.declared_at === null ? null : { text: declarationText, at: formatMs(sitting.declared_at.getTime()) },
  };
}
