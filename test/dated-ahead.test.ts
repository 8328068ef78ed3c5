import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { claimKey } from '../src/api/idempotency.ts';
import { systemClock } from '../src/clock.ts';
import { startHousekeeping } from '../src/housekeeping.ts';
import { limits } from '../src/limits.ts';
import { postLetter } from '../src/mail/outbox.ts';
import { startMailer } from '../src/mail/worker.ts';
import { countAttempt } from '../src/users/throttle.ts';
import { claimEndpoints } from '../src/webhooks/leases.ts';
import { startMailServer } from './mail/mail-server.ts';
import { personOf } from './console/visitor.ts';
import { withScene } from './webhooks/scene.ts';

const year = 365 * 24 * 3600_000;
const hour = 3600_000;

/** A clock jumps a year ahead and back again: nothing that it has dated meanwhile waits, or lives, for that year. */
suite('after a clock was a year ahead', async () => {
  const mails = await startMailServer();
  const scene = await withScene({ ARS_SMTP_URL: mails.url, ARS_MAIL_FROM: 'results@example.org' });
  const { service, clock, organisation } = scene;
  const { app } = service;
  const { db } = app;

  /** What happens while the clock is ahead, and `after` it, with housekeeping at work. */
  async function ahead<T>(meanwhile: () => Promise<T>, after: (made: T) => Promise<void>): Promise<void> {
    clock.set(systemClock.nowMs() + year);
    const made = await meanwhile();
    clock.set(systemClock.nowMs());
    const housekeeping = startHousekeeping(app, 40);
    try {
      await after(made);
    } finally {
      await housekeeping.stop();
    }
  }
  const until = async (isSo: () => Promise<boolean>) => {
    while (!(await isSo())) await delay(5);
  };

  test('deliveries are sent, and lanes of a worker that was killed are free', async () => {
    const endpoint = await scene.endpoint();
    await ahead(
      async () => {
        await scene.emit(['ana']);
        const nowMs = clock.nowMs();
        const lease = { workerId: app.random.uuid(), nowMs, untilMs: nowMs + 10_000 };
        assert.equal((await claimEndpoints(db, lease, 100, [organisation.id])).length, 1);
        await db.query('update webhook_endpoint set failing_since = $1 where endpoint_id = $2', [
          new Date(nowMs),
          endpoint.id,
        ]);
      },
      async () => {
        const worker = scene.worker({ pollMs: 50 });
        await scene.emit(['ben']);
        await endpoint.receiver.arrived(2);
        clock.advance(1000);
        await scene.emit(['cy']);
        await endpoint.receiver.arrived(3);
        await until(async () => (await scene.row(endpoint)).failing_since === null);
        await worker.stop();
      },
    );
  });

  test('what the schedule has put off is left to it', async () => {
    clock.set(systemClock.nowMs());
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    const at = new Date(clock.nowMs() + 27 * hour);
    const due = async () =>
      (
        await db.query<{ at: Date }>('select next_attempt_at as at from delivery where endpoint_id = $1', [endpoint.id])
      )[0]!.at;
    await db.query('update delivery set next_attempt_at = $1 where endpoint_id = $2', [at, endpoint.id]);
    const housekeeping = startHousekeeping(app, 40);
    const other = await scene.endpoint();
    await scene.emit(['ben']);
    const isBack = async () =>
      (await db.query('select from delivery where endpoint_id = $1 and next_attempt_at <= $2', [other.id, at]))
        .length === 1;
    await db.query('update delivery set next_attempt_at = $1 where endpoint_id = $2', [
      new Date(clock.nowMs() + 29 * hour),
      other.id,
    ]);
    await until(isBack);
    assert.equal((await due()).getTime(), at.getTime());
    await housekeeping.stop();
  });

  test('mails are sent, and live no longer than they were to', async () => {
    await ahead(
      () =>
        service.inWork((work) =>
          postLetter(work, {
            organisationId: null,
            cause: 'news 1',
            address: 'ana@college.example',
            letter: { subject: 'News', says: ['It is so.'] },
          }),
        ),
      async () => {
        const row = async () =>
          (await db.query<{ expires_at: Date }>(`select expires_at from mail where cause = 'news 1'`))[0]!;
        await until(async () => (await row()).expires_at.getTime() === clock.nowMs() + limits.mailMs);
        const mailer = startMailer(app);
        await mailer.round();
        await mailer.stop();
        assert.deepEqual(
          mails.received.map((one) => one.to.join()),
          ['ana@college.example'],
        );
      },
    );
  });

  test('a session lives as long as one that begins now, and proves nothing', async () => {
    await ahead(
      () => personOf(service, organisation.id, 'owner', { email: 'owner@college.example' }),
      async (owner) => {
        const proved = async () =>
          (await db.query<{ at: Date }>('select proved_at as at from user_session'))[0]!.at.getTime();
        await until(async () => (await proved()) === 0);
        const home = `/console/${organisation.publicId}`;
        assert.equal((await owner.get(home)).status, 200);
        clock.advance(limits.sessionIdleMs + 60_000);
        assert.equal((await owner.get(home)).status, 303);
      },
    );
  });

  test('an Idempotency-Key whose request was killed can be used again', async () => {
    const claim = () => claimKey(app, organisation.id, 'killed', 'POST /groups');
    await ahead(claim, async () => {
      const taken = async () => (await claim().catch(() => null)) !== null;
      await until(taken);
    });
  });

  test('sign-ins wait for one window more, not for a year', async () => {
    const subject = { kind: 'account', value: 'ana@college.example' } as const;
    const wait = () => service.inWork((work) => countAttempt(work, [subject]));
    clock.set(systemClock.nowMs() + year);
    for (let i = 0; i < limits.signInFailuresPerAccount; i++) assert.equal(await wait(), 0);
    clock.set(systemClock.nowMs());
    assert.equal(await wait(), limits.signInFailuresMs / 1000);
    clock.advance(limits.signInFailuresMs);
    assert.equal(await wait(), 0);
  });

  test('a clock that is behind is told of, and brings nothing back by its time', async () => {
    clock.set(systemClock.nowMs());
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    clock.set(systemClock.nowMs() - year);
    const housekeeping = startHousekeeping(app, 40);
    await until(async () => service.logged.join('').split('"event":"clock.behind"').length > 8);
    await housekeeping.stop();
    const [row] = await db.query<{ at: Date }>('select next_attempt_at as at from delivery where endpoint_id = $1', [
      endpoint.id,
    ]);
    assert.ok(row!.at.getTime() > systemClock.nowMs() - hour);
  });
});
