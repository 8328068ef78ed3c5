import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { manualClock } from '../platform/time/manual-clock.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { startHousekeeping } from '../../src/server/housekeeping.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { postLetter } from '../../src/platform/mail/outbox.ts';
import { withService } from '../support/service.ts';

const dayMs = 86_400_000;

suite('housekeeping', async () => {
  const service = await withService({ own: 'Housekeeping works on the whole database.' });
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
        `insert into background_job (organisation_id, job_id, kind, status, created_by, created_at, finished_at, input, items, progress)
         values ($1, $2, 'membership_run', 'finished', 'x', '2020-01-01', '2020-01-01', jsonb_build_object('joins', $3::text), '{}', '{}')`,
        [org.id, runId, group],
      );
      while ((await db.query('select from background_job where job_id = $1', [runId])).length > 0) await delay(5);
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

  test('forgets mails whose time is over where no mail server is set any more', async () => {
    const clock = manualClock(systemClock.nowMs() - 30 * dayMs);
    const settings = { ARS_SMTP_URL: 'smtp://localhost:9', ARS_MAIL_FROM: 'results@example.org' };
    const mailing = await service.sibling({ clock, settings });
    await mailing.withUnitOfWork((work) =>
      postLetter(work, {
        organisationId: null,
        cause: 'test',
        address: 'ana@college.example',
        letter: { subject: 'News', says: ['It is so.'] },
      }),
    );
    await mailing.stop();
    const later = await service.sibling({ clock });
    const housekeeping = startHousekeeping(later.app, 40);
    const mail = async () =>
      (
        await db.query<{ status: string; sealed: Buffer | null }>(
          "select status, sealed from mail where cause = 'test'",
        )
      )[0]!;
    try {
      for (let round = 0; round < 3; round++) await delay(50);
      assert.equal((await mail()).status, 'waiting');
      clock.advance(limits.mailMs);
      while ((await mail()).status === 'waiting') await delay(5);
      assert.deepEqual(await mail(), { status: 'expired', sealed: null });
    } finally {
      await housekeeping.stop();
    }
  });
});
