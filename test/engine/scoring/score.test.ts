import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { subjects, orderOf } from '../../../src/engine/scoring/levels.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { minAnswered, prepareBank, publishedResult, score } from '../../../src/engine/scoring/score.ts';
import type { ItemOutcome, ItemResponse, ScoredResult } from '../../../src/engine/scoring/score.ts';
import { preparePool } from '../../../src/sittings/selection/pool.ts';
import { deliver } from '../../../tools/item-bank/simulation/delivery.ts';
import { syntheticBank } from './synthetic-bank.ts';

const banks = Object.fromEntries(subjects.map((subject) => [subject, syntheticBank(subject)])) as Record<
  Subject,
  ReturnType<typeof syntheticBank>
>;
const prepared = Object.fromEntries(subjects.map((subject) => [subject, prepareBank(banks[subject])])) as Record<
  Subject,
  ReturnType<typeof prepareBank>
>;
const pools = Object.fromEntries(subjects.map((subject) => [subject, preparePool(banks[subject])])) as Record<
  Subject,
  ReturnType<typeof preparePool>
>;

/** The responses of somebody of ability `theta` in an adaptive sitting. */
function sit(subject: Subject, theta: number, seed: string): ItemResponse[] {
  const random = seededRandom(seed);
  const right = new Map<number, boolean>();
  const sitting = deliver(
    pools[subject],
    (i) => {
      right.set(i, random.float() < probability(banks[subject].items[i]!, theta));
      return right.get(i)!;
    },
    random,
  );
  return sitting.given.map((i) => ({ itemId: banks[subject].items[i]!.id, outcome: right.get(i) ? 'right' : 'wrong' }));
}

function scored(subject: Subject, responses: ItemResponse[]): ScoredResult {
  const result = score(prepared[subject], responses);
  assert.equal(result.outcome, 'scored');
  return result as ScoredResult;
}

/** `count` items in turn from every domain, all with one outcome. */
function uniform(subject: Subject, count: number, outcome: ItemOutcome, domains: number = 99): ItemResponse[] {
  const { domains: all, items } = banks[subject];
  const used = all.slice(0, domains).map((domain) => items.filter((item) => item.domain === domain.name));
  return Array.from({ length: count }, (_, k) => ({
    itemId: used[k % used.length]![Math.floor(k / used.length)]!.id,
    outcome,
  }));
}

suite('scoring', () => {
  test('is a pure function: the same input gives the same result, and the input is left alone', () => {
    const responses = Object.freeze(sit('maths', 0.4, 'pure').map((r) => Object.freeze(r)));
    assert.deepEqual(score(prepared.maths, responses), score(prepareBank(banks.maths), responses));
  });

  test('survives JSON unchanged, so that it can be stored and compared', () => {
    const result = scored('english', sit('english', -1.2, 'json'));
    assert.deepEqual(JSON.parse(JSON.stringify(result)), result);
  });

  test('carries both engines, the deciding rule, and what was frozen', () => {
    const result = scored('digital', sit('digital', 0.2, 'whole'));
    assert.equal(result.tau, 0.65);
    assert.deepEqual(result.cuts, prepared.digital.cuts);
    assert.deepEqual(result.versions, { bank: 'synthetic-1', irt: '1.6.0', rules: '1.0.0', reconciliation: '1.2.0' });
    assert.equal(result.rules.levels.length, 4);
    assert.ok(result.irt.ci.low < result.irt.theta && result.irt.theta < result.irt.ci.high);
    assert.equal(result.deciding.threshold, result.cuts.find((cut) => cut.level === result.deciding.level)!.theta);
    assert.deepEqual(
      result.domains.map((domain) => domain.name),
      banks.digital.domains.map((domain) => domain.name),
    );
    assert.equal(
      result.domains.reduce((sum, domain) => sum + domain.items, 0),
      result.counts.scored,
    );
  });

  test('reports the error of the judged difficulties beside the model’s: in the interval, the flag and the probabilities', () => {
    const { irt, deciding, isBorderline } = scored('maths', sit('maths', 0.4, 'widened'));
    assert.equal(irt.calibrationSd, 0.16);
    assert.equal(irt.reportedSe, Math.hypot(irt.se, 0.16));
    assert.ok(Math.abs(irt.ci.high - irt.ci.low - 2 * 1.959964 * irt.reportedSe!) < 1e-12);
    assert.equal(isBorderline, irt.ci.low <= deciding.threshold && deciding.threshold <= irt.ci.high);
  });

  test('judges the domains at the level that the learner is placed at, the lowest where none is met', () => {
    for (const theta of [-3.5, -1.4, 0.3, 1.6]) {
      const result = scored('english', sit('english', theta, `own ${theta}`));
      const own = result.placement === 'below_entry' ? 'entry1' : result.placement;
      assert.equal(result.domainLevel, own);
      for (const domain of result.domains)
        assert.equal(
          domain.poolItems,
          banks.english.items.filter((item) => item.domain === domain.name && item.level === own).length,
        );
    }
  });

  test('publishes the fields of the API and nothing else', () => {
    const published = publishedResult(scored('digital', sit('digital', 0.2, 'whole')));
    assert.deepEqual(Object.keys(published).sort(), [
      'below_level_1',
      'domains',
      'is_borderline',
      'level_probabilities',
      'needs_review',
      'recommended_next_level',
      'rqf_level',
      'rqf_level_code',
      'working_level',
    ]);
    assert.deepEqual(Object.keys(published.domains[0]!), [
      ...['name', 'score_pct', 'status', 'next_level_pct'],
      ...['compared', 'difference', 'difference_se'],
    ]);
    for (const { score_pct } of published.domains) assert.ok(score_pct === null || Number.isInteger(score_pct));
  });

  test('flags and published fields follow from the parts, for any ability', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...subjects),
        fc.double({ min: -4, max: 4, noNaN: true }),
        fc.nat(),
        (subject, theta, seed) => {
          const result = scored(subject, sit(subject, theta, String(seed)));
          assert.equal(
            result.needsReview,
            Math.abs(orderOf(result.irt.placement) - orderOf(result.rules.placement!)) >= 1,
          );
          assert.equal(
            result.isBorderline,
            result.irt.ci.low <= result.deciding.threshold && result.deciding.threshold <= result.irt.ci.high,
          );
          assert.equal(result.published.below_level_1, orderOf(result.placement) < 1);
          assert.equal(result.flags.includes('needs_review'), result.needsReview);
          assert.equal(result.flags.includes('borderline'), result.isBorderline);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('all right is Level 3 with a ceiling, all wrong is below Entry with a floor, both finite', () => {
    const high = scored(
      'maths',
      banks.maths.items.slice(-40).map((item) => ({ itemId: item.id, outcome: 'right' })),
    );
    assert.deepEqual(
      [high.placement, high.flags.includes('ceiling'), high.irt.mle.status],
      ['level3', true, 'plus_infinity'],
    );
    const low = scored(
      'maths',
      banks.maths.items.slice(0, 40).map((item) => ({ itemId: item.id, outcome: 'wrong' })),
    );
    assert.deepEqual(
      [low.placement, low.flags.includes('floor'), low.irt.mle.status],
      ['below_entry', true, 'minus_infinity'],
    );
    assert.deepEqual([low.published.rqf_level, low.published.below_level_1], [null, true]);
    assert.ok(Number.isFinite(high.irt.theta) && Number.isFinite(low.irt.theta));
  });

  test('twelve answers spread over six levels leave the rule engine silent, and the result says so', () => {
    const spread = banks.english.items.filter(
      (item) => item.id.endsWith('-0') && ['entry1', 'entry2', 'level2', 'level3'].includes(item.level),
    );
    const responses = spread
      .filter((_, i) => i % 5 < 3)
      .map((item): ItemResponse => ({ itemId: item.id, outcome: item.level.startsWith('entry') ? 'right' : 'wrong' }));
    assert.equal(responses.length, minAnswered);
    const result = scored('english', responses);
    assert.deepEqual(
      [result.rules.placement, result.reconciliation.basis, result.flags.includes('rules_silent')],
      [null, 'irt_only', true],
    );
    assert.equal(result.placement, result.irt.placement);
  });

  test('a skipped item counts as wrong in both engines, one not reached counts nowhere', () => {
    const responses = sit('maths', 0.5, 'skips');
    const wrongAt = responses.findIndex((r) => r.outcome === 'wrong');
    const skipped = scored('maths', responses.with(wrongAt, { ...responses[wrongAt]!, outcome: 'skipped' }));
    const wrong = scored('maths', responses);
    const skippedIn = banks.maths.items.find(({ id }) => id === responses[wrongAt]!.itemId)!.domain;
    assert.deepEqual([skipped.irt, skipped.rules], [wrong.irt, wrong.rules]);
    assert.deepEqual(
      skipped.domains,
      wrong.domains.map((domain) => ({ ...domain, answered: domain.answered - (domain.name === skippedIn ? 1 : 0) })),
    );
    assert.equal(skipped.counts.skipped, 1);
    const cut = scored('maths', responses.with(-1, { ...responses.at(-1)!, outcome: 'not_reached' }));
    const without = scored('maths', responses.slice(0, -1));
    assert.deepEqual([cut.irt, cut.rules, cut.domains], [without.irt, without.rules, without.domains]);
    assert.equal(cut.counts.notReached, 1);
  });
});

suite('a sitting is void', () => {
  test('with eleven answers, not with twelve', () => {
    const eleven = score(prepared.english, uniform('english', minAnswered - 1, 'right'));
    assert.equal(eleven.outcome === 'void' && eleven.reason, 'too_few_answers');
    assert.equal(score(prepared.english, uniform('english', minAnswered, 'right')).outcome, 'scored');
  });

  test('with answers in two domains, not in three', () => {
    const two = score(prepared.english, uniform('english', 16, 'right', 2));
    assert.equal(two.outcome === 'void' && two.reason, 'too_few_domains');
    assert.equal(score(prepared.english, uniform('english', 16, 'right', 3)).outcome, 'scored');
  });

  test('when items were only skipped or not reached, because neither is an answer', () => {
    assert.equal(score(prepared.maths, uniform('maths', 30, 'skipped')).outcome, 'void');
    assert.equal(score(prepared.maths, uniform('maths', 30, 'not_reached')).outcome, 'void');
    assert.equal(score(prepared.maths, []).outcome, 'void');
  });
});

suite('faults are named', () => {
  test('in the responses', () => {
    assert.throws(
      () => score(prepared.maths, [{ itemId: 'nowhere', outcome: 'right' }]),
      /nowhere is not in bank version synthetic-1/,
    );
    const id = banks.maths.items[0]!.id;
    assert.throws(
      () =>
        score(prepared.maths, [
          { itemId: id, outcome: 'right' },
          { itemId: id, outcome: 'wrong' },
        ]),
      /given twice/,
    );
  });

  test('in the bank', () => {
    const { maths } = banks;
    const first = maths.items[0]!;
    const bankWith = (item: typeof first) => ({ ...maths, items: [...maths.items, item] });
    assert.throws(() => prepareBank(bankWith(first)), /is twice in bank/);
    assert.throws(() => prepareBank(bankWith({ ...first, id: 'x', subject: 'english' })), /not a maths item/);
    assert.throws(
      () => prepareBank(bankWith({ ...first, id: 'x', domain: 'Cookery' })),
      /"Cookery", which the blueprint lacks/,
    );
    assert.throws(() => prepareBank(bankWith({ ...first, id: 'x', a: 0 })), /needs a above 0/);
  });
});
