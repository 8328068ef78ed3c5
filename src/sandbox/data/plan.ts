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
  /** From 1. */
  number: number;
  /** Null for about 3 %, who have no groups and one result. */
  ref: string | null;
  full_name: string;
  /** Memberships before the moves: at most one of each type. */
  groups: GroupKey[];
  /** To be applied in order after the results. */
  moves: PlannedMove[];
  /** Oldest first. */
  results: PlannedResult[];
};

export type SandboxPlan = {
  organisation: { name: string; plan: 'standard'; credits: number };
  /** Start of the day after the last result, milliseconds since 1970 (UTC). */
  referenceMs: number;
  total: number;
  groups: PlannedGroup[];
  teams: PlannedTeam[];
  /** In the order of their numbers, made one by one. */
  learners(): Iterable<PlannedLearner>;
  /** Any number, also above the total. */
  learner(number: number): PlannedLearner;
};

const noRefShare = 0.03;

/**
 * References in the styles of management information systems. Prefix and number keep them unique. None has the shape of
 * a National Insurance number.
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
  // Each part has its own random stream, so a change of one part leaves the others as they were.
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
 * Plans a training provider. Seed and day (UTC) decide everything: learner k is the same for every total. Only the
 * groups are in memory, so a million learners can be planned.
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
