import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AddressWindows } from '../../src/api/address-windows.ts';
import { manualClock } from '../platform/time/manual-clock.ts';

const network = (i: number) => `2001:db8:0:${i.toString(16)}::`;

suite('windows by address, when an IPv6 /48 has taken all of them', () => {
  const flooded = (whenFull: 'share' | 'forget') => {
    const windows = new AddressWindows(manualClock(Date.UTC(2026, 0, 31, 9)), whenFull);
    for (let i = 0; i < 30_000; i++) windows.count(network(i));
    return windows;
  };

  test('those of pages are forgotten, the oldest first: whoever comes later has a window of their own', () => {
    const windows = flooded('forget');
    assert.deepEqual(
      [windows.count('192.0.2.1').calls, windows.count('192.0.2.1').calls, windows.count('192.0.2.2').calls],
      [1, 2, 1],
    );
    assert.deepEqual([windows.count(network(29_999)).calls, windows.count(network(0)).calls], [2, 1]);
  });

  test('those of refused callers are shared: all that come later are bounded together', () => {
    const windows = flooded('share');
    assert.deepEqual([windows.count('192.0.2.1').calls, windows.count('192.0.2.2').calls], [20_001, 20_002]);
  });
});
