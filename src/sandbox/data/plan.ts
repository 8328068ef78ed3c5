import { fastRandom, hashOfNumber } from '../../platform/crypto/random.ts';
import { workingCalendar, type WorkingCalendar } from './calendar.ts';
import { fullName } from './people.ts';
import {
  type GroupKey,
  memberships,
  type PlannedGroup,
  plannedGroups,
  type PlannedMove,
  type PlannedTeam,
  plannedTeams,
} from './training-provider.ts';
import { type PlannedResult, resultsOf } from './results.ts';

export type { GroupKey, PlannedGroup, PlannedMove, PlannedTeam } from './training-provider.ts';
export type { AmendableFields, PlannedRecord, PlannedResult } from './results.ts';

export type PlannedLearner = {
  /** The learner's number in the plan. The first number is 1. */
  number: number;
  /** Null for about 3 % of the learners. They have no groups and one result. */
  ref: string | null;
  full_name: string;
  /** The learner's memberships before the moves, at most one of each type. */
  groups: GroupKey[];
  /** Moves between groups, applied in order after the results. */
  moves: PlannedMove[];
  /** Oldest first. */
  results: PlannedResult[];
};

export type SandboxPlan = {
  organisation: { name: string; plan: 'standard'; credits: number };
  /** The start of the day after the last result, in milliseconds since 1970 (UTC). */
  referenceMs: number;
  total: number;
  groups: PlannedGroup[];
  teams: PlannedTeam[];
  /** Yields the learners in the order of their numbers. Each learner is planned only when needed. */
  learners(): Iterable<PlannedLearner>;
  /** Plans any learner, also one with a number above `total`. */
  learner(number: number): PlannedLearner;
};

const noRefShare = 0.03;

/**
 * A reference in one of the styles of management information systems. Prefix and number make references unique, and
 * none looks like a National Insurance number.
 */
function refOf(salt: number, number: number): string | null {
  const kind = hashOfNumber(number ^ salt) / 2 ** 32;
  const digits = String(number).padStart(6, '0');
  if (kind < noRefShare) return null;
  if (kind < 0.84) return `LRN-${digits}`;
  if (kind < 0.88) return `ILR/3/${digits}`;
  if (kind < 0.92) return `mis:main:${digits}`;
  if (kind < 0.95) return `Learner.${digits}`;
  if (kind < 0.98) return `7_${digits}_ASF`;
  return `${digits}`;
}

function planLearner(seed: string, salt: number, number: number, calendar: WorkingCalendar): PlannedLearner {
  // Each part uses its own random numbers, so a code change in one part does not change the others.
  const ref = refOf(salt, number);
  const full_name = fullName(fastRandom(`${seed}\0name\0${number}`));
  const { startMs, results } = resultsOf(fastRandom(`${seed}\0results\0${number}`), calendar, seed, number, {
    ref,
    full_name,
  });
  const { groups, moves } =
    ref === null ? { groups: [], moves: [] } : memberships(fastRandom(`${seed}\0groups\0${number}`), number, startMs);
  return { number, ref, full_name, groups, moves, results };
}

/**
 * Plans a training provider. The plan depends only on the seed and the day (UTC), and learner k does not depend on the
 * number of learners. Only the groups are in memory, so a million learners can be planned.
 */
export function planSandbox(options: { seed: string; learners: number; nowMs: number }): SandboxPlan {
  const { seed, learners: total } = options;
  const salt = Math.floor(fastRandom(`${seed}\0ref`).float() * 2 ** 32);
  const calendar = workingCalendar(options.nowMs);
  const learner = (number: number): PlannedLearner => planLearner(seed, salt, number, calendar);
  return {
    organisation: { name: 'Riverside Skills and Training (sandbox)', plan: 'standard', credits: 25_000 },
    referenceMs: calendar.referenceMs,
    total,
    groups: plannedGroups(seed, total, calendar),
    teams: plannedTeams((number) => refOf(salt, number) !== null),
    *learners() {
      for (let number = 1; number <= total; number += 1) yield learner(number);
    },
    learner,
  };
}
