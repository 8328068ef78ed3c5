import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { faultsOf, trials } from './trying.ts';

/** Consumers that are wrong on purpose: each is told what it does wrong, and nothing else. */

const tried = await trials();

suite('ars conform names what a consumer does wrong', { concurrency: 4 }, () => {
  for (const [fault, scenario, ...named] of [
    ['no-next', 'first-walk', 'lost'],
    ['keeps-withdrawn', 'withdrawn', 'kept-withdrawn'],
    ['ignores-exits', 'scope-exit', 'scope-exit'],
    ['own-clock', 'changes', 'own-clock'],
    ['drops-nulls', 'null-values', 'null-values'],
    ['stops-at-empty', 'empty-page', 'empty-page'],
    ['reads-everything', 'quiet-days', 'reads-everything'],
    ['ignores-retry-after', 'retry-after', 'ignored-retry-after'],
    ['takes-cut', 'interrupted', 'interrupted'],
    ['early-checkpoint', 'broken-walk', 'early-checkpoint'],
    ['no-signature', 'signatures', 'accepted-bad-signature', 'accepted-old-signature'],
    ['no-timestamp', 'signatures', 'accepted-old-signature'],
    ['appends-events', 'repeated-event', 'duplicate'],
    ['refuses-repeats', 'repeated-event', 'refused-repeat'],
    ['trusts-events', 'late-event', 'order'],
    ['strict', 'unknown-values', 'unknown-values'],
    ['strict-values', 'unknown-values', 'unknown-values'],
    ['strict-events', 'unknown-values', 'unknown-event'],
    ['no-digest', 'restored-backup', 'restored-backup'],
    // No fault: it compares nothing, and heeds X-Sync-Restored.
    ['by-restored', 'restored-backup'],
    // Nor here: it goes by the Link header, or makes its mirror of a walk for each subject.
    ['by-link', 'empty-page'],
    ['by-subject', 'withdrawn'],
    // Nor here: while it writes there is nothing to read.
    ['remakes', 'changes'],
    // Nor here: what it has written is lost with the backup, and it writes it again.
    ['writes-again', 'own-writes'],
  ] as const) {
    test(`${fault}: ${named.join(', ') || 'right'}`, async () => {
      const outcomes = await tried(fault, [scenario]);
      assert.deepEqual(faultsOf(outcomes), named, JSON.stringify(outcomes));
    });
  }

  test('writes: what it had written is not there again', async () => {
    const outcomes = await tried('writes', ['own-writes'], 'here', { patienceMs: 12_000 });
    assert.deepEqual(faultsOf(outcomes), ['own-writes'], JSON.stringify(outcomes));
    const [fault] = outcomes.at(-1)!.faults;
    // Two groups, two learners, three memberships, one that was ended, and an endpoint.
    assert.match(fault!.sentence, /still missing \(9\)/);
    assert.ok(fault!.ids.includes('learner own-1'), fault!.ids.join());
  });

  test('none: a consumer that writes nothing is not tried', async () => {
    const outcome = (await tried('none', ['own-writes'])).at(-1)!;
    assert.deepEqual([outcome.name, outcome.outcome, outcome.faults], ['own-writes', 'not_played', []]);
    assert.match(outcome.because!, /^not tried, because it has written nothing/);
  });

  for (const [scenario, reply] of [
    ['retry-after', '429'],
    ['interrupted', '503'],
  ]) {
    test(`gives-up at ${reply}`, async () => {
      const outcomes = await tried('gives-up', [scenario!], 'here', { patienceMs: 6000 });
      assert.deepEqual(faultsOf(outcomes), ['gave-up'], JSON.stringify(outcomes));
      assert.match(outcomes.at(-1)!.faults[0]!.sentence, new RegExp(`since it got ${reply}\\.`));
    });
  }
});
