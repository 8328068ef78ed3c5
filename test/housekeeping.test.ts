import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startHousekeeping } from '../src/housekeeping.ts';
import { withService } from './service.ts';

suite('housekeeping', async () => {
  const service = await withService();
  const { app } = service;
  const { db } = app;

  test('goes on, round after round, beside what is slow and what fails', async () => {
    const org = await service.organisation();
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C', name: 'C' })).body.data.id;
    await db.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no' ; end $$`);
    await db.query('create trigger refuse before delete on mail for each statement execute function refuse()');
    const isGone = async () => {
      const runId = app.random.uuid();
      await db.query(
        `insert into membership_run (organisation_id, run_id, joins, learner_ids, created_by, created_at, finished_at)
         values ($1, $2, $3, '{}', 'x', '2020-01-01', '2020-01-01')`,
        [org.id, runId, group],
      );
      while ((await db.query('select from membership_run where run_id = $1', [runId])).length > 0) await delay(5);
    };
    const failures = async (chore: string) => {
      const line = new RegExp(`"housekeeping.failed".*"chore":"${chore}"`);
      while (!service.logged.some((text) => line.test(text))) await delay(5);
    };
    const locked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow = db.transaction(async (tx) => {
      await tx.query('lock table user_session');
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const housekeeping = startHousekeeping(app, 40);
    try {
      for (let round = 0; round < 3; round++) await isGone();
      await failures('mails');
    } finally {
      release.resolve();
      await slow;
      await housekeeping.stop();
    }
  });
});
