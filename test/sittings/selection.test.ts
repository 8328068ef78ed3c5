import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { confidenceInterval, eap, probability } from '../../src/engine/scoring/irt.ts';
import { levelsOf, subjects } from '../../src/engine/scoring/levels.ts';
import { levelProbabilities } from '../../src/engine/scoring/probabilities.ts';
import type { ItemResponse } from '../../src/engine/scoring/score.ts';
import type { Selection } from '../../src/sittings/selection/content-selection.ts';
import { preparePool } from '../../src/sittings/selection/pool.ts';
import type { DeliveryPool } from '../../src/sittings/selection/pool.ts';
import { AdaptiveSitting, expectedMove, resumeSitting } from '../../src/sittings/selection/selection.ts';
import { deliver, deliverAtRandom } from '../../tools/item-bank/simulation/delivery.ts';
import type { Stop } from '../../src/sittings/selection/selection.ts';
import { defaultSettings } from '../../src/sittings/selection/settings.ts';
import { syntheticBank } from '../engine/scoring/synthetic-bank.ts';

type Played = { choices: Selection[]; stop: Stop; history: ItemResponse[] };

/** A full sitting by IDs, as a caller with a stored history would run it. */
function play(pool: DeliveryPool, theta: number, seed: string): Played {
  const answer = seededRandom(`${seed}:answers`);
  const choices: Selection[] = [];
  const history: ItemResponse[] = [];
  for (;;) {
    const step = resumeSitting(pool, history, { seed }).next();
    if (step.kind === 'stop') return { choices, stop: step, history };
    const item = pool.bank.items[pool.indexById.get(step.itemId)!]!;
    choices.push(step);
    history.push({ itemId: step.itemId, outcome: answer.float() < probability(item, theta) ? 'right' : 'wrong' });
  }
}

const pools = subjects.map((subject) => preparePool(syntheticBank(subject)));
const maths = pools[2]!;
const digital = pools[0]!;

const anyPool = fc.constantFrom(...pools);
const anyTheta = fc.double({ min: -3.5, max: 3.5, noNaN: true });

suite('selection', () => {
  test('starts at the prior mean, and its running estimate is the EAP of the answers so far', () => {
    const { choices, history } = play(maths, 0.8, 'estimate');
    assert.deepEqual([choices[0]!.theta, choices[0]!.se, choices[0]!.position], [0, 1, 1]);
    const at = 17;
    const items = history.slice(0, at).map((r) => maths.bank.items[maths.indexById.get(r.itemId)!]!);
    const reference = eap(
      items,
      history.slice(0, at).map((r) => (r.outcome === 'right' ? 1 : 0)),
    );
    assert.ok(
      Math.abs(choices[at]!.theta - reference.theta) < 1e-12 && Math.abs(choices[at]!.se - reference.sd) < 1e-12,
    );
  });

  test('the first candidate is selected, and a seed always selects the same items', () => {
    const { choices } = play(digital, -0.3, 'replay');
    for (const choice of choices) assert.equal(choice.candidates[0]!.itemId, choice.itemId);
    assert.deepEqual(play(digital, -0.3, 'replay').choices, choices);
    assert.notDeepEqual(play(digital, -0.3, 'another').choices, choices);
  });

  test('a sitting resumed from its history goes on exactly as the one in memory', () => {
    const individual = { seed: 'live' };
    const live = new AdaptiveSitting(maths, individual);
    const history: ItemResponse[] = [];
    for (let k = 0; k < 20; k++) {
      const step = live.next() as Selection;
      history.push({ itemId: step.itemId, outcome: k % 3 === 0 ? 'wrong' : 'right' });
      live.record(history.at(-1)!);
      assert.deepEqual(resumeSitting(maths, history, individual).next(), live.next());
    }
  });
});

suite('what is never given', () => {
  test('an item twice', () => {
    fc.assert(
      fc.property(anyPool, anyTheta, fc.nat(), (pool, theta, seed) => {
        const given = play(pool, theta, String(seed)).history.map((r) => r.itemId);
        assert.equal(new Set(given).size, given.length);
      }),
      { numRuns: 6 },
    );
  });

  test('an enemy of an item given, whichever of the two names the other', () => {
    const bank = syntheticBank('maths');
    const items = bank.items.map((item, i) => (i % 2 === 0 ? { ...item, enemies: [bank.items[i + 1]!.id] } : item));
    const pool = preparePool({ ...bank, items });
    for (let seed = 0; seed < 6; seed++) {
      const pairs = play(pool, seed / 3 - 1, `enemy${seed}`).history.map((r) =>
        Math.floor(pool.indexById.get(r.itemId)! / 2),
      );
      assert.equal(new Set(pairs).size, pairs.length);
    }
  });

  test('more than three items on one passage', () => {
    const bank = syntheticBank('english');
    const items = bank.items.map((item, i) =>
      item.domain === 'Reading' ? { ...item, passage: `p${Math.floor(i / 8)}` } : item,
    );
    const pool = preparePool({ ...bank, items });
    const { history } = play(pool, 0, 'passage');
    const counts = Map.groupBy(
      history.flatMap((r) => items.find((item) => item.id === r.itemId)!.passage ?? []),
      (p) => p,
    );
    assert.ok(counts.size > 1);
    for (const [passage, list] of counts) assert.ok(list.length <= 3, `${passage}: ${list.length}`);
  });
});

suite('stopping', () => {
  test('comes at 20 items or later once no cut is in reach and the error is small, or the level is clear, else at 40', () => {
    const reasons = new Set<string>();
    fc.assert(
      fc.property(anyPool, anyTheta, fc.nat(), (pool, theta, seed) => {
        const { choices, stop, history } = play(pool, theta, String(seed));
        reasons.add(stop.reason);
        const { minItems, maxSe, reachSds, clear } = defaultSettings(pool.bank.subject);
        const lowCut = pool.cuts.find(({ level }) => level === clear!.low.below)!.theta;
        // By the words of the rule: the variance now, less that at 40 items if information goes on as it came.
        const mayEnd = (given: number, at: number, se: number, rounding: number) => {
          const information = 1 / se ** 2 - 1;
          const move = Math.sqrt(se ** 2 - 1 / (1 + (information * 40) / given));
          if (lowCut - at > clear!.low.reachSds * move - 1e-9) return true;
          const { posterior } = resumeSitting(pool, history.slice(0, given), { seed: String(seed) });
          const probabilities = levelProbabilities(pool.bank.subject, pool.cuts, posterior);
          if (Math.max(...Object.values(probabilities)) > clear!.probability + rounding) return true;
          return se <= maxSe && pool.cuts.every((cut) => Math.abs(cut.theta - at) > reachSds * move - 1e-9);
        };
        assert.ok(stop.given >= minItems && stop.given <= 40);
        if (stop.reason === 'precise') {
          // Published probabilities are rounded to thousandths.
          assert.ok(mayEnd(stop.given, stop.theta, stop.se, -0.0006));
          assert.deepEqual(stop.ci, confidenceInterval({ theta: stop.theta, sd: stop.se }));
        } else assert.deepEqual([stop.reason, stop.given], ['max_items', 40]);
        for (const { theta: at, se, position } of choices.slice(minItems)) {
          assert.ok(!mayEnd(position - 1, at, se, 0.0006), `item ${position} was not needed`);
        }
        for (const { name, share } of pool.bank.domains) {
          const given = choices.filter((choice) => choice.domain === name).length;
          assert.ok(given >= 3 && Math.abs(given - share * stop.given) <= 1.5, `${name}: ${given} of ${stop.given}`);
        }
      }),
      {
        numRuns: 30,
        examples: [
          [digital, -0.3, 1],
          ...[1, 2, 3, 4, 5, 6, 7, 8].map((seed): [DeliveryPool, number, number] => [maths, 3.5, seed]),
        ],
      },
    );
    assert.deepEqual([...reasons].sort(), ['max_items', 'precise']);
  });

  test('waits for three items in each domain, even where a domain has a small share', () => {
    const bank = syntheticBank('maths');
    const domains = bank.domains.map((domain, d) => ({ ...domain, share: d === 0 ? 0.8 : 0.1 }));
    // No cut is in reach and any error is small enough, so only the minimum keeps this sitting going.
    const hasty = { ...defaultSettings('maths'), minItems: 6, maxSe: 10, reachSds: 0 };
    const { stop, history } = play(preparePool({ ...bank, domains }, hasty), 0, 'eager');
    const given = (d: number, upTo: number) =>
      history.slice(0, upTo).filter((r) => r.itemId.split('-')[2] === String(d));
    assert.equal(stop.reason, 'precise');
    const counts = (upTo: number) => [0, 1, 2].map((d) => given(d, upTo).length);
    assert.equal(Math.min(...counts(stop.given)), 3);
    assert.equal(Math.min(...counts(stop.given - 1)), 2);
  });

  test('the time limit ends it at once, and the item on the screen counts for nothing', () => {
    const sitting = new AdaptiveSitting(maths, { seed: 'time' });
    const step = sitting.next() as Selection;
    sitting.record({ itemId: step.itemId, outcome: 'not_reached' });
    const stop = sitting.next(true) as Stop;
    assert.deepEqual([stop.reason, stop.given, stop.theta, stop.se], ['time_limit', 0, 0, 1]);
  });

  test('comes when the bank has nothing left', () => {
    const bank = syntheticBank('maths', 1);
    const { stop, history } = play(preparePool(bank), 0, 'none');
    assert.deepEqual([stop.reason, stop.given, history.length], ['no_items', bank.items.length, bank.items.length]);
  });

  test('a domain that runs out gives way to the next', () => {
    const bank = syntheticBank('maths');
    const kept = bank.items.filter((item) => item.domain !== 'Data' || item.id.endsWith('-0'));
    const { stop, history } = play(preparePool({ ...bank, items: kept }), 0, 'scarce');
    assert.equal(stop.given, 40);
    assert.equal(history.filter((r) => r.itemId.includes('-2-')).length, 6);
  });
});

test('a sitting waits for the cuts of all levels, Entry sub-levels included', () => {
  for (const pool of pools)
    assert.deepEqual(
      pool.cuts.map((cut) => cut.level),
      levelsOf(pool.bank.subject),
    );
});

test('what the estimate will still move, by hand', () => {
  // Error 0.3 after 30 items of 40: precision 11.11, 10.11 of it from the items, 3.37 more to come, error 0.263 then.
  const settings = defaultSettings('maths');
  assert.ok(Math.abs(expectedMove(0.3, 30, settings) - 0.14476) < 1e-4, `${expectedMove(0.3, 30, settings)}`);
  assert.equal(expectedMove(0.3, 40, settings), 0);
});

test('adaptive choice measures better than random choice of the same length', () => {
  let adaptive = 0;
  let random = 0;
  for (let k = 0; k < 60; k++) {
    const theta = (k % 12) / 3 - 2;
    const draw = seededRandom(String(k));
    const answers = (i: number) => draw.float() < probability(maths.bank.items[i]!, theta);
    const sitting = deliver(maths, answers, draw);
    const yardstick = deliverAtRandom(maths, answers, draw, sitting.given.length);
    assert.equal(yardstick.given.length, sitting.given.length);
    adaptive += sitting.ability.sd / 60;
    random += yardstick.ability.sd / 60;
  }
  assert.ok(adaptive < 0.9 * random, `${adaptive} against ${random}`);
});
