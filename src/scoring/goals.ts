import type { SimulationReport } from './simulate.ts';

/** One goal for a bank with what the simulation measured. `figure` is null where nothing could be measured. */
export type GoalResult = { goal: string; figure: number | null; least?: number; most?: number; met: boolean };

type Goal = { goal: string; figure: (report: SimulationReport) => number | null; least?: number; most?: number };

const goals: readonly Goal[] = [
  { goal: 'mean number of items', figure: (r) => r.population.meanItems, most: 37 },
  { goal: 'RMSE of θ', figure: (r) => r.population.rmse, most: 0.295 },
  { goal: 'reliability', figure: (r) => r.population.reliability, least: 0.915 },
  {
    goal: '95 % interval holds the truth, all learners',
    figure: (r) => r.population.coverage,
    least: 0.94,
    most: 0.96,
  },
  { goal: '95 % interval holds the truth, learners at the cuts', figure: (r) => r.atCutsCoverage.pooled, least: 0.925 },
  { goal: '95 % interval holds the truth, learners at |θ| = 2.5', figure: (r) => r.extremes.coverage, least: 0.88 },
  { goal: 'Level 1 decision right', figure: (r) => r.population.gate.right, least: 0.91 },
  {
    goal: 'Level 1 decision right where the interval is clear of the cut',
    figure: (r) => r.population.gate.rightWhenClear,
    least: 0.99,
  },
  { goal: 'wrongly below Level 1', figure: (r) => r.population.gate.falseBelow, most: 0.05 },
  { goal: 'wrongly at or above Level 1', figure: (r) => r.population.gate.falseAbove, most: 0.05 },
  { goal: 'Level 1 decision equals that of the whole bank', figure: (r) => r.population.equalsFullBank, least: 0.94 },
  { goal: 'RQF level right', figure: (r) => r.population.rqf.right, least: 0.8 },
  { goal: 'RQF level right or one away', figure: (r) => r.population.rqf.withinOne, least: 0.995 },
  { goal: 'results for review', figure: (r) => r.population.reviewRate, most: 0.1 },
  { goal: 'RMSE below that of random choice by', figure: (r) => r.rmseGain, least: 0.2 },
  { goal: 'highest exposure of an item', figure: (r) => r.exposure.highest, most: 0.6 },
  { goal: 'overlap of two sittings', figure: (r) => r.exposure.overlap, most: 0.4 },
  { goal: 'blueprint met', figure: (r) => r.population.blueprintMet, least: 1 },
];

/** Skips whatever the item asks bias the estimate itself, so that condition is reported without a goal. */
const stressGateLeast = 0.9;

/** Every goal with its figure, in the order of the report. Digital has a lower goal for unflagged results. */
export function judgeGoals(report: SimulationReport): GoalResult[] {
  const unflagged: Goal = {
    goal: 'RQF level right where nothing is flagged',
    figure: (r) => r.population.unflagged.right,
    least: report.subject === 'digital' ? 0.84 : 0.93,
  };
  const stress = report.stress
    .filter((s) => s.name !== 'skips_blind')
    .map((s): Goal => ({
      goal: `Level 1 decision right: ${s.note}`,
      figure: () => s.figures.gate.right,
      least: stressGateLeast,
    }));
  return [...goals, unflagged, ...stress].map(({ figure, ...goal }) => {
    const value = figure(report);
    return {
      ...goal,
      figure: value,
      met: value !== null && value >= (goal.least ?? -Infinity) && value <= (goal.most ?? Infinity),
    };
  });
}
