import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../src/clock.ts';
import { createGate } from '../../src/webhooks/gate.ts';
import { createPace } from '../../src/webhooks/pace.ts';

test('a thousandth of what was recorded lately may arrive twice, eight at least and 32 at most', () => {
  const clock = manualClock(0);
  const pace = createPace(clock);
  const record = (count: number) => {
    for (let i = 0; i < count; i++) pace.recorded();
  };
  assert.equal(pace.mayRepeat, 8);
  record(8_999);
  assert.equal(pace.mayRepeat, 8);
  record(3_001);
  assert.equal(pace.mayRepeat, 12);
  clock.advance(30_000);
  record(9_000);
  assert.equal(pace.mayRepeat, 21);
  clock.advance(30_000);
  assert.equal(pace.mayRepeat, 9, 'the half minute before this one counts, an earlier one does not');
  record(100_000);
  assert.equal(pace.mayRepeat, 32);
  clock.advance(60_000);
  assert.equal(pace.mayRepeat, 8);
});

test('a gate that grows lets in as many more, in their order', async () => {
  let size = 1;
  const gate = createGate(() => size);
  const entered: number[] = [];
  const leaving: (() => void)[] = [];
  for (let i = 0; i < 5; i++)
    void gate().then((leave) => {
      entered.push(i);
      leaving.push(leave);
    });
  await Promise.resolve();
  assert.deepEqual(entered, [0]);
  size = 3;
  leaving[0]!();
  leaving[0]!();
  await Promise.resolve();
  assert.deepEqual(entered, [0, 1, 2, 3]);
  size = 1;
  leaving[1]!();
  leaving[2]!();
  await Promise.resolve();
  assert.deepEqual(entered, [0, 1, 2, 3], 'and one that shrinks lets nobody in until it is below its size');
  leaving[3]!();
  await Promise.resolve();
  assert.deepEqual(entered, [0, 1, 2, 3, 4]);
});
