import { domainNames as publishedNames, domainsOf } from '../../engine/item-bank/schema.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { domainStatus } from '../../engine/scoring/domains.ts';
import {
  levelsOf,
  type Placement,
  publishedLevels,
  type PublishedLevels,
  type Subject,
  subjects,
} from '../../engine/scoring/levels.ts';
import { type Random, uuidOf } from '../../platform/crypto/random.ts';
import { frameworkOf } from '../../sittings/scoring/standards.ts';
import type { OptionalField, ShownDomain } from '../../records/results/body.ts';
import type { ImportRecord } from '../../records/results/result-fields.ts';
import { enrolmentDay, type WorkingCalendar, workingInstant } from './calendar.ts';
import { drawOutcome, nextLuck, outcomeTable } from './outcomes.ts';

export type DomainStatus = 'secure' | 'developing' | 'needs_support' | 'not_assessed';
/** `score_pct` is an integer from 0 to 100. It is null if the status is null or `not_assessed`. */
export type PlannedDomain = ShownDomain & { status: DomainStatus | null };

export type PlannedRecord = Required<Omit<ImportRecord, 'learner' | 'domains' | 'groups'>> & {
  learner: { ref: string | null; full_name: string };
  domains: PlannedDomain[];
};

export type AmendableFields = Partial<Pick<PlannedRecord, 'framework' | OptionalField>>;

export type PlannedResult = {
  record: PlannedRecord;
  /** A result is never both withdrawn and amended. */
  withdraw: { reason: string } | null;
  /** Contains at least one field that differs from the record. */
  amend: { reason: string; fields: AmendableFields } | null;
};

export const domainNames: Record<Subject, readonly string[]> = {
  digital: domainsOf.digital.map((domain) => publishedNames[domain]),
  english: domainsOf.english.map((domain) => publishedNames[domain]),
  maths: domainsOf.maths.map((domain) => publishedNames[domain]),
};

const placementsOf = (subject: Subject): readonly Placement[] => ['below_entry', ...levelsOf(subject)];

/** The names of a subject's levels, lowest first. */
export const rungsOf = (subject: Subject): readonly string[] =>
  placementsOf(subject).map((placement) => publishedLevels(subject, placement).working_level);

/** @param rung an index into `rungsOf(subject)` */
const placementAt = (subject: Subject, rung: number): PublishedLevels =>
  publishedLevels(subject, placementsOf(subject)[rung]!);

/**
 * A number from an almost normal distribution with mean 0 and variance 1: six uniform numbers are summed and scaled.
 * Every JavaScript engine computes a sum identically; logarithms may differ.
 */
export function normal(random: Random): number {
  let sum = 0;
  for (let i = 0; i < 6; i += 1) sum += random.float();
  return (sum - 3) * Math.SQRT2;
}

export type PlannedOutcome = Omit<PlannedRecord, 'assessment_id' | 'learner' | 'assessed_at'>;

/**
 * @param ability on a standard normal scale
 * @param luck as in `drawOutcome`
 */
export function outcomeAt(subject: Subject, ability: number, luck: number): PlannedOutcome {
  const { rung, is_borderline, needs_review, probabilities, domains } = drawOutcome(subject, ability, luck);
  const placement = placementAt(subject, rung);
  return {
    subject,
    framework: frameworkOf(subject, placement.rqf_level),
    ...placement,
    is_borderline,
    needs_review,
    level_probabilities: Object.fromEntries(rungsOf(subject).map((level, i) => [level, probabilities[i]!])),
    domains: domainNames[subject].map((name, i) => {
      const { score_pct, ...compared } = domains[i]!;
      return { name, score_pct, status: score_pct === null ? null : domainStatus(score_pct), ...compared };
    }),
  };
}

export function notPlaced(subject: Subject): PlannedOutcome {
  return {
    subject,
    framework: frameworkOf(subject, null),
    rqf_level: null,
    rqf_level_code: null,
    below_level_1: null,
    working_level: null,
    recommended_next_level: null,
    is_borderline: false,
    needs_review: false,
    level_probabilities: null,
    domains: domainNames[subject].map((name) => ({ name, score_pct: null, status: 'not_assessed' })),
  };
}

/** The middle of a level's range on the ability scale. */
export function abilityAtRung(subject: Subject, rung: number): number {
  const edges = outcomeTable().subjects[subject].cuts;
  const low = edges[rung - 1] ?? edges[0]! - 0.6;
  const high = edges[rung] ?? edges.at(-1)! + 0.6;
  return (low + high) / 2;
}

const withdrawalReasons = [
  'Recorded against the wrong learner',
  'Learner withdrew before the programme started',
  'Sat by another person',
  'Duplicate of another sitting',
  'Sitting interrupted and found unscorable',
];
export const withdrawalReason = (random: Random): string =>
  withdrawalReasons[Math.floor(random.float() * withdrawalReasons.length)]!;

/** A correction that does not change the level. */
export function amendmentOf(random: Random, record: PlannedOutcome): NonNullable<PlannedResult['amend']> {
  const drawn = random.float();
  if (record.needs_review && drawn < 0.7) {
    return { reason: 'Reviewed by the assessor: placement confirmed', fields: { needs_review: false } };
  }
  if (record.is_borderline && drawn < 0.8) {
    return { reason: 'Placement confirmed in interview', fields: { is_borderline: false } };
  }
  if (record.rqf_level_code === 1 && record.subject !== 'digital' && drawn < 0.5) {
    const rung = rungsOf(record.subject).indexOf(record.working_level ?? '');
    if (rung >= 1 && rung <= 3) {
      const { working_level, recommended_next_level } = placementAt(record.subject, rung === 1 ? 2 : rung - 1);
      // The probabilities do not describe a level that a person sets.
      const fields = { working_level, recommended_next_level, level_probabilities: null };
      return { reason: 'Working level corrected after moderation', fields };
    }
  }
  const index = record.domains.findIndex((domain) => domain.score_pct !== null);
  if (index < 0 || drawn >= 0.9) {
    return record.needs_review
      ? { reason: 'Reviewed by the assessor: placement confirmed', fields: { needs_review: false } }
      : { reason: 'Moderation sample: second look asked for', fields: { needs_review: true } };
  }
  const domains = record.domains.map((domain, i) => {
    if (i !== index) return { ...domain };
    const score = domain.score_pct! >= 50 ? domain.score_pct! - 4 : domain.score_pct! + 4;
    return { name: domain.name, score_pct: score, status: domainStatus(score) };
  });
  return { reason: 'One item of this domain re-marked', fields: { domains } };
}

const withdrawnShare = 0.015;
const amendedShare = 0.01;
const notPlacedShare = 0.005;
const maxResults = 6;
/** The shares of learners with 0 to 6 results. The mean is 2.2 results. */
const countShares = [0.1, 0.26, 0.26, 0.2, 0.1, 0.05, 0.03];

/** A learner without a reference has one result, because nothing would show that two belong to one learner. */
function countOf(random: Random, hasRef: boolean): number {
  let left = random.float();
  let count = 0;
  while (count < maxResults && left >= countShares[count]!) {
    left -= countShares[count]!;
    count += 1;
  }
  return hasRef ? count : 1;
}

/** Chooses one to three subjects, so that no subject is assessed more than three times. */
function subjectsOf(random: Random, count: number): Subject[] {
  const order: Subject[] = [...subjects];
  for (let i = 0; i < 2; i += 1) {
    const j = i + Math.floor(random.float() * (3 - i));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  const min = Math.ceil(count / 3);
  const max = Math.min(3, count);
  return order.slice(0, min + Math.floor(random.float() * (max - min + 1)));
}

/**
 * A learner's results, oldest first. Initial assessments lie within two weeks; the same subjects follow after two to
 * five months, usually with a better result.
 * IDs do not depend on the day, but on the seed, the learner's number and the result's index.
 */
export function resultsOf(
  random: Random,
  calendar: WorkingCalendar,
  seed: string,
  number: number,
  learner: PlannedRecord['learner'],
): { startMs: number; results: PlannedResult[] } {
  const count = countOf(random, learner.ref !== null);
  const chosen = subjectsOf(random, count);
  const offsets: number[] = [];
  let day = 0;
  for (let i = 0; i < count; i += 1) {
    const round = i > 0 && chosen.length > 0 && i % chosen.length === 0;
    if (i > 0) day += round ? 42 + Math.floor(random.float() * 62) : 1 + Math.floor(random.float() * 5);
    offsets.push(day);
  }
  const start = enrolmentDay(calendar, day, random.float());
  const general = normal(random) * 0.85;
  const sat = new Map<Subject, { ability: number; luck: number }>();
  const results: PlannedResult[] = [];
  for (let i = 0; i < count; i += 1) {
    const subject = chosen[i % chosen.length]!;
    const before = sat.get(subject);
    const ability = before === undefined ? general + 0.5 * normal(random) : before.ability + 0.9 + 0.6 * normal(random);
    const luck = before === undefined ? random.float() : nextLuck(random, before.luck);
    sat.set(subject, { ability, luck });
    const outcome = random.float() < notPlacedShare ? notPlaced(subject) : outcomeAt(subject, ability, luck);
    const fate = random.float();
    results.push({
      record: {
        assessment_id: uuidOf('sandbox assessment', `${seed}\0${number}\0${i}`),
        learner,
        assessed_at: formatMs(workingInstant(calendar, start + offsets[i]!, random.float())),
        ...outcome,
      },
      withdraw: fate < withdrawnShare ? { reason: withdrawalReason(random) } : null,
      amend: fate > 1 - amendedShare ? amendmentOf(random, outcome) : null,
    });
  }
  return { startMs: calendar.days[start]!, results };
}
