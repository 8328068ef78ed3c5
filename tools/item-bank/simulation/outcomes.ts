import { createHash } from 'node:crypto';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import { bankOf, contentHash } from '../../../src/engine/item-bank/load.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { domainSd } from '../../../src/engine/scoring/compare-domains.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { levelsOf } from '../../../src/engine/scoring/levels.ts';
import { engineVersions, prepareBank, score } from '../../../src/engine/scoring/score.ts';
import type { ItemResponse } from '../../../src/engine/scoring/score.ts';
import { preparePool } from '../../../src/sittings/selection/pool.ts';
import { AdaptiveSitting, drawSeed } from '../../../src/sittings/selection/selection.ts';
import { defaultSettings } from '../../../src/sittings/selection/settings.ts';
import { normal } from '../../../src/sandbox/data/results.ts';
import type { OutcomeRow, OutcomeSources, OutcomeTable } from '../../../src/sandbox/data/outcomes.ts';

const seed = 'outcomes-1';
const perSubject = 300;
/** Abilities are evenly spaced. The sandbox draws learners with the population's distribution from this table. */
const furthest = 3;
/** One sitting in this many ends early by its time limit, so that some domains have no score, as in real use. */
const cutShortEvery = 20;
const shortest = 13;

export const outcomeSources = (files: BankFiles): OutcomeSources => ({
  bank: `${files.number}-${contentHash(files).slice(0, 12)}`,
  delivery: createHash('sha256')
    .update(JSON.stringify(subjects.map(defaultSettings)))
    .digest('hex')
    .slice(0, 12),
  engines: engineVersions,
});

/**
 * Delivers and scores the simulated sittings of one subject by number. Each sitting has its own random stream, so each
 * can be made alone.
 */
export function outcomeMaker(files: BankFiles, subject: Subject): (number: number) => OutcomeRow {
  const { version } = bankOf(files).subjects[subject];
  const pool = preparePool(version);
  const scoring = prepareBank(version);
  return (number) => {
    const random = seededRandom(`${seed}:${subject}:${number}`);
    const ability = rounded(furthest * ((2 * (number + 0.5)) / perSubject - 1));
    // Real learners are stronger in some domains, so the sandbox's learners are too.
    const domains = new Map(version.domains.map(({ name }) => [name, ability + domainSd * normal(random)]));
    const max = number % cutShortEvery === 0 ? shortest + Math.floor(random.float() * 8) : Infinity;
    const sitting = new AdaptiveSitting(pool, { seed: drawSeed(random) });
    const responses: ItemResponse[] = [];
    for (;;) {
      const step = sitting.next(responses.length >= max);
      if (step.kind === 'stop') break;
      const index = pool.indexById.get(step.itemId)!;
      const item = version.items[index]!;
      const right = random.float() < probability(item, domains.get(item.domain)!);
      sitting.recordIndex(index, right);
      responses.push({ itemId: step.itemId, outcome: right ? 'right' : 'wrong' });
    }
    const result = score(scoring, responses);
    if (result.outcome === 'void') throw new RangeError(`The simulated ${subject} sitting ${number} has no result.`);
    const rung = result.placement === 'below_entry' ? 0 : 1 + levelsOf(subject).indexOf(result.placement);
    const flags = (result.isBorderline ? 1 : 0) + (result.needsReview ? 2 : 0);
    const rows = result.domains.map((one): OutcomeRow[5] => [
      ...([one.scorePct, one.nextPct, one.compared, one.difference, one.differenceSe] as const),
    ]);
    const levels = Object.values(result.irt.levelProbabilities).map((one) => Math.round(one * 1000));
    return [ability, rounded(result.irt.theta), rung, flags, levels, ...rows];
  };
}

const rounded = (value: number): number => Number(value.toFixed(2));

export function simulateOutcomes(files: BankFiles, onSubject: (subject: Subject) => void): OutcomeTable {
  const bank = bankOf(files);
  const of = (subject: Subject) => {
    onSubject(subject);
    const make = outcomeMaker(files, subject);
    return {
      cuts: bank.subjects[subject].cuts.map((cut) => rounded(cut.theta)),
      outcomes: Array.from({ length: perSubject }, (_, number) => make(number)),
    };
  };
  const [digital, english, maths] = subjects.map(of);
  return { made_from: outcomeSources(files), seed, subjects: { digital: digital!, english: english!, maths: maths! } };
}

/** The text of the committed file: one outcome in each line, so that a diff shows the changes. */
export function outcomesText(table: OutcomeTable): string {
  const lines = Object.entries(table.subjects).map(
    ([subject, { cuts, outcomes }]) =>
      `  "${subject}": {"cuts": ${JSON.stringify(cuts)}, "outcomes": [\n` +
      `${outcomes.map((row) => `   ${JSON.stringify(row)}`).join(',\n')}\n  ]}`,
  );
  return (
    `{\n "made_from": ${JSON.stringify(table.made_from)},\n "seed": ${JSON.stringify(table.seed)},\n` +
    ` "subjects": {\n${lines.join(',\n')}\n }\n}\n`
  );
}
