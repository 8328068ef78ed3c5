import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSemaphore } from '../../../src/integrations/webhooks/attempt.ts';

test('a semaphore that grows gives as many more permits, in the order in which they were asked for', async () => {
  let size = 1;
  const acquire = createSemaphore(() => size);
  const entered: number[] = [];
  const leaving: (() => void)[] = [];
  for (let i = 0; i < 5; i++)
    void acquire().then((release) => {
      entered.push(i);
      leaving.push(release);
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
  assert.deepEqual(entered, [0, 1, 2, 3], 'and one that shrinks gives none until fewer are out');
  leaving[3]!();
  await Promise.resolve();
  assert.deepEqual(entered, [0, 1, 2, 3, 4]);
});
