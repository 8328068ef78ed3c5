import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { upgradeRounds } from '../../../src/governance/upgrade/upgrade.ts';
import { withService } from '../../support/service.ts';

suite('what an upgrade does with what is stored', async () => {
  const service = await withService({ own: 'Upgrades a whole database.' });
  const { app } = service;
  const { db } = app;

  test('goes on with the other organisations where one fails, and comes back to it', async () => {
    const [bad, good] = [await service.organisation(), await service.organisation()];
    await db.query('update feed set restored_through = 1');
    await db.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no' ; end $$`);
    await db.query(
      `create trigger refuse before update on feed for each row when (old.organisation_id = ${bad.id}) execute function refuse()`,
    );
    const left = async () => {
      const feeds = await db.query<{ id: number }>('select organisation_id as id from feed where restored_through > 0');
      return feeds.map((row) => row.id);
    };
    const clock = manualClock(0);
    const round = upgradeRounds({ ...app, clock: { ...app.clock, monotonicMs: clock.monotonicMs } });
    const rounds = async (ms: number) => {
      clock.advance(ms);
      for (let i = 0; i < 10; i++) await round();
    };
    await rounds(0);
    assert.deepEqual(await left(), [bad.id, good.id], 'it has to be alone for a while first');
    await rounds(limits.upgradeAloneMs);
    await rounds(limits.upgradeAloneMs);
    assert.deepEqual(await left(), [bad.id]);
    assert.equal(await round(), limits.upgradeLookMs);
    await db.query('drop trigger refuse on feed');
    await rounds(limits.upgradeIdleMs);
    assert.deepEqual(await left(), []);
    assert.equal(await round(), limits.upgradeIdleMs);
  });
});
