// Tier: full. Simulates thousands of sittings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { judgeGoals } from '../../tools/item-bank/simulation/goals.ts';
import { loadBank } from '../../src/engine/item-bank/load.ts';
import { commands } from '../../tools/item-bank/commands/bank.ts';
import { simulationOf } from '../../tools/item-bank/commands/simulate-thread.ts';
import { reportOf, runCondition, simulate } from '../../tools/item-bank/simulation/simulate.ts';
import type { SimulationReport } from '../../tools/item-bank/simulation/simulate.ts';
import { preparePool } from '../../src/sittings/selection/pool.ts';
import { deliver, deliverAtRandom } from '../../tools/item-bank/simulation/delivery.ts';
import { overlapOf } from '../../tools/item-bank/simulation/delivered.ts';
import { syntheticBank } from '../engine/scoring/synthetic-bank.ts';

const bank = syntheticBank('digital', 12);

function report(learners: number, seed: string): SimulationReport {
  const pool = preparePool(bank);
  return simulate({
    bank,
    learners,
    minPerDomain: 3,
    adaptive: (answers, random, seen) => deliver(pool, answers, random, seen),
    random: (answers, random, length) => deliverAtRandom(pool, answers, random, length),
    seed: (name) => seededRandom(`${seed}:${name}`),
  });
}

const sound = report(300, 'sound');

test('the same seed gives the same report, another seed another one', () => {
  const first = report(40, 'one');
  assert.deepEqual(report(40, 'one'), first);
  assert.notDeepEqual(report(40, 'two').population, first.population);
});

test('the figures of a sound bank are in the range that theory gives', () => {
  const r = sound;
  const p = r.population;
  assert.deepEqual([r.subject, r.items, p.learners], ['digital', bank.items.length, 300]);
  assert.ok(p.meanItems >= 20 && p.meanItems <= 40);
  // The posterior SD is the error that the model expects, so over many learners it must match the error made.
  assert.ok(Math.abs(p.rmse / p.meanSe - 1) < 0.15, `${p.rmse} against ${p.meanSe}`);
  assert.ok(Math.abs(p.reliability! - (1 - p.rmse ** 2)) < 0.05);
  assert.ok(p.coverage > 0.91 && p.coverage < 0.98);
  assert.ok(Math.abs(p.gate.right + p.gate.falseAbove + p.gate.falseBelow - 1) < 1e-12);
  assert.ok(p.gate.right > 0.87 && p.gate.rightWhenClear! > 0.97 && p.equalsFullBank! > 0.88);
  assert.ok(p.rqf.right > 0.72 && p.rqf.withinOne > 0.99 && p.rqf.workingLevelRight <= p.rqf.right + 1e-12);
  assert.ok(r.rmseGain > 0.1 && p.blueprintMet === 1);
  assert.ok(
    r.exposure.highest > r.exposure.overlap.share && r.exposure.overlap.share > p.meanItems / bank.items.length,
  );
  assert.deepEqual(
    r.atCuts.map((x) => x.level),
    ['entry', 'level1', 'level2', 'level3'],
  );
});

test('stress moves the estimate the way that it must', () => {
  const { population, stress } = sound;
  const by = (name: string) => stress.find((s) => s.name === name)!.figures;
  // Skips where one would have guessed hardly matter: two standard errors of the difference of 300 learners each.
  assert.ok(by('skips_blind').bias < by('skips').bias && by('skips').bias < population.bias + 0.046);
  assert.ok(by('population_lower').bias > 0 && by('population_higher').bias < 0, 'the prior pulls towards its mean');
  assert.ok(by('skips_blind').rmse > 1.2 * population.rmse);
});

test('a domain that is weaker is named more often than one that is not, and a weak learner is not kept', () => {
  const [{ weakNamed, wronglyNamed, wrongOfNamed, compared }] = sound.domains;
  assert.ok(weakNamed.share! > 0.45 && wronglyNamed.share! < 0.15 && wrongOfNamed.share! < 0.35);
  assert.ok(compared.share! > 0.5 && compared.of === 5 * 400, `${compared.share} of ${compared.of}`);
  const weak = sound.abilities.find(({ theta }) => theta === -2)!;
  assert.ok(weak.right > 0.35 && weak.tooHard === 0 && weak.meanItems < 36, JSON.stringify(weak));
});

test('goals are judged at their bounds, and a missing figure meets none', () => {
  const at = structuredClone(sound);
  at.population.gate = { right: 0.91, rightWhenClear: null, clear: 0, falseBelow: 0.05, falseAbove: 0.0501 };
  at.population.coverage = 0.97;
  const met = new Map(judgeGoals(at).map((g) => [g.goal, g.met]));
  assert.equal(met.get('Level 1 decision right'), true);
  assert.equal(met.get('Level 1 decision right where the interval is clear of the cut'), false);
  assert.equal(met.get('wrongly below Level 1'), true);
  assert.equal(met.get('wrongly at or above Level 1'), false);
  assert.equal(met.get("the model's 95 % interval holds the truth, all learners"), false);
  assert.equal(judgeGoals(sound).length, 40);
  assert.equal(judgeGoals({ ...sound, subject: 'maths' }).length, 41, 'maths has a goal for Entry sub-levels too');
});

test('a goal has the standard error of its figure: of a share by its base, of an error by the spread of the errors', () => {
  const by = new Map(judgeGoals(sound).map((g) => [g.goal, g]));
  const { gate, rmse } = sound.population;
  const right = by.get('Level 1 decision right')!;
  assert.equal(right.se, Math.sqrt((gate.right * (1 - gate.right)) / 300));
  const clear = by.get('Level 1 decision right where the interval is clear of the cut')!;
  const p = gate.rightWhenClear!;
  assert.ok(Math.abs(clear.se! - Math.sqrt((p * (1 - p)) / (300 * gate.clear))) < 1e-12);
  // Normal errors would give rmse / √(2n).
  assert.ok(Math.abs(by.get('RMSE of θ')!.se! / (rmse / Math.sqrt(600)) - 1) < 0.35);
});

test('overlap: the pairs counted one by one, and a standard error that is the spread over other learners', () => {
  const items = 20;
  const drawn = (random: ReturnType<typeof seededRandom>) =>
    Array.from({ length: 40 }, () => {
      const liked = Array.from({ length: items }, (_, i) => ({ i, by: (i + 1) * random.float() }));
      liked.sort((a, b) => b.by - a.by);
      return liked.slice(0, 4 + Math.floor(4 * random.float())).map(({ i }) => i);
    });
  const of = (sittings: number[][]) => {
    const counts = new Float64Array(items);
    for (const own of sittings) for (const i of own) counts[i]!++;
    return overlapOf(counts, sittings);
  };
  const some = drawn(seededRandom('some'));
  const common = some.flatMap((own, k) =>
    some.map((other, l) => (k === l ? 0 : own.filter((i) => other.includes(i)).length)),
  );
  const lengths = some.reduce((sum, own) => sum + own.length, 0);
  assert.ok(Math.abs(of(some).share - common.reduce((sum, one) => sum + one, 0) / 39 / lengths) < 1e-12);
  const random = seededRandom('many');
  const many = Array.from({ length: 200 }, () => of(drawn(random)));
  const mean = many.reduce((sum, { share }) => sum + share, 0) / many.length;
  const spread = Math.sqrt(many.reduce((sum, { share }) => sum + (share - mean) ** 2, 0) / many.length);
  const stated = many.reduce((sum, { se }) => sum + se!, 0) / many.length;
  assert.ok(Math.abs(stated / spread - 1) < 0.15, `${stated} against ${spread}`);
  assert.equal(of(some.slice(0, 2)).se, null);
});

test('bank simulate reports from many threads what one condition after the other gives', async () => {
  const simulation = simulationOf(loadBank(), 'digital', { learners: 20, seed: 'threads' });
  const names = [...simulation.conditions.keys()].toReversed();
  const report = reportOf(simulation, new Map(names.map((name) => [name, runCondition(simulation, name)])));
  const command = commands.find(({ name }) => name === 'bank simulate')!;
  const { json } = await command.run({
    options: { subject: 'digital', learners: '20', seed: 'threads' },
    positionals: [],
    json: true,
    progress: () => {},
    step: () => {},
    signal: new AbortController().signal,
  });
  const { subjects } = json as { subjects: unknown };
  assert.deepEqual(subjects, [{ ...report, goals: judgeGoals(report) }]);
});
