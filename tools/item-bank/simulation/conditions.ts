import { simulationRandom, standardNormal } from './random.ts';
import type { Uniform } from '../../../src/platform/crypto/random.ts';
import type { ScoredItem } from '../../../src/engine/scoring/cuts.ts';
import { type Compared, compareDomains, domainSd } from '../../../src/engine/scoring/compare-domains.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import type { ScoredAnswer } from '../../../src/engine/scoring/rules.ts';
import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';

/** An item with the members that delivery balances, so that the report can count them. */
export type SimulatedItem = ScoredItem & { type?: string; statement?: string; skillGroup?: string };

/**
 * The learner of one simulated sitting. `chance`: the probability that the learner gets an item right as the nth
 * question.
 */
export type Learner = {
  theta: number;
  chance: (index: number, question: number) => number;
  /** How far each domain's ability is from `theta`, if domains differ. */
  deviations?: readonly number[];
};
export type MakeLearner = (draw: Uniform, index: number) => Learner;

export const stress = {
  bErrorSd: 0.4,
  banks: 20,
  shift: 0.5,
  guesserShare: 0.1,
  skipShare: 0.15,
  extremeTheta: 2.5,
  /**
   * Standard deviations of the errors that a level, a domain and a response type share, and of an item's own error; and
   * the factor of a.
   */
  harsh: { level: 0.3, domain: 0.15, type: 0.15, item: 0.3, discrimination: 0.8 },
  /** From this question on, another person helps, or the learner gives up. */
  changeFrom: 16,
  helperRight: 0.95,
  guessAtTyped: 0.02,
} as const;

export type StressName =
  'b_error' | 'harsh' | 'population_lower' | 'population_higher' | 'guessers' | 'skips' | 'skips_blind';
export type ChangeName = 'helped' | 'better_by_two' | 'gives_up';

export const honest =
  (items: readonly ItemParameters[]) =>
  (theta: number): Learner => ({ theta, chance: (i) => probability(items[i]!, theta) });

type StressCondition = { name: StressName; note: string; learner: MakeLearner };

/** Conditions under which the learners or the bank differ from the assumptions of scoring. */
export function stressConditions(
  subject: string,
  items: readonly SimulatedItem[],
  seed: (name: string) => Uniform,
): StressCondition[] {
  const plain = honest(items);
  const { shift } = stress;
  return [
    ...bankConditions(subject, items, seed),
    {
      name: 'population_lower',
      note: `abilities N(−${shift}, 1) under the N(0, 1) prior`,
      learner: (draw) => plain(standardNormal(draw) - shift),
    },
    {
      name: 'population_higher',
      note: `abilities N(+${shift}, 1) under the N(0, 1) prior`,
      learner: (draw) => plain(standardNormal(draw) + shift),
    },
    ...answerConditions(items),
  ];
}

/** The true difficulties differ from those of the bank. */
function bankConditions(
  subject: string,
  items: readonly SimulatedItem[],
  seed: (name: string) => Uniform,
): StressCondition[] {
  const banks = (name: string, made: (draw: Uniform) => ItemParameters[]) => {
    const draw = simulationRandom(seed(`${subject}:${name} banks`));
    return Array.from({ length: stress.banks }, () => made(draw));
  };
  const ofBanks = (list: readonly (readonly ItemParameters[])[]): MakeLearner => {
    const learners = list.map(honest);
    return (draw, k) => learners[k % learners.length]!(standardNormal(draw));
  };
  const scattered = banks('b_error', (draw) =>
    items.map(({ a, b, c }) => ({ a, b: b + stress.bErrorSd * standardNormal(draw), c })),
  );
  const { harsh } = stress;
  return [
    {
      name: 'b_error',
      note: `true difficulties differ from the bank's by N(0, ${stress.bErrorSd}²), in ${stress.banks} drawn banks`,
      learner: ofBanks(scattered),
    },
    {
      name: 'harsh',
      note:
        `the harsh bank: true difficulties differ by N(0, ${harsh.level}²) for each level, N(0, ${harsh.domain}²) for each domain and type and ` +
        `N(0, ${harsh.item}²) for each item, discriminations are ${harsh.discrimination} of the bank's, in ${stress.banks} drawn banks`,
      learner: ofBanks(banks('harsh', (draw) => harshBank(items, draw))),
    },
  ];
}

/** Learners guess or skip. */
function answerConditions(items: readonly SimulatedItem[]): StressCondition[] {
  const plain = honest(items);
  const { guesserShare, skipShare } = stress;
  return [
    {
      name: 'guessers',
      note: `${guesserShare * 100} % of learners pick at random on every choice item`,
      learner: (draw) => {
        const { theta, chance } = plain(standardNormal(draw));
        const guesses = draw.float() < guesserShare;
        return { theta, chance: (i, n) => (guesses && items[i]!.c > 0 ? items[i]!.c : chance(i, n)) };
      },
    },
    {
      name: 'skips',
      note: `${skipShare * 100} % of items skipped where the learner would have had to guess, and counted wrong`,
      learner: (draw) => {
        const { theta, chance } = plain(standardNormal(draw));
        // A right answer is knowledge or a lucky guess: 1 − P = (1 − known)(1 − c). A skip replaces a guess, never
        // knowledge.
        return {
          theta,
          chance: (i, n) => {
            const p = chance(i, n);
            const { c } = items[i]!;
            return p - c * Math.min(skipShare, (1 - p) / (1 - c));
          },
        };
      },
    },
    {
      name: 'skips_blind',
      note: `${skipShare * 100} % of all items skipped, known or not, and counted wrong`,
      learner: (draw) => {
        const { theta, chance } = plain(standardNormal(draw));
        return { theta, chance: (i, n) => (1 - skipShare) * chance(i, n) };
      },
    },
  ];
}

/** Draws correlated errors, because authors misjudge a full level, domain or type of question in the same direction. */
export function harshBank(items: readonly SimulatedItem[], draw: Uniform): ItemParameters[] {
  const { level, domain, type, item, discrimination } = stress.harsh;
  const shifts = new Map<string, number>();
  const shared = (name: string, sd: number) => {
    const shift = shifts.get(name) ?? sd * standardNormal(draw);
    shifts.set(name, shift);
    return shift;
  };
  return items.map((one) => ({
    a: discrimination * one.a,
    b:
      one.b +
      shared(`level ${one.level}`, level) +
      shared(`domain ${one.domain}`, domain) +
      shared(`type ${one.type}`, type) +
      item * standardNormal(draw),
    c: one.c,
  }));
}

type Bank = { subject: string; items: readonly SimulatedItem[]; domains: readonly { name: string }[] };

/** Learners whose domains differ from their overall ability, with the bank's difficulties and with harsh ones. */
export function domainConditions(
  bank: Bank,
  seed: (name: string) => Uniform,
): { name: string; learner: MakeLearner }[] {
  const draw = simulationRandom(seed(`${bank.subject}:domains harsh banks`));
  const harsh = Array.from({ length: stress.banks }, () => harshBank(bank.items, draw));
  return [
    { name: 'domains', learner: unequalDomains(bank, [bank.items]) },
    { name: 'domains harsh', learner: unequalDomains(bank, harsh) },
  ];
}

function unequalDomains({ items, domains }: Bank, truths: readonly (readonly ItemParameters[])[]): MakeLearner {
  const domainOf = items.map(({ domain }) => domains.findIndex(({ name }) => name === domain));
  return (draw, k) => {
    const truth = truths[k % truths.length]!;
    const theta = standardNormal(draw);
    const deviations = domains.map(() => domainSd * standardNormal(draw));
    return { theta, deviations, chance: (i) => probability(truth[i]!, theta + deviations[domainOf[i]!]!) };
  };
}

/** The true difference of each domain from the others, and what a result says of it. */
export function comparedOf(
  deviations: readonly number[],
  domains: readonly { name: string }[],
  answers: readonly ScoredAnswer[],
): { difference: number; compared: Compared | null }[] {
  const total = deviations.reduce((sum, one) => sum + one, 0);
  const names = domains.map(({ name }) => name);
  return compareDomains(names, answers).map(({ compared }, d) => {
    const others = (total - deviations[d]!) / (deviations.length - 1);
    return { difference: deviations[d]! - others, compared };
  });
}

/** Learners whose answers change in the middle. */
export function changeConditions(
  items: readonly SimulatedItem[],
): { name: ChangeName; note: string; learner: MakeLearner }[] {
  const { changeFrom, helperRight, guessAtTyped } = stress;
  const plain = honest(items);
  const from = (after: (theta: number, i: number) => number): MakeLearner => {
    return (draw) => {
      const { theta, chance } = plain(standardNormal(draw));
      return { theta, chance: (i, n) => (n >= changeFrom ? after(theta, i) : chance(i, n)) };
    };
  };
  return [
    {
      name: 'helped',
      note: `from question ${changeFrom} on somebody helps who gets ${helperRight * 100} % right`,
      learner: from(() => helperRight),
    },
    {
      name: 'gives_up',
      note: `from question ${changeFrom} on the learner guesses: by chance at choices, ${guessAtTyped * 100} % right elsewhere`,
      learner: from((_theta, i) => Math.max(guessAtTyped, items[i]!.c)),
    },
    {
      name: 'better_by_two',
      note: `from question ${changeFrom} on the answers are those of somebody two logits abler`,
      learner: from((theta, i) => probability(items[i]!, theta + 2)),
    },
  ];
}
