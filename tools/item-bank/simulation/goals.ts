import type { Subject } from '../../../src/engine/scoring/levels.ts';
import type { AtAbility } from './delivered.ts';
import { givenLeast } from './simulate.ts';
import type { SimulationReport } from './simulate.ts';
import type { ConditionFigures } from './figures.ts';

/**
 * A goal of a bank with its simulated figure. `figure` is null if there are no data. `se`, the standard error, is also
 * null if it is unknown.
 */
export type GoalResult = {
  goal: string;
  figure: number | null;
  se: number | null;
  min?: number;
  max?: number;
  met: boolean;
};

/** `cannot tell`: a bound lies within one standard error of the figure. */
export type Verdict = 'met' | 'not met' | 'cannot tell';

export function verdictOf({ figure, se, min, max, met }: GoalResult): Verdict {
  const isNear = (bound?: number) => bound !== undefined && Math.abs(figure! - bound) < se!;
  if (figure !== null && se !== null && (isNear(min) || isNear(max))) return 'cannot tell';
  return met ? 'met' : 'not met';
}

type Measured = { figure: number | null; se: number | null };
type Goal = { goal: string; measure: (report: SimulationReport) => Measured; min?: number; max?: number };

/** A share of `base` learners with its standard error. */
function share(figure: number | null, base: number): Measured {
  return { figure, se: figure === null || base <= 0 ? null : Math.sqrt((figure * (1 - figure)) / base) };
}

const ofAll = (figure: (report: SimulationReport) => number | null) => (r: SimulationReport) =>
  share(figure(r), r.population.learners);
const whereClear = (figure: (report: SimulationReport) => number | null) => (r: SimulationReport) =>
  share(figure(r), r.population.learners * r.population.gate.clear);

/** Goals that differ between subjects. */
const finestLeast: Record<Subject, number | null> = { digital: null, english: 0.73, maths: 0.75 };
const unflaggedLeast: Record<Subject, number> = { digital: 0.84, english: 0.93, maths: 0.93 };

const ofGap = ({ probabilityGap }: ConditionFigures): Measured => ({
  figure: probabilityGap?.levels.mean ?? null,
  se: probabilityGap?.levels.se ?? null,
});

function highestOverlap({ abilities }: SimulationReport): Measured {
  const near = abilities.filter(({ theta }) => Math.abs(theta) <= 2);
  const { share, se } = near.reduce((max, one) => (one.overlap.share > max.overlap.share ? one : max)).overlap;
  return { figure: share, se };
}

/** Goals for the delivered items. */
function deliveryGoals(subject: Subject): Goal[] {
  return [
    { goal: 'highest exposure of an item', measure: ofAll((r) => r.exposure.highest), max: 0.6 },
    {
      goal: 'overlap of two sittings',
      measure: ({ exposure: { overlap } }) => ({ figure: overlap.share, se: overlap.se }),
      max: 0.4,
    },
    {
      goal: 'overlap of two sittings of one ability, where it is highest between −2 and 2',
      measure: highestOverlap,
      max: 0.45,
    },
    {
      goal: 'sittings with more than 60 % of one response type',
      measure: ofAll((r) => r.content.sittingsOverTypeShare),
      max: 0,
    },
    {
      goal: 'statements of the bank that are reached',
      measure: (r) => ({ figure: r.content.statementsReached, se: null }),
      min: 1,
    },
    {
      goal: 'learners near its level who are given an item, where it is least',
      measure: (r) => share(r.minGiven.share, r.minGiven.learners),
      min: givenLeast,
    },
    ...(subject === 'english'
      ? [
          {
            goal: 'inference, purpose and language in Reading at Levels 1 and 2',
            measure: (r: SimulationReport) => share(r.content.interpretive, r.content.interpretiveBase),
            min: 0.4,
          },
        ]
      : []),
    { goal: 'blueprint met', measure: ofAll((r) => r.population.blueprintMet), min: 1 },
  ];
}

/** Goals for the statements of a result about itself. */
const honestyGoals: Goal[] = [
  {
    goal: 'stated probabilities of levels differ from what came true, on average',
    measure: (r) => ofGap(r.population),
    max: 0.02,
  },
  {
    goal: 'stated probabilities of levels differ from what came true, on average, harsh bank',
    measure: (r) => ofGap(r.stress.find(({ name }) => name === 'harsh')!.figures),
    max: 0.05,
  },
  {
    goal: 'a change in the middle is found where there is none',
    measure: ofAll((r) => r.population.changed),
    max: 0.035,
  },
  ...(['helped', 'gives_up', 'better_by_two'] as const).map((name): Goal => ({
    goal: {
      helped: 'learners who are helped from question 16 on are found',
      gives_up: 'learners who give up at question 16 are found',
      better_by_two: 'learners who are two logits abler from question 16 on are found',
    }[name],
    measure: (r) => {
      const change = r.changes.find((one) => one.name === name)!;
      return share(change.found, change.learners);
    },
    min: 0.8,
  })),
];

/** Whether the reported intervals hold the truth. */
const intervalGoals: Goal[] = [
  {
    goal: "the model's 95 % interval holds the truth, all learners",
    measure: ofAll((r) => r.population.coverage),
    min: 0.94,
    max: 0.96,
  },
  {
    goal: 'reported 95 % interval holds the truth, learners at the cut where it does so least',
    measure: (r) => share(Math.min(...r.atCuts.map((cut) => cut.reportedCoverage)), r.atCuts[0]!.learners),
    min: 0.93,
  },
  {
    goal: 'reported 95 % interval holds the truth, learners at |θ| = 2.5',
    measure: (r) => share(r.extremes.coverage, 2 * r.atCuts[0]!.learners),
    min: 0.88,
  },
];

const weakTheta = -2;
const ofWeak = (measure: (at: AtAbility) => Measured) => (r: SimulationReport) =>
  measure(r.abilities.find(({ theta }) => theta === weakTheta)!);

/** A weak learner is not kept long, and gets some answers right. */
const weakGoals: Goal[] = [
  {
    goal: 'answers right of learners at θ = −2',
    measure: ofWeak(({ right, learners, meanItems }) => share(right, learners * meanItems)),
    min: 0.4,
  },
  {
    goal: 'number of items of learners at θ = −2',
    measure: ofWeak(({ meanItems, itemsSe }) => ({ figure: meanItems, se: itemsSe })),
    max: 24,
  },
  {
    goal: 'items after question 8 more than 1.5 logits above the estimate, learners at θ = −2',
    measure: ofWeak(({ tooHard }) => ({ figure: tooHard, se: null })),
    max: 0,
  },
];

/** Domains that differ by a standard deviation of half a logit; of these, the ones that a result compares. */
const domainGoals: Goal[] = [
  {
    goal: 'domains at least 0.7 logits weaker than the others that are named',
    measure: ({ domains: [{ weakNamed }] }) => share(weakNamed.share, weakNamed.of),
    min: 0.6,
  },
  {
    goal: 'domains not weaker than the others that are named as weaker',
    measure: ({ domains: [{ wronglyNamed }] }) => share(wronglyNamed.share, wronglyNamed.of),
    max: 0.1,
  },
];

const decisionGoals: Goal[] = [
  { goal: 'Level 1 decision right', measure: ofAll((r) => r.population.gate.right), min: 0.91 },
  {
    goal: 'Level 1 decision right where the interval is clear of the cut',
    measure: whereClear((r) => r.population.gate.rightWhenClear),
    min: 0.995,
  },
  { goal: 'wrongly below Level 1', measure: ofAll((r) => r.population.gate.falseBelow), max: 0.05 },
  { goal: 'wrongly at or above Level 1', measure: ofAll((r) => r.population.gate.falseAbove), max: 0.05 },
  {
    goal: 'Level 1 decision equals that of the whole bank where the interval is clear of the cut',
    measure: whereClear((r) => r.population.equalsFullBankWhenClear),
    min: 0.995,
  },
  { goal: 'RQF level right', measure: ofAll((r) => r.population.rqf.right), min: 0.8 },
  { goal: 'RQF level right or one away', measure: ofAll((r) => r.population.rqf.withinOne), min: 0.995 },
];

function goalsOf(subject: Subject): Goal[] {
  const finest = finestLeast[subject];
  return [
    {
      goal: 'mean number of items',
      measure: ({ population: p }) => ({ figure: p.meanItems, se: p.standardErrors.meanItems }),
      max: 37,
    },
    {
      goal: 'RMSE of θ',
      measure: ({ population: p }) => ({ figure: p.rmse, se: p.standardErrors.rmse }),
      max: 0.295,
    },
    {
      goal: 'reliability',
      measure: ({ population: p }) => ({ figure: p.reliability, se: p.standardErrors.reliability }),
      min: 0.915,
    },
    ...intervalGoals,
    ...decisionGoals,
    ...(finest === null
      ? []
      : [
          {
            goal: 'finest level (Entry sub-levels too) right',
            measure: ofAll((r) => r.population.rqf.workingLevelRight),
            min: finest,
          },
        ]),
    { goal: 'results for review', measure: ofAll((r) => r.population.reviewRate), max: 0.1 },
    {
      goal: 'results that pages call close to the line between two levels',
      measure: ofAll((r) => r.population.closeRate),
      max: 0.45,
    },
    {
      goal: 'RMSE below that of random choice by',
      measure: (r) => ({ figure: r.rmseGain, se: r.rmseGainSe }),
      min: 0.2,
    },
    ...deliveryGoals(subject),
    ...weakGoals,
    ...domainGoals,
    ...honestyGoals,
    {
      goal: 'RQF level right where nothing is flagged',
      measure: ({ population: p }) => share(p.unflagged.right, p.learners * p.unflagged.share),
      min: unflaggedLeast[subject],
    },
  ];
}

/** Two conditions have no goal for the decision: skips bias the estimate, and the harsh bank has its own goals. */
const stressGateLeast = 0.9;

/** Every goal with its figure, in the order of the report. */
export function judgeGoals(report: SimulationReport): GoalResult[] {
  const stress = report.stress
    .filter((s) => s.name !== 'skips_blind' && s.name !== 'harsh')
    .map((s): Goal => ({
      goal: `Level 1 decision right: ${s.note}`,
      measure: () => share(s.figures.gate.right, s.figures.learners),
      min: stressGateLeast,
    }));
  return [...goalsOf(report.subject), ...stress].map(({ measure, ...goal }) => {
    const { figure, se } = measure(report);
    return {
      ...goal,
      figure,
      se,
      met: figure !== null && figure >= (goal.min ?? -Infinity) && figure <= (goal.max ?? Infinity),
    };
  });
}
