import type { Answers, GroupColumn } from './answers.ts';
import { logisticDif, mantelHaenszel } from './dif.ts';
import type { LogisticDif, MantelHaenszel, Matched } from './dif.ts';
import { standardErrors } from './errors.ts';
import type { StandardErrors } from './errors.ts';
import { answersByItem, discoveries, fitOf, predict, versionsOf } from './fit.ts';
import type { ItemFit, VersionShift } from './fit.ts';
import { linked, meanSigma, robustZ, stockingLord } from './linking.ts';
import type { Link } from './linking.ts';
import { estimate, isFree, Posteriors } from './mml.ts';
import type { Estimate, Group, Model } from './mml.ts';
import type { CalibrationItem } from './model.ts';
import { nodes } from './model.ts';
import { BankPrior, boundTo, weakPrior } from './priors.ts';
import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';

/** Calibrates the items of one subject: parameters, errors, fit, drift and DIF. */

export type CalibrationOptions = {
  model: Model;
  link: 'stocking-lord' | 'mean-sigma';
  groups: readonly GroupColumn[];
  /** Items with fewer answers keep the bank's parameters. */
  minAnswers: number;
  /** Called often. Throws to stop. */
  pause: (step: string) => Promise<void>;
};

/** New estimates without the bank's prior, against the bank's parameters. */
export type Drift = { shift: number; z: number; hasDrifted: boolean };

export type DifResult = {
  column: GroupColumn;
  focal: string;
  reference: string;
  answers: { focal: number; reference: number };
  mantelHaenszel: MantelHaenszel;
  logistic: LogisticDif | null;
  /** Class B or C of ETS, or another discrimination (p below 0.01). */
  isFlagged: boolean;
};

export type ItemResult = {
  index: number;
  answers: number;
  right: number;
  parameters: ItemParameters;
  errors: StandardErrors | null;
  isAnchor: boolean;
  fit: (ItemFit & { isFlagged: boolean }) | null;
  drift: Drift | null;
  versions: { shifts: VersionShift[]; p: number; hasDrifted: boolean } | null;
  dif: DifResult[];
};

export type SubjectCalibration = {
  sittings: number;
  answers: number;
  group: Group;
  /** The number of anchors; null if the scale is that of abilities N(0, 1). */
  anchors: number | null;
  link: Link;
  prior: { shifts: Record<string, number>; own: { logA: number; b: number } };
  rounds: number;
  hasConverged: boolean;
  logLikelihood: number;
  items: ItemResult[];
};

/** With fewer calibrated items, the scale is that of abilities N(0, 1). */
export const minAnchors = 10;
/** 99 % of differences are nearer than this if nothing drifts. */
const driftZ = 2.7;
const falseDiscoveries = 0.05;
const difMinAnswers = 100;
const nonUniformP = 0.01;
/** With fewer answers, mean squares of residuals say little. */
const fitMinAnswers = 30;

type Stage = { found: Estimate; prior: BankPrior };

async function estimateFrom(
  answers: Answers,
  items: readonly CalibrationItem[],
  { model, pause }: CalibrationOptions,
  step: string,
): Promise<Stage> {
  const prior = new BankPrior(items);
  const isGroupFree = items.some(({ isAnchor }) => isAnchor);
  const found = await estimate(answers, items, {
    model,
    prior,
    isGroupFree,
    pause: (round) => pause(`${step}, round ${round}`),
  });
  return { found, prior };
}

/**
 * Estimates without the bank's prior, so that the prior can't hide a drift, and links them to the bank.
 * @param tested the items with enough answers
 */
async function driftOf(
  answers: Answers,
  items: readonly CalibrationItem[],
  first: Stage,
  tested: readonly number[],
  anchors: readonly number[],
  options: CalibrationOptions,
): Promise<{ link: Link; drift: Map<number, Drift> }> {
  const { items: found } = await estimate(answers, items, {
    model: options.model,
    prior: boundTo(first.prior, weakPrior(items), new Set(tested)),
    isGroupFree: false,
    start: first.found.items,
    pause: (round) => options.pause(`drift, round ${round}`),
  });
  const pairs = (of: readonly number[]) => of.map((i) => ({ bank: items[i]!, found: found[i]! }));
  const by = anchors.length >= minAnchors ? anchors : tested;
  if (by.length < 2) return { link: { slope: 1, shift: 0 }, drift: new Map() };
  const link = options.link === 'mean-sigma' ? meanSigma(pairs(by)) : stockingLord(pairs(by));
  const shiftOf = (i: number) => linked(found[i]!, link).b - items[i]!.b;
  const shifts = tested.map(shiftOf);
  const z = robustZ(shifts, by.map(shiftOf));
  return {
    link,
    drift: new Map(tested.map((i, k) => [i, { shift: shifts[k]!, z: z[k]!, hasDrifted: Math.abs(z[k]!) > driftZ }])),
  };
}

/** The expected ability of each answer's sitting, from all its answers. */
export function abilitiesOf(answers: Answers, found: Pick<Estimate, 'items' | 'group'>): Float64Array {
  const posteriors = new Posteriors(found.items, found.group);
  const abilities = new Float64Array(answers.items.length);
  for (let s = 0; s < answers.starts.length - 1; s++) {
    const { weights } = posteriors.of(answers, answers.starts[s]!, answers.starts[s + 1]!);
    const mean = weights.reduce((sum, weight, k) => sum + weight * nodes[k]!, 0);
    abilities.fill(mean, answers.starts[s], answers.starts[s + 1]);
  }
  return abilities;
}

/** Compares each group of a column with the column's largest group. Empty texts are no group. */
export function difOf(
  own: readonly number[],
  answers: Answers,
  abilities: Float64Array,
  column: GroupColumn,
): DifResult[] {
  const { texts, codes } = answers.labels[column];
  const parts = Map.groupBy(own, (n) => codes[n]!);
  const groups = [...parts]
    .filter(([code, list]) => texts[code] !== '' && list.length >= difMinAnswers)
    .toSorted(([, x], [, y]) => y.length - x.length);
  const [reference, ...others] = groups;
  if (reference === undefined) return [];
  return others.flatMap((focal): DifResult[] => {
    const matched = [reference, focal].flatMap(([code, list]) =>
      list.map((n): Matched => ({
        ability: abilities[n]!,
        right: answers.rights[n] === 1,
        isFocal: code === focal[0],
      })),
    );
    const mh = mantelHaenszel(matched);
    if (mh === null) return [];
    const logistic = logisticDif(matched);
    return [
      {
        column,
        focal: texts[focal[0]]!,
        reference: texts[reference[0]]!,
        answers: { focal: focal[1].length, reference: reference[1].length },
        mantelHaenszel: mh,
        logistic,
        isFlagged: mh.size !== 'A' || (logistic?.nonUniformP ?? 1) < nonUniformP,
      },
    ];
  });
}

/** @param calibrated whether an item's parameters in the bank are calibrated, so that it can be an anchor */
export async function calibrate(
  answers: Answers,
  bank: readonly Omit<CalibrationItem, 'isAnchor'>[],
  calibrated: (index: number) => boolean,
  options: CalibrationOptions,
): Promise<SubjectCalibration> {
  const { model, minAnswers } = options;
  const free = bank.map((item): CalibrationItem => ({ ...item, isAnchor: false }));
  const lists = answersByItem(answers, bank.length);
  const tested = lists.flatMap((own, i) => (own.length >= minAnswers ? [i] : []));
  const candidates = tested.filter(calibrated);
  const first = await estimateFrom(answers, free, options, 'parameters');
  const { link, drift } = await driftOf(answers, free, first, tested, candidates, options);
  const sound = new Set(candidates.filter((i) => !drift.get(i)!.hasDrifted));
  const isAnchored = sound.size >= minAnchors;
  const items = isAnchored ? bank.map((item, i) => ({ ...item, isAnchor: sound.has(i) })) : free;
  const { found, prior } = isAnchored ? await estimateFrom(answers, items, options, 'parameters with anchors') : first;
  const pause = () => options.pause('errors and fit');
  const errors = await standardErrors(answers, items, found, { model, prior, pause });
  const predictions = await predict(answers, found.items, found.group, pause);
  const abilities = abilitiesOf(answers, found);
  const results = lists.map((own, index): ItemResult => {
    const item = items[index]!;
    const estimated = item.isAnchor ? 0 : isFree(model, item) ? 3 : 2;
    const versions = versionsOf(own, answers, predictions);
    return {
      index,
      answers: own.length,
      right: own.reduce((sum, n) => sum + answers.rights[n]!, 0),
      parameters: found.items[index]!,
      errors: errors[index]!,
      isAnchor: item.isAnchor,
      fit: own.length < fitMinAnswers ? null : { ...fitOf(own, answers, predictions, estimated), isFlagged: false },
      drift: drift.get(index) ?? null,
      versions: versions && { ...versions, hasDrifted: false },
      dif: options.groups.flatMap((column) => difOf(own, answers, abilities, column)),
    };
  });
  flag(results);
  return {
    sittings: answers.starts.length - 1,
    answers: answers.items.length,
    group: found.group,
    anchors: isAnchored ? sound.size : null,
    link,
    prior: {
      shifts: Object.fromEntries(prior.names.map((name, k) => [name, prior.shifts[k]!])),
      own: { ...prior.own },
    },
    rounds: found.rounds,
    hasConverged: found.hasConverged,
    logLikelihood: found.logLikelihood,
    items: results.filter((one) => one.answers > 0),
  };
}

/** Of the items flagged for fit or between versions, at most 5 % may be false alarms. */
function flag(results: readonly ItemResult[]): void {
  const fits = results.flatMap(({ fit }) => (fit?.chiSquare ? [{ fit, p: fit.chiSquare.p }] : []));
  const misfits = discoveries(
    fits.map(({ p }) => p),
    falseDiscoveries,
  );
  fits.forEach(({ fit }, k) => (fit.isFlagged = misfits.has(k)));
  const versions = results.flatMap((one) => one.versions ?? []);
  const drifted = discoveries(
    versions.map(({ p }) => p),
    falseDiscoveries,
  );
  versions.forEach((one, k) => (one.hasDrifted = drifted.has(k)));
}
