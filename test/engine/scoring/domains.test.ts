import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ScoredItem } from '../../../src/engine/scoring/cuts.ts';
import { domainStatus, scoreDomains } from '../../../src/engine/scoring/domains.ts';
import { eap, probability } from '../../../src/engine/scoring/irt.ts';
import { prepareBank } from '../../../src/engine/scoring/score.ts';
import { syntheticBank } from './synthetic-bank.ts';

const bank = syntheticBank('digital');
const overall = { theta: -0.2, sd: 0.3 };
const { cuts } = prepareBank(bank);
const at = { level: 'level1', next: 'level2', cuts } as const;

function answers(domain: string, right: number, wrong: number) {
  const items: ScoredItem[] = bank.items.filter((item) => item.domain === domain && item.level === 'level1');
  return items.slice(0, right + wrong).map((item, k) => ({ item, right: k < right }));
}

test("the score is the expected share on the domain's pool at the deciding level, at the domain's own estimate", () => {
  const given = answers('Devices', 4, 2);
  const [devices] = scoreDomains(['Devices'], at, bank.items, given, overall);
  const theta = eap(
    given.map((x) => x.item),
    given.map((x) => (x.right ? 1 : 0)),
    { mean: -0.2, sd: 0.5 },
  ).theta;
  const pool = bank.items.filter((item) => item.domain === 'Devices' && item.level === 'level1');
  const share = pool.reduce((sum, item) => sum + probability(item, theta), 0) / pool.length;
  assert.deepEqual([devices!.theta, devices!.scorePct], [theta, Math.round(share * 100)]);
  assert.deepEqual([devices!.right, devices!.answered, devices!.items, devices!.poolItems], [4, 6, 6, 8]);
  const above = bank.items.filter((item) => item.domain === 'Devices' && item.level === 'level2');
  const shareAbove = above.reduce((sum, item) => sum + probability(item, theta), 0) / above.length;
  assert.equal(devices!.nextPct, Math.round(shareAbove * 100));
});

test('what was skipped counts as wrong and is no answer: one answer and four skips say nothing', () => {
  const skips = (answered: number) =>
    answers('Devices', 2, 3).map((answer, k) => ({ ...answer, skipped: k >= answered }));
  const of = (given: ReturnType<typeof answers>) => scoreDomains(['Devices'], at, bank.items, given, overall)[0]!;
  const two = of(skips(2));
  assert.deepEqual([two.scorePct, two.status, two.theta, two.answered, two.items], [null, null, null, 2, 5]);
  const three = of(skips(3));
  assert.deepEqual([three.answered, three.items], [3, 5]);
  assert.equal(three.scorePct, of(answers('Devices', 2, 3)).scorePct);
});

test('two answers say nothing, three do; the order is the one given', () => {
  const given = [...answers('Safety', 2, 0), ...answers('Devices', 3, 0)];
  const [safety, devices, creating] = scoreDomains(['Safety', 'Devices', 'Creating'], at, bank.items, given, overall);
  assert.deepEqual([safety!.name, safety!.scorePct, safety!.status], ['Safety', null, null]);
  assert.ok(devices!.scorePct! > 0 && devices!.status !== null);
  assert.deepEqual([creating!.scorePct, creating!.items], [null, 0]);
});

test('a domain without items at the deciding level has no score', () => {
  const without = bank.items.filter((item) => item.level !== 'level3' || item.domain !== 'Devices');
  const [devices] = scoreDomains(
    ['Devices'],
    { ...at, level: 'level3', next: null },
    without,
    answers('Devices', 4, 2),
    overall,
  );
  assert.deepEqual([devices!.scorePct, devices!.status, devices!.poolItems], [null, null, 0]);
});

test('status boundaries are 65 and 40', () => {
  assert.deepEqual([100, 65, 64, 40, 39, 0].map(domainStatus), [
    'secure',
    'secure',
    'developing',
    'developing',
    'needs_support',
    'needs_support',
  ]);
});
