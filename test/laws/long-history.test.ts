// Tier: full. Plays a history five times as long as the gate's.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

test('law 1, 2 and 3: they hold in a history of 960 changes', () => {
  const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, 'history.test.ts')], {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, LAW_ROUNDS: process.env.LAW_ROUNDS ?? '120' },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
});
