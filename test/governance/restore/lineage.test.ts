import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { lockFeed, readFeed } from '../../../src/feed/position.ts';
import { countRestores } from './count-restores.ts';
import { findLineage, takeUpRestore } from '../../../src/governance/restore/lineage.ts';
import { onCitus } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';

suite('which history of the database this is', async () => {
  const service = await withService({ own: 'Changes the lineage of the database.' });
  const { app } = service;
  await service.organisation();

  test('a backup that was put in place is declared once, by one of the processes that find its mark', async () => {
    const siblings = await Promise.all([1, 2, 3].map(() => service.sibling({})));
    for (const [i, mark] of ['2026-01-31 one', '2026-01-31 two'].entries()) {
      const all = await Promise.all([service, ...siblings].map((one) => takeUpRestore(one.app, 'operator', mark)));
      assert.deepEqual(
        all.filter((begun) => begun !== null),
        [1],
      );
      assert.equal(await takeUpRestore(app, 'operator', mark), null);
      assert.equal(await countRestores(app.db), i + 1);
    }
    assert.equal(await takeUpRestore(app, 'operator'), 1, 'whoever declares one by hand means another');
    assert.equal((await findLineage(app.db))!.mark, '2026-01-31 two');
  });

  test('feeds go on above what was shown before the backup was put in place', async () => {
    const org = await service.organisation();
    const position = async () => (await readFeed(app.db, org.id)).position / 1000;
    const beganMs = app.clock.nowMs();
    await withUnitOfWork(app, null, async (work) => {
      const feed = await lockFeed(work, org.id);
      feed.used(1);
    });
    const shownMs = await position();
    assert.ok(shownMs >= beganMs);
    // The backup is from before.
    await app.db.query('update feed set position = 0 where organisation_id = $1', [org.id]);
    await takeUpRestore(app, 'operator');
    assert.ok((await position()) > shownMs);
  });

  test(
    'of a cluster every worker is known, and another one in the place of one is a restore',
    { skip: !onCitus },
    async () => {
      const { nodes, restores } = (await findLineage(app.db))!;
      const names = Object.keys(nodes);
      assert.ok(names.length > 0);
      for (const one of Object.values(nodes)) assert.match(one, /^\d+ \d+ \d+$/);
      // One that has gone, and one that has come.
      const put = (changed: Record<string, string>) =>
        app.db.query('update lineage set nodes = $1', [JSON.stringify(changed)]);
      await put({ ...nodes, 99: '7 1 16384' });
      assert.equal(await takeUpRestore(app), null);
      await put(Object.fromEntries(names.slice(1).map((name) => [name, nodes[name]!])));
      assert.equal(await takeUpRestore(app), null);
      assert.deepEqual((await findLineage(app.db))!.nodes, nodes);
      // A standby that was promoted is on another timeline.
      await put({ ...nodes, [names[0]!]: nodes[names[0]!]!.replace(/ \d+ /, ' 7 ') });
      assert.equal(await takeUpRestore(app), 1);
      assert.equal(await takeUpRestore(app), null);
      assert.equal((await findLineage(app.db))!.restores, restores + 1);
    },
  );
});
