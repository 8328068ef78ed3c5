import { suite, test } from 'node:test';
import assert from 'node:assert/strict';
import { planSandbox } from '../../src/sandbox/data/plan.ts';
import { clientGroupTypes } from '../../src/organisations/groups/types.ts';
import { dayMs, nowMs, seed, plan, learners, results, key, near, shareOf } from './planned.ts';

/** Two letters, six digits and a letter, wherever and however they are separated. */
const nationalInsurance = /[A-Z]{2}\d{6}[A-D]/i;
const looksLikeNationalInsurance = (text: string): boolean =>
  nationalInsurance.test(text.replace(/[^\p{L}\p{N}]/gu, ''));

const groupByKey = new Map(plan.groups.map((group) => [key(group), group]));

suite('the same seed and day give the same sandbox', () => {
  test('whatever the moment of the day', () => {
    const again = planSandbox({ seed, learners: 300, nowMs: Math.floor(nowMs / dayMs) * dayMs });
    assert.deepEqual([...again.learners()], learners.slice(0, 300));
  });

  test('learner k is the same whatever the total is, and in whatever order learners are asked for', () => {
    const few = planSandbox({ seed, learners: 100, nowMs });
    const more = planSandbox({ seed, learners: 2_000, nowMs });
    assert.deepEqual([...few.learners()], [...more.learners()].slice(0, 100));
    assert.deepEqual(few.learner(1_777), more.learner(1_777));
    const keys = new Map(more.groups.map((group) => [key(group), group]));
    for (const group of few.groups) assert.deepEqual(keys.get(key(group)), group);
    few.teams.forEach((team, i) => {
      for (let number = 1; number <= 200; number += 1)
        assert.equal(team.includes(number), more.teams[i]!.includes(number));
    });
  });

  test('known values, so that a change of the generator is seen', () => {
    assert.deepEqual(
      [plan.learner(1), plan.learner(2)].map(({ ref, full_name, results: own }) => [
        ref,
        full_name,
        own[0]?.record.assessment_id ?? null,
      ]),
      [
        ['LRN-000001', 'Kyle Naylor', null],
        ['LRN-000002', 'Daisy Walker', '49c1d581-cc71-8b26-b1f1-33b476b63291'],
      ],
    );
  });

  test('another seed gives other people, references and ids', () => {
    const other = [...planSandbox({ seed: 'other', learners: 500, nowMs }).learners()];
    assert.ok(shareOf(other, (learner) => learner.full_name === learners[learner.number - 1]!.full_name) < 0.05);
    const ids = new Set(results.map(({ record }) => record.assessment_id));
    for (const learner of other) for (const { record } of learner.results) assert.ok(!ids.has(record.assessment_id));
  });

  test('ids and levels do not depend on the day', () => {
    const later = planSandbox({ seed, learners: 200, nowMs: nowMs + 9 * dayMs });
    for (const learner of later.learners()) {
      const mine = learners[learner.number - 1]!;
      assert.deepEqual(
        learner.results.map(({ record }) => [record.assessment_id, record.working_level]),
        mine.results.map(({ record }) => [record.assessment_id, record.working_level]),
      );
    }
  });
});

suite('groups', () => {
  test('fewer than 450 at any size, teams included, of every type, some archived', () => {
    for (const size of [0, 1, 100, 2_000, 100_000, 1_000_000]) {
      const sized = planSandbox({ seed, learners: size, nowMs });
      assert.ok(sized.groups.length + sized.teams.length < 450, `${size}: ${sized.groups.length}`);
      for (const type of clientGroupTypes)
        assert.ok(
          sized.groups.some((group) => group.type === type),
          type,
        );
      const archived = sized.groups.filter((group) => group.archived).length;
      assert.ok(archived >= 5 && archived < sized.groups.length / 3, `${archived} archived of ${sized.groups.length}`);
    }
  });

  test('references and names are valid and unique by type', () => {
    assert.equal(groupByKey.size, plan.groups.length);
    assert.equal(new Set(plan.groups.map((group) => `${group.type} ${group.name}`)).size, plan.groups.length);
    for (const group of plan.groups) {
      assert.match(group.ref, /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/);
      assert.ok(group.name.length > 0 && group.name.length <= 200);
      assert.ok(!looksLikeNationalInsurance(group.ref) && !looksLikeNationalInsurance(group.name), group.name);
    }
  });

  test('at every moment of the year and of the day, members belong to planned groups', () => {
    for (const month of [0, 3, 7, 8, 11]) {
      const other = planSandbox({ seed, learners: 300, nowMs: Date.UTC(2027, month, 1) });
      const keys = new Set(other.groups.map(key));
      for (const learner of other.learners())
        for (const group of learner.groups) assert.ok(keys.has(key(group)), key(group));
    }
  });

  test('members hold planned groups, at most 20, and moves fit what they hold', () => {
    const members = new Map<string, number>();
    for (const learner of learners) {
      const held = new Set(learner.groups.map(key));
      assert.equal(held.size, learner.groups.length);
      if (learner.ref === null) assert.equal(learner.groups.length + learner.moves.length, 0);
      else assert.ok(held.size >= 4 && held.size <= 20);
      for (const name of held) members.set(name, (members.get(name) ?? 0) + 1);
      for (const move of learner.moves) {
        assert.ok(move.remove.length + move.add.length > 0);
        for (const group of move.remove) assert.ok(held.delete(key(group)), `${learner.number} leaves ${key(group)}`);
        for (const group of move.add) {
          assert.equal(groupByKey.get(key(group))?.archived, false);
          assert.ok(!held.has(key(group)), `${learner.number} joins ${key(group)} twice`);
          held.add(key(group));
        }
      }
    }
    for (const name of members.keys()) assert.ok(groupByKey.has(name), name);
    assert.ok(shareOf(plan.groups, (group) => members.has(key(group))) > 0.9);
    assert.ok(
      plan.groups.some((group) => group.archived && members.has(key(group))),
      'an archived group with members',
    );
    near(
      shareOf(learners, (learner) => learner.moves.length > 0),
      0.13,
      0.03,
      'share of moved learners',
    );
  });

  test('teams have members, each a learner with a reference and in one team at most', () => {
    const sizes = plan.teams.map(() => 0);
    for (const learner of learners) {
      const mine = plan.teams.flatMap((team, i) => (team.includes(learner.number) ? [i] : []));
      assert.ok(mine.length <= (learner.ref === null ? 0 : 1));
      for (const i of mine) sizes[i]! += 1;
    }
    for (const size of sizes) assert.ok(size > learners.length * 0.03, String(sizes));
  });
});
