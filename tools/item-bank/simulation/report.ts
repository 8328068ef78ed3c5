import { calibrationSd } from '../../../src/engine/scoring/calibration.ts';
import type { GoalResult, Verdict } from './goals.ts';
import { verdictOf } from './goals.ts';
import type { DomainFigures, ShareOf } from './figures.ts';
import type { SimulationReport } from './simulate.ts';
import type { SubjectBank } from '../../../src/engine/item-bank/load.ts';
import { bankInformation, informationGaps, wantedInformation } from './gaps.ts';
import type { Gap } from './gaps.ts';
import { plotSvg } from './plots.ts';
import { levelName } from '../../../src/engine/scoring/levels.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';

export type SubjectSimulation = { report: SimulationReport; goals: GoalResult[] };

const percent = (value: number | null, places = 1): string =>
  value === null ? '–' : `${(100 * value).toFixed(places)} %`;
const figure = (value: number | null, places = 3): string =>
  value === null ? '–' : value.toFixed(places).replace('-', '−');

/** A vertical bar would end the table's cell. */
const inCell = (text: string): string => text.replaceAll('|', '\\|');

/** Goals that are measured as numbers, not as shares. */
const plainGoals = new Set([
  'mean number of items',
  'RMSE of θ',
  'reliability',
  'number of items of learners at θ = −2',
  'items after question 8 more than 1.5 logits above the estimate, learners at θ = −2',
]);

function goalRow(result: GoalResult): string {
  const { goal, figure: value, se, min, max } = result;
  const verdict = verdictOf(result);
  const places = goal.includes('number of items') ? 1 : 3;
  const show = (number: number | null, finer = 0) =>
    plainGoals.has(goal) ? figure(number, places + finer) : percent(number, 1 + finer);
  const bounds = [min === undefined ? '' : `≥ ${show(min)}`, max === undefined ? '' : `≤ ${show(max)}`]
    .filter((text) => text !== '')
    .join(' and ');
  return `| ${inCell(goal)} | ${bounds} | ${show(value)} | ${show(se, 1)} | ${verdict === 'met' ? verdict : `**${verdict}**`} |`;
}

const curve = Array.from({ length: 61 }, (_, n) => -3 + n / 10);

type Mark = { x: number; label: string };

/** The three plots of a subject, by file name. */
export function simulationPlots({ report }: Pick<SubjectSimulation, 'report'>, bank: SubjectBank): Map<string, string> {
  const { subject } = report;
  const marks = report.cuts.map((cut) => ({ x: cut.theta, label: levelName(cut.level) }));
  return new Map([
    [`${subject}-information.svg`, informationPlot(report, bank, marks)],
    [`${subject}-error.svg`, errorPlot(report, marks)],
    [`${subject}-exposure.svg`, exposurePlot(report)],
  ]);
}

function informationPlot({ subject, abilities }: SimulationReport, bank: SubjectBank, marks: Mark[]): string {
  const whole = curve.map((theta) => [theta, bankInformation(bank.version.items, theta)] as const);
  // Leaves room above the highest curve for the names of the cuts.
  const max = Math.ceil((1.2 * Math.max(...whole.map(([, y]) => y))) / 10) * 10;
  return plotSvg({
    title: `Information against ability, ${subject}`,
    description: `The whole bank's information, the mean information of a simulated sitting, and the information that an error of 0.295 needs, for abilities from −3 to 3.`,
    xLabel: 'Ability θ',
    yLabel: 'Information',
    x: [-3, 3],
    maxY: max,
    marks,
    series: [
      { name: 'whole bank', points: whole },
      { name: 'one sitting, mean', points: abilities.map((one) => [one.theta, one.meanInformation] as const) },
      {
        name: 'wanted',
        dashed: true,
        points: [
          [-3, wantedInformation],
          [3, wantedInformation],
        ],
      },
    ],
  });
}

function errorPlot({ subject, abilities }: SimulationReport, marks: Mark[]): string {
  return plotSvg({
    title: `Error against ability, ${subject}`,
    description:
      'The root mean squared error of the estimates and the mean of their standard errors, for learners of one ability each, from −3 to 3.',
    xLabel: 'Ability θ',
    yLabel: 'Error of θ',
    x: [-3, 3],
    maxY: Math.max(0.6, Math.ceil(10 * Math.max(...abilities.map((one) => one.rmse))) / 10),
    marks,
    series: [
      { name: 'RMSE', points: abilities.map((one) => [one.theta, one.rmse] as const) },
      {
        name: 'mean standard error',
        dashed: true,
        points: abilities.map((one) => [one.theta, one.meanSe] as const),
      },
    ],
  });
}

function exposurePlot({ subject, exposures: exposure }: SimulationReport): string {
  return plotSvg({
    title: `Exposure of items, ${subject}`,
    description: `The share of sittings that use each of the ${exposure.length} items, from the most to the least used.`,
    xLabel: 'Items, most used first',
    yLabel: 'Share of sittings',
    x: [0, Math.ceil(exposure.length / 20) * 20],
    maxY: 0.7,
    series: [
      { name: 'share of sittings', points: exposure.map(({ share }, n) => [n + 1, share] as const) },
      {
        name: 'highest allowed',
        dashed: true,
        points: [
          [0, 0.6],
          [Math.ceil(exposure.length / 20) * 20, 0.6],
        ],
      },
    ],
  });
}

function gapLines(gaps: readonly Gap[]): string[] {
  if (gaps.length === 0)
    return ['Between −2 and 2 a full sitting gives the information that an error of 0.295 needs at every ability.'];
  return [
    `An error of 0.295 needs information ${figure(wantedInformation, 1)}. Where even 40 items give less, new ones in place of the weakest (a = 1.3, constructed response) would close the gap:`,
    '',
    '| θ | 40 items give | new items | domain | with b from … to |',
    '|---:|---:|---:|---|---|',
    ...gaps.map(
      (gap) =>
        `| ${figure(gap.theta, 1)} | ${figure(gap.full, 1)} | ${gap.items} | ${gap.domain} | ${figure(gap.b[0], 1)} … ${figure(gap.b[1], 1)} |`,
    ),
  ];
}

const listed = (ids: readonly string[]): string => (ids.length === 0 ? 'none' : ids.join(', '));

/** A share of `base` learners with its standard error. */
function shareOf(value: number, base: number): string {
  return `${percent(value)} (${percent(Math.sqrt((value * (1 - value)) / Math.max(1, base)), 2)})`;
}

function decisionLines({ decisions, atCuts, learners }: SimulationReport): string[] {
  return [
    'Decisions for each cut: of all learners, and where the reported interval is clear of it; what the intervals hold of learners exactly at it. Standard errors in brackets.',
    '',
    '| Cut | Right | Clear | Right where clear | Model’s interval holds | Reported interval holds |',
    '|---|---:|---:|---:|---:|---:|',
    ...decisions.map(({ level, right, clear, rightWhenClear }, n) => {
      const at = atCuts[n]!;
      const whenClear = rightWhenClear === null ? '–' : shareOf(rightWhenClear, clear * learners);
      return `| ${levelName(level)} | ${shareOf(right, learners)} | ${percent(clear, 0)} | ${whenClear} | ${shareOf(at.coverage, at.learners)} | ${shareOf(at.reportedCoverage, at.learners)} |`;
    }),
    '',
  ];
}

function probabilityLines({ population, stress }: SimulationReport): string[] {
  const harsh = stress.find(({ name }) => name === 'harsh')!.figures;
  const rows = [
    { name: 'the model', gap: population.probabilityGap!, learners: population.learners },
    { name: 'the harsh bank', gap: harsh.probabilityGap!, learners: harsh.learners },
  ];
  return [
    'Stated probabilities against what came true: the mean distance over tenths, of all levels’ probabilities and of the likeliest level’s alone; then how often the likeliest level was right, by what was stated of it.',
    '',
    '| Learners answer by | All levels | Likeliest level | Stated → came true (results) |',
    '|---|---:|---:|---|',
    ...rows.map(({ name, gap }) => {
      const tenths = gap.likeliest.tenths
        .filter(({ results }) => results >= 50)
        .map(({ stated, true: came, results }) => `${percent(stated, 0)} → ${percent(came, 0)} (${results})`);
      const mean = ({ mean: value, se }: { mean: number; se: number }) => `${percent(value)} (${percent(se, 2)})`;
      return `| ${name} | ${mean(gap.levels)} | ${mean(gap.likeliest)} | ${tenths.join(', ')} |`;
    }),
    '',
  ];
}

function stressLines({ stress }: SimulationReport): string[] {
  return [
    'Harsh conditions. Standard errors in brackets; of an RMSE about RMSE/√(2n).',
    '',
    '| Condition | Learners | Bias | RMSE | Level 1 decision right | Where clear | Model’s interval holds | Reported interval holds |',
    '|---|---:|---:|---:|---:|---:|---:|---:|',
    ...stress.map(({ note, figures: f }) => {
      const { right, rightWhenClear, clear } = f.gate;
      const whenClear = rightWhenClear === null ? '–' : shareOf(rightWhenClear, clear * f.learners);
      return `| ${inCell(note)} | ${f.learners} | ${figure(f.bias)} | ${figure(f.rmse)} | ${shareOf(right, f.learners)} | ${whenClear} | ${shareOf(f.coverage, f.learners)} | ${shareOf(f.reportedCoverage, f.learners)} |`;
    }),
    '',
  ];
}

function deliveredLines({ content }: SimulationReport): string[] {
  const types = content.types.map(({ type, share }) => `${type.replaceAll('_', ' ')} ${percent(share)}`);
  return [`What was delivered: ${types.join(', ')}; ${content.statements} statements of the content in the bank.`, ''];
}

function changeLines({ changes, population }: SimulationReport): string[] {
  return [
    'Changes in the middle that person fit finds:',
    '',
    '| Learners | Found |',
    '|---|---:|',
    `| who answer by one ability (false alarms) | ${shareOf(population.changed!, population.learners)} |`,
    ...changes.map(({ note, found, learners }) => `| ${note} | ${shareOf(found, learners)} |`),
    '',
  ];
}

function domainLines({ domains }: SimulationReport): string[] {
  const of = (figure: (one: DomainFigures) => ShareOf) =>
    domains
      .map(figure)
      .map(({ share, of: base }) => (share === null ? '–' : shareOf(share, base)))
      .join(' | ');
  return [
    'Learners whose domains differ from each other by N(0, 0.5²): what results say of the domains that they compare.',
    '',
    '| Domains | The model | The harsh bank |',
    '|---|---:|---:|',
    `| compared, of all domains | ${of((one) => one.compared)} |`,
    `| at least 0.7 logits weaker than the others: named as weaker | ${of((one) => one.weakNamed)} |`,
    `| 0.6 to 0.8 logits weaker than the others: named as weaker | ${of((one) => one.aboutNamed)} |`,
    `| not weaker than the others: named as weaker | ${of((one) => one.wronglyNamed)} |`,
    `| named as weaker: not weaker | ${of((one) => one.wrongOfNamed)} |`,
    '',
  ];
}

function retakeLines({ retakes }: SimulationReport): string[] {
  return [
    'Sittings of one learner within a year, the ability unchanged. An item that was seen is taken to be as hard as before.',
    '',
    '| Sitting | Items | RMSE of θ | Items seen before |',
    '|---:|---:|---:|---:|',
    ...retakes.map(
      ({ sitting, meanItems, rmse, se, repeated }) =>
        `| ${sitting} | ${figure(meanItems, 1)} | ${figure(rmse)} (${figure(se)}) | ${percent(repeated)} |`,
    ),
    '',
  ];
}

const density = (z: number): number => Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI);

/**
 * The effect of such errors at cuts, and the error that a goal would need. No other selection or stopping rule can do
 * better.
 */
function limitLines({ cuts, population, abilities, stress }: SimulationReport): string[] {
  const gate = cuts.find(({ level }) => level === 'level1')!.theta;
  const perError = (places: readonly number[]): number =>
    Math.sqrt(2 / Math.PI) * places.reduce((sum, theta) => sum + density(theta), 0);
  const atGate = perError([gate]);
  const atAll = perError(cuts.map(({ theta }) => theta));
  const guessers = stress.find(({ name }) => name === 'guessers')!.figures;
  const above = abilities.find(({ theta }) => theta >= gate)!;
  return [
    'What the goals for decisions can reach. An error of SE takes φ(c)·√(2/π)·SE of learners with abilities N(0, 1) over a cut at c; neighbouring cuts share some of them, so that the sum over all cuts is an upper bound.',
    '',
    '| | Level 1 | All cuts |',
    '|---|---:|---:|',
    `| wrong, for each tenth of error | ${percent(0.1 * atGate)} | ${percent(0.1 * atAll)} |`,
    `| right at the mean standard error of ${figure(population.meanSe)} | ${percent(1 - atGate * population.meanSe)} | ${percent(1 - atAll * population.meanSe)} |`,
    `| right at ${figure(above.meanSe)}, the mean at θ = ${figure(above.theta, 1)} | ${percent(1 - atGate * above.meanSe)} | ${percent(1 - atAll * above.meanSe)} |`,
    `| mean standard error that 91 % at Level 1 needs | ${figure(0.09 / atGate)} | |`,
    '',
    `Of learners who pick at random on every choice item nothing is known but that: were a tenth of learners such, and all of them placed below Level 1, ${percent(0.9 * population.gate.right + 0.1 * shareBelow(gate))} would be right (simulated: ${percent(guessers.gate.right)}). What else was tried, and what each constraint costs, stands in [decision 0017](decisions/0017-stop-when-the-level-is-settled.md).`,
    '',
  ];
}

/** The share of N(0, 1) below z, by the midpoint rule. */
function shareBelow(z: number): number {
  const step = 0.001;
  let share = 0;
  for (let x = -8 + step / 2; x < z; x += step) share += density(x) * step;
  return share;
}

const titles: Record<Subject, string> = { digital: 'Digital', english: 'English', maths: 'Maths' };

function goalLines(goals: readonly GoalResult[]): string[] {
  const named = (verdict: Verdict) => goals.filter((goal) => verdictOf(goal) === verdict).map((goal) => goal.goal);
  const [missed, open] = [named('not met'), named('cannot tell')];
  return [
    missed.length === 0
      ? `No goal of ${goals.length} is missed.`
      : `Not met, of ${goals.length} goals: ${missed.join('; ')}.`,
    ...(open.length === 0
      ? []
      : ['', `Cannot tell, because the goal lies within one standard error: ${open.join('; ')}.`]),
    '',
    '| Goal | Wanted | Simulated | Standard error | |',
    '|---|---|---:|---:|---|',
    ...goals.map(goalRow),
  ];
}

function subjectLines(simulation: SubjectSimulation, bank: SubjectBank, plots: string): string[] {
  const { report, goals } = simulation;
  const { subject, population: all, abilities } = report;
  return [
    `## ${titles[subject]}`,
    '',
    `${report.items} items, ${report.learners.toLocaleString('en-GB')} learners. Cuts: ${report.cuts.map((cut) => `${levelName(cut.level)} ${figure(cut.theta, 2)}`).join(', ')}.`,
    '',
    ...goalLines(goals),
    '',
    '| Also measured | |',
    '|---|---:|',
    `| bias of θ | ${figure(all.bias)} |`,
    `| mean standard error | ${figure(all.meanSe)} |`,
    `| finest level (Entry sub-levels too) right | ${percent(all.rqf.workingLevelRight)} |`,
    `| is_borderline of the API | ${percent(all.borderlineRate)} |`,
    `| RQF level right, IRT engine alone | ${percent(all.irtAlone.rqfRight)} |`,
    `| RQF level right, rule engine alone | ${percent(all.rulesAlone.rqfRight)} |`,
    `| Level 1 decision equals that of the whole bank, all learners | ${percent(all.equalsFullBank)} |`,
    `| items never given to these learners | ${report.exposure.neverGiven} |`,
    `| items in more than 40 % of sittings | ${report.exposure.over40Percent} |`,
    `| largest share of one response type in any sitting | ${percent(report.content.highestTypeShare)} |`,
    `| items given to less than 1 % of learners near their level | ${listed(report.minGiven.under)} |`,
    '',
    ...decisionLines(report),
    ...limitLines(report),
    ...probabilityLines(report),
    ...stressLines(report),
    ...deliveredLines(report),
    ...changeLines(report),
    ...domainLines(report),
    ...retakeLines(report),
    `![Information against ability](${plots}/${subject}-information.svg)`,
    '',
    `![Error against ability](${plots}/${subject}-error.svg)`,
    '',
    `![Exposure of items](${plots}/${subject}-exposure.svg)`,
    '',
    'Learners of one ability. Overlap: the share of items that two of them have in common, its standard error in brackets.',
    '',
    '| θ | RMSE | mean standard error | bias | items | information | overlap | most used item |',
    '|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...abilities.map(
      (one) =>
        `| ${figure(one.theta, 1)} | ${figure(one.rmse)} | ${figure(one.meanSe)} | ${figure(one.bias)} | ${figure(one.meanItems, 1)} | ${figure(one.meanInformation, 1)} | ${percent(one.overlap.share)}${one.overlap.se === null ? '' : ` (${percent(one.overlap.se)})`} | ${percent(one.highest, 0)} |`,
    ),
    '',
    ...gapLines(informationGaps(bank, abilities)),
    '',
  ];
}

/** The report as Markdown. `plots`: the folder of the plots, relative to the report. */
export function simulationMarkdown(
  simulations: readonly SubjectSimulation[],
  banks: Record<Subject, SubjectBank>,
  version: string,
  command: string,
  plots: string,
): string {
  return [
    '# Simulation of the shipped item bank',
    '',
    `Made by \`${command}\` from bank version ${version}; the same command on the same bank gives the same figures.`,
    '',
    'Simulated learners answer by the model that scores them, so every figure is a ceiling for real use: real answers fit less well, and the difficulties are provisional until they are calibrated on real answers. ' +
      `Abilities are drawn from N(0, 1) unless a row says otherwise. Reported intervals, flags and probabilities hold a calibration error of ${calibrationSd} for that; when a sitting ends goes by the model's own error.`,
    '',
    ...simulations.flatMap((one) => subjectLines(one, banks[one.report.subject], plots)),
  ].join('\n');
}
