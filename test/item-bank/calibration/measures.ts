import { loadBank } from '../../../src/engine/item-bank/load.ts';
import type { SubjectBank } from '../../../src/engine/item-bank/load.ts';
import { widened } from '../../../src/engine/scoring/calibration.ts';
import { confidenceInterval, probability } from '../../../src/engine/scoring/irt.ts';
import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import type { Uniform } from '../../../src/platform/crypto/random.ts';
import { preparePool } from '../../../src/sittings/selection/pool.ts';
import { abilitiesOf, calibrate, difOf } from '../../../tools/item-bank/calibration/calibrate.ts';
import type { SubjectCalibration } from '../../../tools/item-bank/calibration/calibrate.ts';
import { answersByItem } from '../../../tools/item-bank/calibration/fit.ts';
import { estimate } from '../../../tools/item-bank/calibration/mml.ts';
import { BankPrior } from '../../../tools/item-bank/calibration/priors.ts';
import { harshBank } from '../../../tools/item-bank/simulation/conditions.ts';
import { deliver } from '../../../tools/item-bank/simulation/delivery.ts';
import { standardNormal } from '../../../tools/item-bank/simulation/random.ts';
import { adaptiveSittings, answersOf, comparedItems, drawsOf, randomSittings, toCalibrate } from './simulated.ts';
import type { Answered } from './simulated.ts';

/** Measures calibration with learners and items whose truth is known. */

type Version = SubjectBank['version'];
/** `own`: each item's b differs from the bank's by N(0, 0.3²). `harsh`: the harsh bank of the simulation. */
export type Truth = 'own' | 'harsh';

const truthOf = (kind: Truth, { items }: Version, draw: Uniform): ItemParameters[] =>
  kind === 'harsh' ? harshBank(items, draw) : items.map(({ a, b, c }) => ({ a, b: b + 0.3 * standardNormal(draw), c }));

export type Calibrated = {
  version: Version;
  truth: ItemParameters[];
  found: SubjectCalibration;
  draw: Uniform;
  seconds: number;
};

/** Calibrates the shipped bank on simulated adaptive sittings. */
export async function calibrated(subject: Subject, kind: Truth, sittings: number, seed: string): Promise<Calibrated> {
  const { version } = loadBank().subjects[subject];
  const draw = drawsOf(`${seed}:${subject}:${kind}`);
  const truth = truthOf(kind, version, draw);
  const answers = answersOf(adaptiveSittings(preparePool(version), truth, sittings, draw));
  const began = performance.now();
  const found = await calibrate(answers, version.items, () => false, {
    model: '2pl',
    link: 'stocking-lord',
    groups: [],
    minAnswers: 200,
    pause: async () => {},
  });
  return { version, truth, found, draw, seconds: (performance.now() - began) / 1000 };
}

/** A share or a root mean square with its standard error. */
export type Figure = { value: number; se: number; n: number };

const meanOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;

export function rootMeanSquare(errors: readonly number[]): Figure {
  const squares = errors.map((one) => one * one);
  const value = Math.sqrt(meanOf(squares));
  const spread = Math.sqrt(meanOf(squares.map((one) => (one - value * value) ** 2)) / errors.length);
  return { value, se: spread / (2 * value), n: errors.length };
}

/** The mean of the means of independent parts. */
export function meanOfParts(parts: readonly (readonly number[])[]): Figure {
  const means = parts.map(meanOf);
  const value = meanOf(means);
  const squares = means.reduce((sum, one) => sum + (one - value) ** 2, 0);
  return { value, se: Math.sqrt(squares / (means.length - 1) / means.length), n: parts.flat().length };
}

export const show = ({ value, se, n }: Figure): string =>
  `${value.toFixed(3)} (standard error ${se.toFixed(3)}, n ${n})`;

/** Errors of b, and whether each 95 % interval holds the truth, for items with this many answers. */
export function recovery({ found, truth, version }: Calibrated, [from, to]: readonly [number, number]) {
  const own = found.items.filter(({ answers }) => answers >= from && answers <= to);
  return {
    errors: own.map(({ index, parameters }) => parameters.b - truth[index]!.b),
    before: own.map(({ index }) => version.items[index]!.b - truth[index]!.b),
    held: own.map(({ index, parameters, errors }) =>
      Number(Math.abs(parameters.b - truth[index]!.b) <= 1.96 * errors!.b),
    ),
    answers: own.map(({ answers }) => answers),
  };
}

/** Whether the reported intervals of new learners hold the truth, after items with enough answers were taken over. */
export function coverage(
  { version, truth, found, draw }: Calibrated,
  learners: number,
  isCalibrated: boolean,
): number[] {
  const parameters = version.items.map(({ a, b, c }) => ({ a, b, c }));
  if (isCalibrated)
    for (const one of found.items) if (one.answers >= 200) parameters[one.index] = { ...one.parameters };
  const pool = preparePool({ ...version, items: version.items.map((item, i) => ({ ...item, ...parameters[i]! })) });
  return Array.from({ length: learners }, () => {
    const theta = standardNormal(draw);
    const { ability } = deliver(pool, (i) => draw.float() < probability(truth[i]!, theta), draw);
    const { low, high } = confidenceInterval(widened(ability));
    return Number(low <= theta && theta <= high);
  });
}

/**
 * Two groups with 500 answers each to every item; every fifth item is half a logit harder or easier for the second.
 * @param impact how much less able the second group is
 */
export async function difFound(seed: string, impact: number) {
  const items = comparedItems(0);
  const shiftOf = (i: number) => (i % 5 === 0 ? (i % 10 === 0 ? 0.5 : -0.5) : 0);
  const draw = drawsOf(`${seed}:dif`);
  const groupOf = (device: string, truth: readonly ItemParameters[]): Answered[][] =>
    randomSittings(truth, 750, 20, draw).map((own) => own.map((one) => ({ ...one, device })));
  const reference = groupOf('computer', items);
  // A shift of all items up equals learners who are less able.
  const focal = groupOf(
    'phone',
    items.map((item, i) => ({ ...item, b: item.b + shiftOf(i) + impact })),
  );
  const answers = answersOf([...reference, ...focal]);
  const bank = toCalibrate(items);
  const found = await estimate(answers, bank, { model: '2pl', prior: new BankPrior(bank), isGroupFree: false });
  const abilities = abilitiesOf(answers, found);
  return answersByItem(answers, items.length).map((own, i) => {
    const [result] = difOf(own, answers, abilities, 'device');
    return {
      hasDif: shiftOf(i) !== 0,
      significant: Number(result!.mantelHaenszel.p < 0.05),
      flagged: Number(result!.isFlagged),
    };
  });
}
