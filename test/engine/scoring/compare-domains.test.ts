import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulationRandom, standardNormal } from '../../../tools/item-bank/simulation/random.ts';
import { compareDomains, domainSd } from '../../../src/engine/scoring/compare-domains.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { score } from '../../../src/engine/scoring/score.ts';
import { prepareBank } from '../../../src/engine/scoring/score.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { syntheticBank } from './synthetic-bank.ts';

const bank = syntheticBank('digital', 12);
const names = bank.domains.map(({ name }) => name);
const itemsOf = (name: string, count: number) =>
  bank.items.filter(({ domain, level }) => domain === name && level === 'level1').slice(0, count);
/** Each domain has `count` answers, of which the stated number are right. */
const answered = (right: readonly number[], count: number) =>
  names.flatMap((name, d) => itemsOf(name, count).map((item, k) => ({ item, right: k < right[d]! })));

test('equal answers are about the same, and few wrong or few right answers in one domain are named', () => {
  const level = compareDomains(names, answered([6, 6, 6, 6, 6], 12));
  assert.deepEqual(new Set(level.map(({ compared }) => compared)), new Set(['same']));
  const weak = compareDomains(names, answered([2, 7, 7, 7, 7], 12));
  assert.deepEqual(weak.map(({ compared }) => compared)[0], 'weaker');
  const strong = compareDomains(names, answered([11, 6, 6, 6, 6], 12));
  assert.deepEqual(strong.map(({ compared }) => compared)[0], 'stronger');
});

test('with few answers nothing is compared, whatever they are', () => {
  const few = compareDomains(names, answered([0, 4, 4, 4, 4], 4));
  assert.deepEqual(new Set(few.map(({ compared }) => compared)), new Set([null]));
});

test('differences add up to 0, and without answers they have the error of the prior alone', () => {
  const some = compareDomains(names, answered([2, 5, 9, 7, 7], 12));
  assert.ok(Math.abs(some.reduce((sum, { difference }) => sum + difference, 0)) < 1e-9);
  const none = compareDomains(names, [])[0]!;
  assert.ok(Math.abs(none.difference) < 1e-9);
  assert.ok(Math.abs(none.se - domainSd * Math.sqrt(1.25)) < 0.002, `${none.se}`);
});

test('the stated errors are those that learners with unequal domains have', () => {
  const random = simulationRandom(seededRandom('unequal domains'));
  let squares = 0;
  let n = 0;
  for (let learner = 0; learner < 60; learner++) {
    const theta = standardNormal(random);
    const own = names.map(() => domainSd * standardNormal(random));
    const answers = names.flatMap((name, d) =>
      itemsOf(name, 8).map((item) => ({ item, right: random.float() < probability(item, theta + own[d]!) })),
    );
    compareDomains(names, answers).forEach(({ difference, se }, d) => {
      const others = own.reduce((sum, one, e) => sum + (e === d ? 0 : one), 0) / (names.length - 1);
      squares += ((own[d]! - others - difference) / se) ** 2;
      n++;
    });
  }
  // The mean of squared standardised errors is 1, give or take two standard errors of about 0.1.
  assert.ok(Math.abs(squares / n - 1) < 0.25, `${squares / n}`);
});

test('a result states the difference in levels, for the level above, and null at the top', () => {
  const outcomes = answered([2, 7, 7, 7, 7], 8).map(({ item, right }) => ({
    itemId: item.id,
    outcome: right ? ('right' as const) : ('wrong' as const),
  }));
  const result = score(prepareBank(bank), outcomes);
  assert.ok(result.outcome === 'scored');
  const [weak] = result.domains;
  assert.equal(weak!.compared, 'weaker');
  assert.ok(weak!.difference! < 0 && weak!.differenceSe! > 0 && weak!.nextPct! <= weak!.scorePct!);
  const all = score(
    prepareBank(bank),
    outcomes.map(({ itemId }) => ({ itemId, outcome: 'right' as const })),
  );
  assert.ok(all.outcome === 'scored');
  if (all.placement === 'level3') assert.equal(all.domains[0]!.nextPct, null);
});
