// Tier: full. Starts and kills consumers as processes.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { faultsOf, trials } from './trying.ts';

/** Consumers in a process of their own. */

const tried = await trials();

suite('ars conform tries consumers in processes', { concurrency: 4 }, () => {
  for (const [fault, scenario, ...named] of [
    ['checkpoint-first', 'killed', 'early-checkpoint'],
    ['crashes', 'unknown-values', 'crash'],
  ] as const) {
    test(`${fault}: ${named.join(', ')}`, async () => {
      const outcomes = await tried(fault, [scenario], 'process');
      assert.ok(faultsOf(outcomes).includes(named[0]), JSON.stringify(outcomes));
    });
  }

  test('a command that ends at once is told so, and a mirror that is none of results is refused', async () => {
    const [outcome] = await tried('none', null, 'process', { command: 'exit 3' });
    assert.match(outcome!.faults[0]!.sentence, /^It ended before it asked/);
    await assert.rejects(tried('none', ['withdrawn'], 'here', { idColumn: 'nothing' }), /contains no ID of a result/);
  });

  test('nothing wrong with one that is right, whatever happens to it', async () => {
    const outcomes = await tried('none', null, 'process');
    assert.deepEqual(faultsOf(outcomes), [], JSON.stringify(outcomes));
    assert.deepEqual(
      outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ name, outcome }) => [name, outcome]),
      [['own-writes', 'not_played']],
    );
  });
});
