import { domainNames as publishedNames, domainsOf } from '../bank/schema.ts';
import { formatMs } from '../clock.ts';
import { uuidOf } from '../random.ts';
import type { Random } from '../random.ts';
import { frameworkOf } from '../sittings/standards.ts';
import { enrolmentDay, workingInstant } from './calendar.ts';
import type { WorkingCalendar } from './calendar.ts';

export const subjects = ['digital', 'english', 'maths'] as const;
export type Subject = (typeof subjects)[number];

export type DomainStatus = 'secure' | 'developing' | 'needs_support' | 'not_assessed';
/** `score_pct` is an integer of 0 to 100, or null together with a status of null or `not_assessed`. */
export type PlannedDomain = { name: string; score_pct: number | null; status: DomainStatus | null };

/** An import record: an Assessment without `updated_at`, `status`, `evidence_pack_url`, `report_sha256` and groups. */
export type PlannedRecord = {
  assessment_id: string;
  learner: { ref: string | null; full_name: string };
  assessed_at: string;
  subject: Subject;
  framework: string;
  rqf_level: string | null;
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  below_level_1: boolean | null;
  working_level: string | null;
  recommended_next_level: string | null;
  is_borderline: boolean;
  needs_review: boolean;
  domains: PlannedDomain[];
};

/** The fields that an amendment may set; the others of a completed result are final. */
export type AmendableFields = Partial<
  Pick<
    PlannedRecord,
    'framework' | 'working_level' | 'recommended_next_level' | 'is_borderline' | 'needs_review' | 'domains'
  >
>;

export type PlannedResult = {
  record: PlannedRecord;
  /** Withdrawn after its import, so that the feed holds tombstones. Never together with `amend`. */
  withdraw: { reason: string } | null;
  /** Amended after its import; at least one field differs from the record. */
  amend: { reason: string; fields: AmendableFields } | null;
};

/** The domains of each subject as results show them. */
export const domainNames: Record<Subject, readonly string[]> = {
  digital: domainsOf.digital.map((domain) => publishedNames[domain]),
  english: domainsOf.english.map((domain) => publishedNames[domain]),
  maths: domainsOf.maths.map((domain) => publishedNames[domain]),
};

type Placement = Pick<
  PlannedRecord,
  'rqf_level' | 'rqf_level_code' | 'below_level_1' | 'working_level' | 'recommended_next_level'
>;

const WORKING_TOWARDS = 'Working towards Entry Level';
const fineRungs = [WORKING_TOWARDS, 'Entry Level 1', 'Entry Level 2', 'Entry Level 3', 'Level 1', 'Level 2', 'Level 3'];
const digitalRungs = [WORKING_TOWARDS, 'Entry Level', 'Level 1', 'Level 2', 'Level 3'];
const levelCodes: Record<string, 2 | 3 | 5> = { 'Level 1': 2, 'Level 2': 3, 'Level 3': 5 };

/** The names of a subject's rungs, lowest first. */
export const rungsOf = (subject: Subject): readonly string[] => (subject === 'digital' ? digitalRungs : fineRungs);

/** The level fields of a result at a rung: an index into `rungsOf(subject)`. */
export function placementAt(subject: Subject, rung: number): Placement {
  const rungs = rungsOf(subject);
  const working = rungs[rung]!;
  const code = levelCodes[working];
  const next = rungs[rung + 1] ?? null;
  if (rung === 0) {
    return {
      rqf_level: null,
      rqf_level_code: null,
      below_level_1: true,
      working_level: working,
      recommended_next_level: next,
    };
  }
  return {
    rqf_level: code === undefined ? 'Entry Level' : working,
    rqf_level_code: code ?? 1,
    below_level_1: code === undefined,
    working_level: working,
    recommended_next_level: next,
  };
}

export const statusOf = (scorePct: number): DomainStatus =>
  scorePct >= 65 ? 'secure' : scorePct >= 40 ? 'developing' : 'needs_support';

/** Abilities (standard normal) at which each rung above the lowest begins. */
const cuts: Record<Subject, readonly number[]> = {
  digital: [-1.6, -0.35, 0.65, 1.45],
  english: [-1.8, -1.25, -0.75, -0.1, 0.75, 1.65],
  maths: [-1.75, -1.2, -0.65, 0, 0.8, 1.6],
};
/** Half the width of the band around a Level 1, 2 or 3 cut in which a result counts as borderline. */
const BORDERLINE_HALF_WIDTH = 0.071;
const REVIEW_SHARE = 0.073;
const REVIEW_SHARE_BORDERLINE = 0.14;

/**
 * Nearly standard normal: six uniform draws, summed and scaled to mean 0 and variance 1. Additions give the same bits
 * everywhere; a logarithm and a cosine may differ between engines.
 */
export function normal(random: Random): number {
  let sum = 0;
  for (let i = 0; i < 6; i += 1) sum += random.float();
  return (sum - 3) * Math.SQRT2;
}

export type Outcome = Omit<PlannedRecord, 'assessment_id' | 'learner' | 'assessed_at'>;

function domainAt(random: Random, name: string, expected: number): PlannedDomain {
  const missing = random.float();
  if (missing < 0.025) return { name, score_pct: null, status: null };
  if (missing < 0.04) return { name, score_pct: null, status: 'not_assessed' };
  const score = Math.min(100, Math.max(0, Math.round(expected + 7 * normal(random))));
  return { name, score_pct: score, status: statusOf(score) };
}

/** What an assessment of a learner with this ability (standard normal scale) reports. */
export function outcomeAt(random: Random, subject: Subject, ability: number): Outcome {
  const edges = cuts[subject];
  let rung = 0;
  while (rung < edges.length && ability >= edges[rung]!) rung += 1;
  const levelCuts = edges.slice(-3);
  const nearest = levelCuts.reduce((best, cut) => (Math.abs(ability - cut) < Math.abs(ability - best) ? cut : best));
  const borderline = Math.abs(ability - nearest) < BORDERLINE_HALF_WIDTH;
  const placement = placementAt(subject, rung);
  return {
    subject,
    framework: frameworkOf(subject, placement.rqf_level),
    ...placement,
    is_borderline: borderline,
    needs_review: random.float() < (borderline ? REVIEW_SHARE_BORDERLINE : REVIEW_SHARE),
    // At a cut 65 % of the level is expected; the slope is about that of the shipped bank's test characteristic curve.
    domains: domainNames[subject].map((name) => domainAt(random, name, 65 + 20 * (ability - nearest))),
  };
}

/** An outcome with no placement at all, as some imported results are: too little was answered. */
function notPlaced(subject: Subject): Outcome {
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
    domains: domainNames[subject].map((name) => ({ name, score_pct: null, status: 'not_assessed' })),
  };
}

/** The middle of a rung on the ability scale, for continuing from a level that is known only by name. */
export function abilityAtRung(subject: Subject, rung: number): number {
  const edges = cuts[subject];
  const low = edges[rung - 1] ?? edges[0]! - 0.6;
  const high = edges[rung] ?? edges.at(-1)! + 0.6;
  return (low + high) / 2;
}

const withdrawalReasons = [
  'Recorded against the wrong learner',
  'Learner withdrew before the programme started',
  'Sat by somebody else',
  'Duplicate of another sitting',
  'Sitting interrupted and found unscorable',
];
export const withdrawalReason = (random: Random): string =>
  withdrawalReasons[Math.floor(random.float() * withdrawalReasons.length)]!;

/** A later correction that keeps the placement: a review closed, a borderline flag settled, a rung within Entry Level, a domain re-marked. */
export function amendmentOf(random: Random, record: Outcome): NonNullable<PlannedResult['amend']> {
  const choice = random.float();
  if (record.needs_review && choice < 0.7) {
    return { reason: 'Reviewed by the assessor: placement confirmed', fields: { needs_review: false } };
  }
  if (record.is_borderline && choice < 0.8) {
    return { reason: 'Placement confirmed in interview', fields: { is_borderline: false } };
  }
  if (record.rqf_level_code === 1 && record.subject !== 'digital' && choice < 0.5) {
    const rung = fineRungs.indexOf(record.working_level ?? '');
    if (rung >= 1 && rung <= 3) {
      const { working_level, recommended_next_level } = placementAt(record.subject, rung === 1 ? 2 : rung - 1);
      return { reason: 'Working level corrected after moderation', fields: { working_level, recommended_next_level } };
    }
  }
  const index = record.domains.findIndex((domain) => domain.score_pct !== null);
  if (index < 0 || choice >= 0.9) {
    return record.needs_review
      ? { reason: 'Reviewed by the assessor: placement confirmed', fields: { needs_review: false } }
      : { reason: 'Moderation sample: second look asked for', fields: { needs_review: true } };
  }
  const domains = record.domains.map((domain, i) => {
    if (i !== index) return { ...domain };
    const score = domain.score_pct! >= 50 ? domain.score_pct! - 4 : domain.score_pct! + 4;
    return { name: domain.name, score_pct: score, status: statusOf(score) };
  });
  return { reason: 'One item of this domain re-marked', fields: { domains } };
}

const WITHDRAWN_SHARE = 0.015;
const AMENDED_SHARE = 0.01;
const NOT_PLACED_SHARE = 0.005;
const MOST_RESULTS = 6;
/** Shares of learners with 0 to 6 results; the mean is 2.2. */
const countShares = [0.1, 0.26, 0.26, 0.2, 0.1, 0.05, 0.03];

/** How many results a learner has. One without a reference has one: nothing would tie a second to the same learner. */
function countOf(random: Random, hasRef: boolean): number {
  let left = random.float();
  let count = 0;
  while (count < MOST_RESULTS && left >= countShares[count]!) {
    left -= countShares[count]!;
    count += 1;
  }
  return hasRef ? count : 1;
}

/** One to three subjects, at least a third of `count`, so that nobody sits one subject more than three times. */
function subjectsOf(random: Random, count: number): Subject[] {
  const order: Subject[] = [...subjects];
  for (let i = 0; i < 2; i += 1) {
    const j = i + Math.floor(random.float() * (3 - i));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  const least = Math.ceil(count / 3);
  const most = Math.min(3, count);
  return order.slice(0, least + Math.floor(random.float() * (most - least + 1)));
}

/**
 * A learner's results, oldest first, with the working day on which the learner started: initial assessments within
 * two weeks or so, then the same subjects again after two to five months, usually somewhat better. Ids depend on seed,
 * number and place only, not on the day.
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
  const abilities = new Map<Subject, number>();
  const results: PlannedResult[] = [];
  for (let i = 0; i < count; i += 1) {
    const subject = chosen[i % chosen.length]!;
    const before = abilities.get(subject);
    const ability = before === undefined ? general + 0.5 * normal(random) : before + 0.28 + 0.2 * normal(random);
    abilities.set(subject, ability);
    const outcome = random.float() < NOT_PLACED_SHARE ? notPlaced(subject) : outcomeAt(random, subject, ability);
    const fate = random.float();
    results.push({
      record: {
        assessment_id: uuidOf('sandbox assessment', `${seed}\0${number}\0${i}`),
        learner,
        assessed_at: formatMs(workingInstant(calendar, start + offsets[i]!, random.float())),
        ...outcome,
      },
      withdraw: fate < WITHDRAWN_SHARE ? { reason: withdrawalReason(random) } : null,
      amend: fate > 1 - AMENDED_SHARE ? amendmentOf(random, outcome) : null,
    });
  }
  return { startMs: calendar.days[start]!, results };
}
