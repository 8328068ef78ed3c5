import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { givenLeast } from './simulate.ts';
import type { SimulationReport } from './simulate.ts';
import type { ConditionFigures } from './figures.ts';

/**
 * One goal for a bank with what the simulation measured. `figure` is null where nothing could be measured, `se`, its
 * standard error, also where none is known.
 */
export type GoalResult = {
  goal: string;
  figure: number | null;
  se: number | null;
  least?: number;
  most?: number;
  met: boolean;
};

type Measured = { figure: number | null; se: number | null };
type Goal = { goal: string; measure: (report: SimulationReport) => Measured; least?: number; most?: number };

/** A share of `base` learners. */
function share(figure: number | null, base: number): Measured {
  return { figure, se: figure === null || base <= 0 ? null : Math.sqrt((figure * (1 - figure)) / base) };
}

const ofAll = (figure: (report: SimulationReport) => number | null) => (r: SimulationReport) =>
  share(figure(r), r.population.learners);
const whereClear = (figure: (report: SimulationReport) => number | null) => (r: SimulationReport) =>
  share(figure(r), r.population.learners * r.population.gate.clear);

/** Goals that are not the same for all subjects. */
const itemsMost: Record<Subject, number> = { digital: 35, english: 37, maths: 35 };
const rmseMost: Record<Subject, number> = { digital: 0.29, english: 0.295, maths: 0.295 };
const finestLeast: Record<Subject, number | null> = { digital: null, english: 0.73, maths: 0.75 };
const unflaggedLeast: Record<Subject, number> = { digital: 0.84, english: 0.93, maths: 0.93 };

const ofGap = ({ probabilityGap }: ConditionFigures): Measured => ({
  figure: probabilityGap?.levels.mean ?? null,
  se: probabilityGap?.levels.se ?? null,
});

function highestOverlap({ abilities }: SimulationReport): Measured {
  const near = abilities.filter(({ theta }) => Math.abs(theta) <= 2);
  const { share, se } = near.reduce((most, one) => (one.overlap.share > most.overlap.share ? one : most)).overlap;
  return { figure: share, se };
}

/** What is delivered, and to whom. */
function deliveryGoals(subject: Subject): Goal[] {
  return [
    { goal: 'highest exposure of an item', measure: ofAll((r) => r.exposure.highest), most: 0.6 },
    {
      goal: 'overlap of two sittings',
      measure: ({ exposure: { overlap } }) => ({ figure: overlap.share, se: overlap.se }),
      most: 0.4,
    },
    {
      goal: 'overlap of two sittings of one ability, where it is highest between −2 and 2',
      measure: highestOverlap,
      most: 0.45,
    },
    {
      goal: 'sittings with more than 60 % of one response type',
      measure: ofAll((r) => r.content.sittingsOverTypeShare),
      most: 0,
    },
    {
      goal: 'statements of the bank that are reached',
      measure: (r) => ({ figure: r.content.statementsReached, se: null }),
      least: 1,
    },
    {
      goal: 'learners near its level who are given an item, where it is least',
      measure: (r) => share(r.leastGiven.share, r.leastGiven.learners),
      least: givenLeast,
    },
    ...(subject === 'english'
      ? [
          {
            goal: 'inference, purpose and language in Reading at Levels 1 and 2',
            measure: (r: SimulationReport) => share(r.content.interpretive, r.content.interpretiveBase),
            least: 0.4,
          },
        ]
      : []),
    { goal: 'blueprint met', measure: ofAll((r) => r.population.blueprintMet), least: 1 },
  ];
}

/** Whether what a result says of itself is so. */
const honestyGoals: Goal[] = [
  {
    goal: 'stated probabilities of levels differ from what came true, on average',
    measure: (r) => ofGap(r.population),
    most: 0.02,
  },
  {
    goal: 'stated probabilities of levels differ from what came true, on average, harsh bank',
    measure: (r) => ofGap(r.stress.find(({ name }) => name === 'harsh')!.figures),
    most: 0.05,
  },
  {
    goal: 'a change in the middle is found where there is none',
    measure: ofAll((r) => r.population.changed),
    most: 0.035,
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
    least: 0.8,
  })),
];

function goalsOf(subject: Subject): Goal[] {
  const finest = finestLeast[subject];
  return [
    {
      goal: 'mean number of items',
      measure: ({ population: p }) => ({ figure: p.meanItems, se: p.standardErrors.meanItems }),
      most: itemsMost[subject],
    },
    {
      goal: 'RMSE of θ',
      measure: ({ population: p }) => ({ figure: p.rmse, se: p.standardErrors.rmse }),
      most: rmseMost[subject],
    },
    {
      goal: 'reliability',
      measure: ({ population: p }) => ({ figure: p.reliability, se: p.standardErrors.reliability }),
      least: 0.915,
    },
    {
      goal: "the model's 95 % interval holds the truth, all learners",
      measure: ofAll((r) => r.population.coverage),
      least: 0.94,
      most: 0.96,
    },
    {
      goal: 'reported 95 % interval holds the truth, learners at the cut where it does so least',
      measure: (r) => share(Math.min(...r.atCuts.map((cut) => cut.reportedCoverage)), r.atCuts[0]!.learners),
      least: 0.93,
    },
    {
      goal: 'reported 95 % interval holds the truth, learners at |θ| = 2.5',
      measure: (r) => share(r.extremes.coverage, 2 * r.atCuts[0]!.learners),
      least: 0.88,
    },
    { goal: 'Level 1 decision right', measure: ofAll((r) => r.population.gate.right), least: 0.91 },
    {
      goal: 'Level 1 decision right where the interval is clear of the cut',
      measure: whereClear((r) => r.population.gate.rightWhenClear),
      least: 0.995,
    },
    { goal: 'wrongly below Level 1', measure: ofAll((r) => r.population.gate.falseBelow), most: 0.05 },
    { goal: 'wrongly at or above Level 1', measure: ofAll((r) => r.population.gate.falseAbove), most: 0.05 },
    {
      goal: 'Level 1 decision equals that of the whole bank where the interval is clear of the cut',
      measure: whereClear((r) => r.population.equalsFullBankWhenClear),
      least: 0.995,
    },
    { goal: 'RQF level right', measure: ofAll((r) => r.population.rqf.right), least: 0.8 },
    { goal: 'RQF level right or one away', measure: ofAll((r) => r.population.rqf.withinOne), least: 0.995 },
    ...(finest === null
      ? []
      : [
          {
            goal: 'finest level (Entry sub-levels too) right',
            measure: ofAll((r) => r.population.rqf.workingLevelRight),
            least: finest,
          },
        ]),
    { goal: 'results for review', measure: ofAll((r) => r.population.reviewRate), most: 0.1 },
    {
      goal: 'RMSE below that of random choice by',
      measure: (r) => ({ figure: r.rmseGain, se: r.rmseGainSe }),
      least: 0.2,
    },
    ...deliveryGoals(subject),
    ...honestyGoals,
    {
      goal: 'RQF level right where nothing is flagged',
      measure: ({ population: p }) => share(p.unflagged.right, p.learners * p.unflagged.share),
      least: unflaggedLeast[subject],
    },
  ];
}

/** Skips whatever the item asks bias the estimate itself, and the harsh bank has goals of its own: both without this one. */
const stressGateLeast = 0.9;

/** Every goal with its figure, in the order of the report. */
export function judgeGoals(report: SimulationReport): GoalResult[] {
  const stress = report.stress
    .filter((s) => s.name !== 'skips_blind' && s.name !== 'harsh')
    .map((s): Goal => ({
      goal: `Level 1 decision right: ${s.note}`,
      measure: () => share(s.figures.gate.right, s.figures.learners),
      least: stressGateLeast,
    }));
  return [...goalsOf(report.subject), ...stress].map(({ measure, ...goal }) => {
    const { figure, se } = measure(report);
    return {
      ...goal,
      figure,
      se,
      met: figure !== null && figure >= (goal.least ?? -Infinity) && figure <= (goal.most ?? Infinity),
    };
  });
}
