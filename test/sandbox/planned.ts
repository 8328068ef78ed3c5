import assert from 'node:assert/strict';
import type { GroupKey, PlannedLearner, PlannedResult } from '../../src/sandbox/data/plan.ts';
import { planSandbox } from '../../src/sandbox/data/plan.ts';

/** One planned sandbox, and what its tests share. */

export const dayMs = 86_400_000;
export const nowMs = Date.UTC(2026, 2, 4, 13, 37, 11);
export const seed = 'test';
export const plan = planSandbox({ seed, learners: 4_000, nowMs });
export const learners: PlannedLearner[] = [...plan.learners()];
export const results: PlannedResult[] = learners.flatMap((learner) => learner.results);
export const key = (group: GroupKey): string => `${group.type} ${group.ref}`;

export function near(actual: number, expected: number, tolerance: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected} ± ${tolerance}`);
}
export const shareOf = <T>(list: readonly T[], test: (one: T) => boolean): number =>
  list.filter(test).length / list.length;
