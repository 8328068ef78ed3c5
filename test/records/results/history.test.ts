import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { historyOf } from '../../../src/records/results/lists/history.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

suite('the history of a result', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const ana = await scene.learner('ana', 'Ana Silva');
  const history = (id: string) => historyOf(service.app.db, scene.org.id, id);

  test('each amendment with its time, actor, reason and what it changed; none for a result as it came', async () => {
    const result = await ana.completes();
    assert.deepEqual(await history(result.id), []);
    const { framework } = (await result.read()).body.data;
    await result.isAmended({ framework: 'Second' });
    await result.isAmended({ framework: 'Third', needs_review: true });
    const [first, second, ...others] = (await history(result.id))!;
    assert.equal(others.length, 0);
    assert.deepEqual(
      [first!.kind, first!.actor, first!.reason, first!.changes],
      ['amended', 'operator', 'a scenario', [{ field: 'framework', before: framework, after: 'Second' }]],
    );
    assert.deepEqual(second!.changes, [
      { field: 'framework', before: 'Second', after: 'Third' },
      { field: 'needs_review', before: false, after: true },
    ]);
    assert.ok(first!.at < second!.at);
  });

  test('a withdrawal keeps who, when and why, and nothing of what stood before', async () => {
    const result = await ana.completes();
    await result.isAmended({ framework: 'Soon gone' });
    await result.isWithdrawn();
    const entries = (await history(result.id))!;
    assert.deepEqual(
      entries.map((entry) => [entry.kind, entry.reason, entry.changes]),
      [
        ['amended', 'a scenario', []],
        ['withdrawn', 'a scenario', []],
      ],
    );
  });

  test('changes in one millisecond, and by a clock that stepped back, stay apart and in order', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 31, 9));
    const still = await withService({ own: 'Moves the clock.', clock });
    const other = await scenario(still);
    const result = await (await other.learner('bo')).completes();
    await result.isAmended({ framework: 'Second' });
    await result.isAmended({ framework: 'Third' });
    clock.advance(-5_000);
    await result.isAmended({ framework: 'Fourth' });
    const entries = (await historyOf(still.app.db, other.org.id, result.id))!;
    assert.deepEqual(
      entries.map((entry) => entry.changes.map(({ after }) => after)),
      [['Second'], ['Third'], ['Fourth']],
    );
    await result.isWithdrawn();
    assert.deepEqual(
      (await historyOf(still.app.db, other.org.id, result.id))!.map((entry) => entry.kind),
      ['amended', 'amended', 'amended', 'withdrawn'],
    );
  });

  test("unknown and another organisation's results have none", async () => {
    const result = await ana.completes();
    const other = await service.organisation();
    assert.equal(await historyOf(service.app.db, other.id, result.id), undefined);
    assert.equal(await history('11111111-1111-4111-8111-111111111111'), undefined);
  });
});
