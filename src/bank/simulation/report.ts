import type { GoalResult } from '../../scoring/goals.ts';
import type { SimulationReport } from '../../scoring/simulate.ts';
import type { SubjectBank } from '../load.ts';
import { bankInformation, informationGaps, wantedInformation } from './gaps.ts';
import type { AtAbility, Gap } from './gaps.ts';
import { plotSvg } from './plots.ts';
import { levelName } from '../../scoring/levels.ts';
import type { Subject } from '../../scoring/levels.ts';

export type SubjectSimulation = {
  report: SimulationReport;
  goals: GoalResult[];
  abilities: AtAbility[];
  /** The share of sittings that used each item, highest first. */
  exposure: { id: string; share: number }[];
};

const percent = (value: number | null, places = 1): string =>
  value === null ? '–' : `${(100 * value).toFixed(places)} %`;
const figure = (value: number | null, places = 3): string =>
  value === null ? '–' : value.toFixed(places).replace('-', '−');

/** A bar would end the table's cell. */
const inCell = (text: string): string => text.replaceAll('|', '\\|');

/** Goals whose figures are numbers rather than shares. */
const plainGoals = new Set(['mean number of items', 'RMSE of θ', 'reliability']);

function goalRow({ goal, figure: value, se, least, most, met }: GoalResult): string {
  const places = goal === 'mean number of items' ? 1 : 3;
  const show = (number: number | null, finer = 0) =>
    plainGoals.has(goal) ? figure(number, places + finer) : percent(number, 1 + finer);
  const bounds = [least === undefined ? '' : `≥ ${show(least)}`, most === undefined ? '' : `≤ ${show(most)}`]
    .filter((text) => text !== '')
    .join(' and ');
  return `| ${inCell(goal)} | ${bounds} | ${show(value)} | ${show(se, 1)} | ${met ? 'met' : '**not met**'} |`;
}

const curve = Array.from({ length: 61 }, (_, n) => -3 + n / 10);

/** The three plots of a subject, by file name. */
export function simulationPlots(
  { report, abilities, exposure }: SubjectSimulation,
  bank: SubjectBank,
): Map<string, string> {
  const marks = report.cuts.map((cut) => ({ x: cut.theta, label: levelName(cut.level) }));
  const whole = curve.map((theta) => [theta, bankInformation(bank.version.items, theta)] as const);
  // Room above the highest curve for the names of the cuts.
  const most = Math.ceil((1.2 * Math.max(...whole.map(([, y]) => y))) / 10) * 10;
  const { subject } = report;
  return new Map([
    [
      `${subject}-information.svg`,
      plotSvg({
        title: `Information against ability, ${subject}`,
        description: `The whole bank's information, the mean information of a simulated sitting, and the information that an error of 0.295 needs, for abilities from −3 to 3.`,
        xLabel: 'Ability θ',
        yLabel: 'Information',
        x: [-3, 3],
        yMost: most,
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
      }),
    ],
    [
      `${subject}-error.svg`,
      plotSvg({
        title: `Error against ability, ${subject}`,
        description:
          'The root mean squared error of the estimates and the mean of their standard errors, for learners of one ability each, from −3 to 3.',
        xLabel: 'Ability θ',
        yLabel: 'Error of θ',
        x: [-3, 3],
        yMost: Math.max(0.6, Math.ceil(10 * Math.max(...abilities.map((one) => one.rmse))) / 10),
        marks,
        series: [
          { name: 'RMSE', points: abilities.map((one) => [one.theta, one.rmse] as const) },
          {
            name: 'mean standard error',
            dashed: true,
            points: abilities.map((one) => [one.theta, one.meanSe] as const),
          },
        ],
      }),
    ],
    [
      `${subject}-exposure.svg`,
      plotSvg({
        title: `Exposure of items, ${subject}`,
        description: `The share of sittings that use each of the ${exposure.length} items, from the most to the least used.`,
        xLabel: 'Items, most used first',
        yLabel: 'Share of sittings',
        x: [0, Math.ceil(exposure.length / 20) * 20],
        yMost: 0.7,
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
      }),
    ],
  ]);
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

const titles: Record<Subject, string> = { digital: 'Digital', english: 'English', maths: 'Maths' };

function subjectLines(simulation: SubjectSimulation, bank: SubjectBank, plots: string): string[] {
  const { report, goals, abilities } = simulation;
  const { subject, population: all } = report;
  const missed = goals.filter((goal) => !goal.met);
  return [
    `## ${titles[subject]}`,
    '',
    `${report.items} items, ${report.learners.toLocaleString('en-GB')} learners. Cuts: ${report.cuts.map((cut) => `${levelName(cut.level)} ${figure(cut.theta, 2)}`).join(', ')}.`,
    '',
    missed.length === 0
      ? `All ${goals.length} goals are met.`
      : `${goals.length - missed.length} of ${goals.length} goals are met; not met: ${missed.map((goal) => goal.goal).join('; ')}.`,
    '',
    '| Goal | Wanted | Simulated | Standard error | |',
    '|---|---|---:|---:|---|',
    ...goals.map(goalRow),
    '',
    '| Also measured | |',
    '|---|---:|',
    `| bias of θ | ${figure(all.bias)} |`,
    `| mean standard error | ${figure(all.meanSe)} |`,
    `| finest level (Entry sub-levels too) right | ${percent(all.rqf.workingLevelRight)} |`,
    `| borderline | ${percent(all.borderlineRate)} |`,
    `| RQF level right, IRT engine alone | ${percent(all.irtAlone.rqfRight)} |`,
    `| RQF level right, rule engine alone | ${percent(all.rulesAlone.rqfRight)} |`,
    `| Level 1 decision equals that of the whole bank, all learners | ${percent(all.equalsFullBank)} |`,
    ...report.atCuts.map(
      (cut) => `| coverage at the ${levelName(cut.level)} cut, ${cut.learners} learners | ${percent(cut.coverage)} |`,
    ),
    `| items never given | ${report.exposure.neverGiven} |`,
    `| items in more than 40 % of sittings | ${report.exposure.over40Percent} |`,
    ...report.stress.map(
      (one) =>
        `| ${inCell(one.note)}: bias, RMSE, gate right | ${figure(one.figures.bias)}, ${figure(one.figures.rmse)}, ${percent(one.figures.gate.right)} |`,
    ),
    '',
    `![Information against ability](${plots}/${subject}-information.svg)`,
    '',
    `![Error against ability](${plots}/${subject}-error.svg)`,
    '',
    `![Exposure of items](${plots}/${subject}-exposure.svg)`,
    '',
    '| θ | RMSE | mean standard error | bias | items | information |',
    '|---:|---:|---:|---:|---:|---:|',
    ...abilities.map(
      (one) =>
        `| ${figure(one.theta, 1)} | ${figure(one.rmse)} | ${figure(one.meanSe)} | ${figure(one.bias)} | ${figure(one.meanItems, 1)} | ${figure(one.meanInformation, 1)} |`,
    ),
    '',
    ...gapLines(informationGaps(bank, abilities)),
    '',
  ];
}

/** The report as Markdown. `plots` is the folder of the plots as the report links to it. */
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
      'Abilities are drawn from N(0, 1) unless a row says otherwise.',
    '',
    ...simulations.flatMap((one) => subjectLines(one, banks[one.report.subject], plots)),
  ].join('\n');
}
