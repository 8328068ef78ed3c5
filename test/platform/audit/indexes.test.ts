import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAuditMonths } from '../../../src/platform/audit/months.ts';
import { manualClock } from '../time/manual-clock.ts';
import { withService } from '../../support/service.ts';

test('reads of the log by resource and by key are by index in every month, months to come included', async () => {
  const clock = manualClock(Date.UTC(2026, 10, 22, 12));
  const { app } = await withService({ own: 'Moves the clock.', clock });
  const partial = () =>
    app.db.query<{ part: string; indexes: number }>(
      `select c.relname as part, count(x.indpred) as indexes
         from pg_inherits h join pg_class c on c.oid = h.inhrelid join pg_index x on x.indrelid = c.oid and x.indisvalid
        where h.inhparent = 'audit'::regclass group by 1`,
    );
  const first = await partial();
  clock.advance(100 * 86_400_000);
  await makeAuditMonths(app);
  const later = await partial();
  assert.ok(later.length > first.length);
  assert.ok(later.some(({ part }) => part === 'audit_default'));
  for (const { part, indexes } of later) assert.equal(indexes, 7, part);
});
