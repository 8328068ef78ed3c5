import assert from 'node:assert/strict';
import { seededRandom } from '../../../src/platform/crypto/random.ts';

const maxT = 4;

function welch(a: number[], b: number[]): number {
  const describe = (all: number[]) => {
    const sorted = [...all].sort((x, y) => x - y);
    const kept = sorted.slice(sorted.length / 10, (sorted.length * 9) / 10);
    const mean = kept.reduce((sum, x) => sum + x, 0) / kept.length;
    const variance = kept.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (kept.length - 1);
    return { mean, error: variance / kept.length };
  };
  const [first, second] = [describe(a), describe(b)];
  return (first.mean - second.mean) / Math.sqrt(first.error + second.error);
}

/**
 * Asserts that two ways take the same time: they are measured in pairs, in a random order within each. What is beyond the
 * bound is measured once more: chance doesn't repeat itself.
 * @param measure takes one sample of the first or the second way, in microseconds
 */
export async function tellApart(
  samples: number,
  seed: string,
  measure: (which: 0 | 1) => Promise<number>,
): Promise<void> {
  const random = seededRandom(seed);
  const compare = async () => {
    const times: [number[], number[]] = [[], []];
    for (let i = -20; i < samples; i++)
      for (const which of random.float() < 0.5 ? ([0, 1] as const) : ([1, 0] as const)) {
        const took = await measure(which);
        if (i >= 0) times[which].push(took);
      }
    return welch(...times);
  };
  const t = await compare();
  if (Math.abs(t) < maxT) return;
  const again = await compare();
  assert.ok(Math.abs(again) < maxT, `t = ${t.toFixed(1)}, and again ${again.toFixed(1)}`);
}
