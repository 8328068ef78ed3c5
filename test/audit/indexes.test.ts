import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { makeAuditIndexes } from '../../src/audit/indexes.ts';
import { makeAuditMonths } from '../../src/audit/months.ts';
import { manualClock } from '../../src/clock.ts';
import { withService } from '../service.ts';

/** Reads of the log by resource and by key are by index in every partition, whenever and however it came to be. */

const clock = manualClock(Date.UTC(2026, 10, 22, 12));
const service = await withService({ clock });
const { db } = service.app;

const kinds = async () =>
  (
    await db.query<{ part: string; kinds: string[] }>(
      `select c.relname as part, array_agg(x.indisvalid || ' ' || (pg_get_expr(x.indpred, x.indrelid) is not null) order by 1) as kinds
         from pg_inherits h join pg_class c on c.oid = h.inhrelid join pg_index x on x.indrelid = c.oid
        where h.inhparent = 'audit'::regclass group by 1 order by 1`,
    )
  ).map(({ part, kinds: found }) => `${part}: ${found.filter((one) => one === 'true true').length}`);

suite('indexes of the log', () => {
  test('the first partition, the default one and every month have them, months to come included', async () => {
    const first = await kinds();
    clock.advance(100 * 86_400_000);
    await makeAuditMonths(service.app);
    const later = await kinds();
    assert.ok(later.length > first.length);
    for (const part of later) assert.match(part, /: 2$/);
    assert.ok(
      ['audit_before: 2', 'audit_default: 2'].every((part) => later.includes(part)),
      later.join(),
    );
  });

  const missing = () => db.query<{ name: string; broken: boolean }>('select name, broken from audit_indexes_missing()');
  const waiting = `from pg_stat_activity where datname = current_database() and query like 'create index concurrently audit_before%' and wait_event_type = 'Lock'`;

  test('what is missing is made, by one process of several', async () => {
    for (const index of ['audit_before_organisation_id_resource_idx', 'audit_default_polls'])
      await db.query(`drop index ${index}`);
    assert.deepEqual(
      (await missing()).map(({ name, broken }) => [name, broken]),
      [
        ['audit_before_organisation_id_resource_idx', false],
        ['audit_default_polls', false],
      ],
    );
    await Promise.all([1, 2, 3].map(() => makeAuditIndexes(service.app)));
    while ((await missing()).length > 0) await makeAuditIndexes(service.app);
    for (const part of await kinds()) assert.match(part, /: 2$/);
  });

  test('writers go on meanwhile; what is broken off is made anew', async () => {
    await db.query('drop index audit_before_polls');
    const writer = service.app.db.dedicated();
    await writer.query('begin');
    await writer.query('lock table audit_before in row exclusive mode');
    const stopping = new AbortController();
    const making = makeAuditIndexes(service.app, stopping.signal);
    while ((await db.query(`select ${waiting}`)).length === 0);
    await db.query('begin; lock table audit_before in row exclusive mode; rollback');
    stopping.abort();
    await making;
    await writer.query('rollback');
    await writer.close();
    assert.deepEqual(await missing(), [{ name: 'audit_before_polls', broken: true }]);
    await makeAuditIndexes(service.app);
    assert.deepEqual(await missing(), []);
    for (const part of await kinds()) assert.match(part, /: 2$/);
  });
});
