import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadBank } from '../../src/engine/item-bank/load.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { probability } from '../../src/engine/scoring/irt.ts';
import { subjects } from '../../src/engine/scoring/levels.ts';
import type { ItemResponse } from '../../src/engine/scoring/score.ts';
import type { Selection } from '../../src/sittings/selection/content-selection.ts';
import { preparePool } from '../../src/sittings/selection/pool.ts';
import type { DeliveryPool } from '../../src/sittings/selection/pool.ts';
import { AdaptiveSitting, resumeSitting } from '../../src/sittings/selection/selection.ts';
import { deliver } from '../../tools/item-bank/simulation/delivery.ts';
import type { Individual, Stop } from '../../src/sittings/selection/selection.ts';
import { defaultSettings } from '../../src/sittings/selection/settings.ts';
import { syntheticBank } from '../engine/scoring/synthetic-bank.ts';

const pools = subjects.map((subject) => preparePool(loadBank().subjects[subject].version));
const [digital, english, maths] = pools as [DeliveryPool, DeliveryPool, DeliveryPool];

type Played = { choices: Selection[]; stop: Stop; items: number[]; history: ItemResponse[] };

/** A whole sitting, rebuilt from its history before every question, as the service does it. */
function play(pool: DeliveryPool, theta: number, individual: Individual): Played {
  const answer = seededRandom(`${individual.seed}:${theta}`);
  const choices: Selection[] = [];
  const items: number[] = [];
  const history: ItemResponse[] = [];
  for (;;) {
    const step = resumeSitting(pool, history, individual).next();
    if (step.kind === 'stop') return { choices, stop: step, items, history };
    const index = pool.indexById.get(step.itemId)!;
    choices.push(step);
    items.push(index);
    const right = answer.float() < probability(pool.bank.items[index]!, theta);
    history.push({ itemId: step.itemId, outcome: right ? 'right' : 'wrong' });
  }
}

const abilities = [-2.2, -0.9, 0.1, 1.2, 2.3];
const sittings = pools.flatMap((pool) =>
  abilities.map((theta, n) => ({ pool, theta, played: play(pool, theta, { seed: `s${n}` }) })),
);

suite('whatever the ability, a sitting of the shipped bank', () => {
  test('has no response type in more than 60 % of its questions, and the blueprint, at every question it may end at', () => {
    for (const { pool, played } of sittings) {
      const { items } = played;
      for (let n = pool.settings.minItems; n <= items.length; n++) {
        const sofar = items.slice(0, n);
        const types = Map.groupBy(sofar, (i) => pool.bank.items[i]!.type);
        for (const [type, list] of types) assert.ok(list.length <= 0.6 * n, `${type}: ${list.length} of ${n}`);
        pool.bank.domains.forEach(({ name, share }, d) => {
          const given = sofar.filter((i) => pool.domainOfItem[i] === d).length;
          assert.ok(Math.abs(given - share * n) <= 1.5, `${name}: ${given} of ${n}`);
        });
      }
    }
  });

  test('asks no more than three questions on a statement whose domain has others, half on a skill group, or its words', () => {
    for (const { pool, played } of sittings) {
      const { control, kindsOfItem, maxPerKind } = pool.content;
      const used = new Float64Array(maxPerKind.length);
      for (const i of played.items) for (const kind of kindsOfItem[i]!) used[kind]!++;
      used.forEach((count, kind) => assert.ok(count <= maxPerKind[kind]!, `kind ${kind}: ${count}`));
      const texts = new Set(played.items.map((i) => pool.passageOfItem[i]!).filter((p) => p >= 0));
      const words =
        played.items.reduce((sum, i) => sum + pool.bank.items[i]!.words!, 0) +
        [...texts].reduce((sum, p) => sum + pool.passages[p]!.words, 0);
      assert.ok(words <= control.maxWords, `${words} words`);
    }
  });

  test('asks two or three questions on each text, one after the other', () => {
    for (const { played } of sittings.filter(({ pool }) => pool === english)) {
      const texts = played.items.map((i) => english.passageOfItem[i]!);
      const runs: number[] = [];
      const begun = new Set<number>();
      texts.forEach((text, k) => {
        if (text < 0) return;
        if (text === texts[k - 1]) runs[runs.length - 1]!++;
        else {
          assert.ok(!begun.has(text), 'a text comes once');
          begun.add(text);
          runs.push(1);
        }
      });
      assert.ok(runs.length > 1 && runs.every((run) => run === 2 || run === 3), String(runs));
    }
  });

  test('asks for inference, purpose and language in at least 40 % of the questions on texts of Levels 1 and 2', () => {
    // Where such texts are asked for at all; the few questions of one sitting would leave the share to the seed.
    const more = Array.from({ length: 24 }, (_, n) => play(english, [0.1, 0.6, 1.2, 1.8][n % 4]!, { seed: `m${n}` }));
    const played = sittings.filter(({ pool }) => pool === english).map((one) => one.played);
    let [floored, all] = [0, 0];
    for (const { items } of [...played, ...more])
      for (const i of items) {
        const { domain, level, skillGroup } = english.bank.items[i]!;
        if (domain !== 'Reading' || !['level1', 'level2'].includes(level)) continue;
        all++;
        if (['inference', 'purpose', 'language'].includes(skillGroup!)) floored++;
      }
    assert.ok(all > 150 && floored >= 0.4 * all, `${floored} of ${all}`);
  });

  test('begins easier than the estimate, and meets no enemies', () => {
    for (const { pool, played } of sittings) {
      assert.equal(played.choices[0]!.target, -0.9);
      assert.ok(pool.bank.items[played.items[0]!]!.b < 0, pool.bank.items[played.items[0]!]!.id);
      const given = new Set(played.items);
      for (const i of played.items) for (const enemy of pool.enemies[i]!) assert.ok(!given.has(enemy));
      assert.equal(given.size, played.items.length);
    }
  });
});

test('a learner at −2 gets 40 % right, meets nothing much too hard after question 8, and needs at most 24 questions', () => {
  for (const pool of pools) {
    const random = seededRandom('weak learners');
    const sittings = 80;
    let [items, right] = [0, 0];
    for (let n = 0; n < sittings; n++) {
      const sitting = new AdaptiveSitting(pool, { seed: `weak ${n}` });
      for (let next = sitting.next(); next.kind === 'item'; next = sitting.next()) {
        const index = pool.indexById.get(next.itemId)!;
        const item = pool.bank.items[index]!;
        if (next.position > 8) assert.ok(item.b <= next.theta + 1.5, `${item.id} at ${next.theta}`);
        const isRight = random.float() < probability(item, -2);
        if (isRight) right++;
        sitting.recordIndex(index, isRight);
        items++;
      }
    }
    // The simulation measures both exactly. Two standard errors of 80 sittings are 1.2 questions and 2.4 points.
    assert.ok(items / sittings <= 24 + 1.2, `${pool.bank.subject}: ${items / sittings} questions`);
    assert.ok(right / items >= 0.4 - 0.024, `${pool.bank.subject}: ${right / items} right`);
  }
});

test('the same seed and answers give the same choices, another seed others', () => {
  const one = play(maths, 0.4, { seed: 'one' });
  assert.deepEqual(play(maths, 0.4, { seed: 'one' }).choices, one.choices);
  const other = play(maths, 0.4, { seed: 'two' }).items;
  assert.ok(one.items.filter((i) => other.includes(i)).length < 0.8 * other.length);
});

test('the candidates of a choice are its reasons: the chosen one first, all of its domain', () => {
  for (const { pool, played } of sittings)
    for (const choice of played.choices) {
      assert.equal(choice.candidates[0]!.itemId, choice.itemId);
      for (const { itemId } of choice.candidates)
        assert.equal(pool.bank.items[pool.indexById.get(itemId)!]!.domain, choice.domain);
    }
});

suite('what the learner saw within a year', () => {
  test('hardly comes again while the bank has fresh items that give half as much', () => {
    const first = play(digital, 0.3, { seed: 'a' });
    const seen = first.history.map((row) => row.itemId);
    const second = play(digital, 0.3, { seed: 'b', seen });
    const again = second.items.filter((i) => first.items.includes(i));
    assert.ok(again.length <= 2, `${again.length} again`);
  });

  test('comes again where nothing else is left: a fifth sitting is no shorter', () => {
    const seen = new Set<string>();
    for (let n = 0; n < 5; n++) {
      const { history, stop } = play(maths, 2, { seed: `again ${n}`, seen: [...seen] });
      assert.notEqual(stop.reason, 'no_items');
      for (const { itemId } of history) seen.add(itemId);
    }
    const all = play(maths, 0, { seed: 'all', seen: maths.bank.items.map(({ id }) => id) });
    assert.ok(all.items.length >= maths.settings.minItems);
  });

  test('includes the other questions on a text that was read', () => {
    const sittings = (seen: string[]) =>
      Array.from({ length: 12 }, (_, n) => play(english, 0.2, { seed: `t${n}`, seen }).items).flat();
    const fresh = sittings([]);
    const countOf = (items: readonly number[], passage: { items: readonly number[] }) =>
      items.filter((i) => passage.items.includes(i)).length;
    // The text that fresh sittings read most.
    const passage = english.passages.reduce((max, one) => (countOf(fresh, one) > countOf(fresh, max) ? one : max));
    const seen = [english.bank.items[passage.items[0]!]!.id];
    assert.ok(countOf(sittings(seen), passage) < countOf(fresh, passage), 'the whole text counts as read');
  });
});

test('a bank without types, statements and words is delivered by its domains alone', () => {
  const bank = syntheticBank('maths');
  const random = seededRandom('plain');
  const pool = preparePool(bank, defaultSettings('maths'));
  const { given } = deliver(pool, (i) => random.float() < probability(bank.items[i]!, 0.5), random);
  const counts = bank.domains.map((_, d) => given.filter((i) => pool.domainOfItem[i] === d).length);
  counts.forEach((count, d) => assert.ok(Math.abs(count - bank.domains[d]!.share * given.length) <= 1.5));
});

test('a domain that runs out gives way to the others', () => {
  const bank = syntheticBank('maths');
  const items = bank.items.filter((item) => item.domain !== 'Data' || item.id.endsWith('-0'));
  const random = seededRandom('scarce');
  const { clear: _, ...endless } = { ...defaultSettings('maths'), maxSe: 0 };
  const { maxAbove: _limit, ...content } = endless.content;
  const pool = preparePool({ ...bank, items }, { ...endless, content });
  const { given } = deliver(pool, () => random.float() < 0.5, random);
  assert.equal(given.length, 40);
  assert.equal(given.filter((i) => pool.domainOfItem[i] === 2).length, 6);
});
