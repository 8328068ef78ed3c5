import { suite, test } from 'node:test';
import assert from 'node:assert/strict';
import { fastRandom } from '../../src/platform/crypto/random.ts';
import { changeShares, nextChange } from '../../src/sandbox/changes.ts';
import type { Change, SandboxState } from '../../src/sandbox/changes.ts';
import { planSandbox } from '../../src/sandbox/data/plan.ts';

const nowMs = Date.UTC(2026, 2, 4, 13, 37, 11);
const plan = planSandbox({ seed: 'changes', learners: 60, nowMs });
const state: SandboxState = {
  nowMs,
  groups: plan.groups,
  nextLearner: plan.learner(61),
  learners: [...plan.learners()].map(({ ref, full_name, groups, results }) => ({
    ref,
    full_name,
    groups,
    results: results.map(({ record }) => record),
  })),
};
const drawn = (count: number, from: SandboxState = state): Change[] => {
  const random = fastRandom('draws');
  return Array.from({ length: count }, () => nextChange(random, from));
};

suite('nextChange', () => {
  const changes = drawn(5_000);

  test('the same stream and state give the same changes', () => {
    assert.deepEqual(drawn(200), changes.slice(0, 200));
  });

  test('kinds come in their shares', () => {
    for (const [kind, percent] of changeShares) {
      const share = (100 * changes.filter((change) => change.kind === kind).length) / changes.length;
      assert.ok(Math.abs(share - percent) < 2.5, `${kind}: ${share} %`);
    }
  });

  test('every change fits the state', () => {
    const records = new Map(
      state.learners.flatMap(({ results }) => results.map((record) => [record.assessment_id, record])),
    );
    const byRef = new Map(state.learners.map((learner) => [learner.ref, learner]));
    const groupOf = (key: { type: string; ref: string }) =>
      state.groups.find(({ type, ref }) => type === key.type && ref === key.ref);
    const ids = new Set<string>();
    for (const change of changes) {
      switch (change.kind) {
        case 'completion':
          assert.ok(!records.has(change.record.assessment_id) && !ids.has(change.record.assessment_id));
          ids.add(change.record.assessment_id);
          assert.equal(change.record.learner.full_name, byRef.get(change.record.learner.ref)?.full_name);
          assert.equal(change.record.assessed_at, '2026-03-04T13:37:11.000Z');
          break;
        case 'move': {
          const held = byRef.get(change.learner_ref)!.groups;
          const holds = (key: { type: string; ref: string }): boolean =>
            held.some(({ type, ref }) => type === key.type && ref === key.ref);
          assert.ok(change.remove.length + change.add.length > 0);
          for (const key of change.remove) assert.ok(holds(key));
          for (const key of change.add) assert.ok(!holds(key) && groupOf(key)!.archived === false);
          break;
        }
        case 'amendment': {
          const record = records.get(change.assessment_id)!;
          assert.notDeepEqual({ ...record, ...change.fields }, record);
          break;
        }
        case 'withdrawal':
          assert.ok(records.has(change.assessment_id) && change.reason.length > 0);
          break;
        case 'enrolment':
          assert.equal(change.learner.ref, state.nextLearner.ref);
          for (const group of change.learner.groups) assert.equal(groupOf(group)!.archived, false);
          break;
        case 'rename': {
          const group = groupOf(change.group)!;
          assert.ok(change.name !== group.name && change.name.length <= 200 && !group.archived);
          break;
        }
      }
    }
  });

  test('renaming again and again keeps one ending', () => {
    const random = fastRandom('names');
    let group = { type: 'class' as const, ref: 'CLS-001', name: 'Maths', archived: false };
    for (let i = 0; i < 400; i += 1) {
      const change = nextChange(random, { ...state, groups: [group] });
      if (change.kind === 'rename') group = { ...group, name: change.name };
      assert.match(group.name, /^Maths( \([^()]+\))?$/);
    }
  });

  test('an empty sandbox begins with enrolments', () => {
    for (const change of drawn(50, { ...state, learners: [], groups: [] })) assert.equal(change.kind, 'enrolment');
  });
});
