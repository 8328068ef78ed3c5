import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { levelName, subjectNames } from '../../../src/engine/scoring/levels.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { csvLine } from '../../../src/platform/formats/csv.ts';
import { table } from '../../../cli/kit/table.ts';
import type { ItemResult, SubjectCalibration } from './calibrate.ts';
import type { Proposal } from './proposal.ts';

/** What a calibration found, as text for people, as JSON and as a table with one row for each item. */

type Reported = { subject: Subject; found: SubjectCalibration; items: readonly Item[] };

const flagsOf = ({ fit, drift, versions, dif }: ItemResult): string[] => [
  ...(fit?.isFlagged ? ['fit'] : []),
  ...(drift?.hasDrifted ? ['drift'] : []),
  ...(versions?.hasDrifted ? ['versions'] : []),
  ...dif
    .filter(({ isFlagged }) => isFlagged)
    .map(({ column, focal, mantelHaenszel: { size } }) => `dif ${column} ${focal} ${size}`),
];

const places = (value: number | null | undefined, digits = 2): string => value?.toFixed(digits) ?? '';

/** One item as plain data, with the names of the exchange formats. */
function itemJson(result: ItemResult, item: Item, proposed: ReadonlySet<string>) {
  const { parameters, errors, fit, drift, versions, dif } = result;
  return {
    item: item.id,
    state: item.state ?? 'live',
    answers: result.answers,
    right: result.right,
    ...parameters,
    se: errors,
    bank: { a: item.a, b: item.b, c: item.c, calibration: item.calibration },
    is_anchor: result.isAnchor,
    is_proposed: proposed.has(item.id),
    flags: flagsOf(result),
    fit: fit && { infit: fit.infit, outfit: fit.outfit, chi_square: fit.chiSquare },
    drift: drift && { b_shift: drift.shift, robust_z: drift.z },
    versions: versions && { p: versions.p, shifts: versions.shifts },
    dif: dif.map(({ column, focal, reference, answers, mantelHaenszel: mh, logistic }) => ({
      column,
      focal,
      reference,
      answers,
      mantel_haenszel: { delta: mh.delta, se: mh.se, p: mh.p, class: mh.size },
      logistic: logistic && {
        shift: logistic.shift,
        se: logistic.se,
        uniform_p: logistic.uniformP,
        non_uniform_p: logistic.nonUniformP,
        r_squared: logistic.rSquared,
      },
    })),
  };
}

export function subjectJson({ subject, found, items }: Reported, proposal: Proposal) {
  const proposed = new Set(proposal.items.map(({ id }) => id));
  const cuts = proposal.cuts.get(subject)!;
  return {
    subject,
    sittings: found.sittings,
    answers: found.answers,
    group: found.group,
    anchors: found.anchors,
    link: found.link,
    prior: { shifts: found.prior.shifts, own_sd: { log_a: found.prior.own.logA, b: found.prior.own.b } },
    rounds: found.rounds,
    has_converged: found.hasConverged,
    log_likelihood: found.logLikelihood,
    cuts: cuts.before.map(({ level, theta }, k) => ({ level, bank: theta, proposed: cuts.after?.[k]?.theta ?? null })),
    items: found.items.map((result) => itemJson(result, items[result.index]!, proposed)),
  };
}

const shownFlags = 20;
const counted = (n: number): string => n.toLocaleString('en-GB');

export function subjectText({ subject, found, items }: Reported, proposal: Proposal): string {
  const proposed = new Set(proposal.items.map(({ id }) => id));
  const changed = found.items.filter(({ index }) => proposed.has(items[index]!.id));
  const moved = changed.map(({ parameters, index }) => parameters.b - items[index]!.b);
  const errors = changed.map((one) => one.errors!.b).toSorted((x, y) => x - y);
  const rms = Math.sqrt(moved.reduce((sum, one) => sum + one * one, 0) / moved.length);
  const cuts = proposal.cuts.get(subject)!;
  const flagged = found.items.filter((one) => flagsOf(one).length > 0).toSorted((x, y) => y.answers - x.answers);
  const scale =
    found.anchors === null
      ? 'the scale is that of abilities N(0, 1)'
      : `the scale is that of ${found.anchors} anchors; abilities N(${places(found.group.mean)}, ${places(found.group.sd)}²)`;
  return [
    `${subjectNames[subject]}: ${counted(found.answers)} answers of ${counted(found.sittings)} sittings; ${scale}.`,
    ...(found.hasConverged ? [] : [`The estimates have not settled after ${found.rounds} rounds. Do not use them.`]),
    `${changed.length} of ${found.items.length} items have new parameters.`,
    ...(changed.length === 0
      ? []
      : [
          `Their b differs from the bank's by ${places(rms)} (root mean square). Median standard error: ${places(errors[errors.length >> 1])}.`,
          table([
            ['cut', 'bank', 'proposed'],
            ...cuts.before.map(({ level, theta }, k) => [
              levelName(level),
              places(theta),
              places(cuts.after?.[k]?.theta),
            ]),
          ]),
        ]),
    ...(flagged.length === 0
      ? []
      : [
          `${flagged.length} items are flagged${flagged.length > shownFlags ? `; the ${shownFlags} with most answers` : ''}:`,
          table([
            ['item', 'answers', 'bank b', 'b', 'se', 'a', 'se', 'flags'],
            ...flagged.slice(0, shownFlags).map((one) => {
              const { parameters: its, errors: its_se } = one;
              const bank = items[one.index]!;
              const numbers = [places(bank.b), places(its.b), places(its_se?.b), places(its.a), places(its_se?.a)];
              return [bank.id, one.answers, ...numbers, flagsOf(one).join(', ')];
            }),
          ]),
        ]),
  ].join('\n');
}

const columns = [
  ...['subject', 'item', 'state', 'answers', 'right', 'a', 'a_se', 'b', 'b_se', 'c', 'c_se'],
  ...['bank_a', 'bank_b', 'bank_c', 'anchor', 'proposed', 'infit', 'outfit', 'fit_chi_square', 'fit_df', 'fit_p'],
  ...['drift_shift', 'drift_z', 'versions_p', 'flags'],
];

/** The table of all items as CSV. */
export function itemsCsv(reported: readonly Reported[], proposal: Proposal): string {
  const proposed = new Set(proposal.items.map(({ id }) => id));
  const lines = reported.flatMap(({ subject, found, items }) =>
    found.items.map((one) => {
      const { parameters: its, errors, fit, drift, versions } = one;
      const item = items[one.index]!;
      return csvLine(
        [
          ...[subject, item.id, item.state ?? 'live', String(one.answers), String(one.right)],
          ...[places(its.a, 4), places(errors?.a, 4), places(its.b, 4), places(errors?.b, 4)],
          ...[places(its.c, 4), places(errors?.c, 4), String(item.a), String(item.b), String(item.c)],
          ...[one.isAnchor ? 'yes' : 'no', proposed.has(item.id) ? 'yes' : 'no'],
          ...[places(fit?.infit, 3), places(fit?.outfit, 3)],
          ...[places(fit?.chiSquare?.value), places(fit?.chiSquare?.df, 0), places(fit?.chiSquare?.p, 4)],
          ...[places(drift?.shift, 3), places(drift?.z), places(versions?.p, 4), flagsOf(one).join('; ')],
        ],
        ',',
      );
    }),
  );
  return [csvLine(columns, ','), ...lines].join('');
}
