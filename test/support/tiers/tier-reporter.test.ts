import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import tierReporter from './tier-reporter.ts';

async function reportOf(...events: [type: 'test:pass' | 'test:fail', data: object][]): Promise<unknown> {
  async function* given() {
    for (const [type, data] of events) {
      const details = { duration_ms: 5, error: new Error('fails') };
      yield { type, data: { file: import.meta.filename, nesting: 0, details, ...data } } as TestEvent;
    }
  }
  return JSON.parse((await Array.fromAsync(tierReporter(given()))).join(''));
}

test('a file of a worker has a time, and counts by its tests', async () => {
  const error = Object.assign(new Error('1 subtest failed'), { failureType: 'subtestsFailed' });
  const report = await reportOf(
    ['test:pass', { name: 'one', nesting: 1 }],
    ['test:pass', { name: 'test/good.test.ts', details: { duration_ms: 70 } }],
    ['test:pass', { name: 'two', nesting: 1, skip: 'no PHP here' }],
    ['test:fail', { name: 'three', nesting: 1 }],
    ['test:fail', { name: 'test/bad.test.ts', details: { duration_ms: 80, error } }],
    ['test:fail', { name: 'test/unloadable.test.ts', details: { duration_ms: 90, error: new Error('no module') } }],
  );
  assert.deepEqual(report, {
    passed: 1,
    failed: 2,
    failures: [
      'test/support/tiers/tier-reporter.test.ts: three: fails',
      'test/support/tiers/tier-reporter.test.ts: test/unloadable.test.ts: no module',
    ],
    skipped: ['test/support/tiers/tier-reporter.test.ts: two (no PHP here)'],
    files: { 'test/good.test.ts': 70, 'test/bad.test.ts': 80, 'test/unloadable.test.ts': 90 },
  });
});

test('a file with its own process has the time of its outermost tests', async () => {
  const report = await reportOf(
    ['test:pass', { name: 'inner', nesting: 1 }],
    ['test:pass', { name: 'outer' }],
    ['test:pass', { name: 'a suite', details: { duration_ms: 6, type: 'suite' } }],
  );
  assert.deepEqual(report, {
    passed: 2,
    failed: 0,
    failures: [],
    skipped: [],
    files: { 'test/support/tiers/tier-reporter.test.ts': 11 },
  });
});
