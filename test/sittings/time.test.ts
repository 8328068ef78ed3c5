import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { manualClock } from '../platform/time/manual-clock.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { readFeed } from '../../src/feed/position.ts';
import { adjustInvitation } from '../../src/sittings/invitations/invitations.ts';
import { requireStartCode } from '../../src/sittings/invitations/start-code.ts';
import { suspendOrganisation } from '../../src/governance/offboarding/suspend.ts';
import { markResumed } from '../../src/organisations/suspension.ts';
import { endIdle, endWhenTimeIsUp, markSeen, pauseSitting, resumePaused } from '../../src/sittings/answer.ts';
import { reviewSitting } from '../../src/sittings/review.ts';
import { suspensionsDuring } from '../../src/sittings/suspension.ts';
import { closeIdleSittings } from '../../src/sittings/expire.ts';
import type { SittingRow } from '../../src/sittings/store.ts';
import { findItems, findSitting } from '../../src/sittings/store.ts';
import { standards } from '../../src/sittings/scoring/standards.ts';
import { startSitting } from '../../src/sittings/start.ts';
import { maxDisplayMs, idleMs, remainingMs, timeLimitMs } from '../../src/sittings/working-time.ts';
import { waitForLocks } from '../support/postgres.ts';
import { withService } from '../support/service.ts';
import { invited } from './learner.ts';

const minute = 60_000;

suite('working time', async () => {
  const clock = manualClock(Date.parse('2026-03-02T09:00:00Z'));
  const service = await withService({ own: 'Moves the clock.', clock });
  const org = await service.organisation({ plan: 'standard', credits: 20 });
  const credits = async () =>
    (
      await service.app.db.query<{ credits: number }>('select credits from organisation where organisation_id = $1', [
        org.id,
      ])
    )[0]!.credits;
  const read = async (sitting: { organisation_id: number; sitting_id: string }) =>
    (await findSitting(service.app.db, sitting))!;
  const resultsOf = async (ref: string) => (await org.get(`/assessments?learner_ref=${ref}`)).body.data;

  test('stops while the sitting is paused, and goes on where it was', async () => {
    const ana = await invited(service, org);
    const sitting = await ana.starts();
    clock.advance(3 * minute);
    await pauseSitting(service.app, sitting, { position: 1, answer: {} });
    clock.advance(47 * 60 * minute);
    assert.equal(remainingMs(await read(sitting), clock.nowMs()), 57 * minute);
    assert.equal(await ana.answers('right'), 'late');
    await resumePaused(service.app, sitting);
    clock.advance(minute);
    assert.equal(await ana.answers('right'), 'taken');
    assert.equal(remainingMs(await read(sitting), clock.nowMs()), 56 * minute);
  });

  test('each question has its working time without pauses, and its pauses', async () => {
    const ann = await invited(service, org);
    const sitting = await ann.starts();
    const times = async () =>
      (await findItems(service.app.db, sitting)).map((row) => [row.working_ms, row.pauses, row.paused_ms]);
    clock.advance(2 * minute);
    await pauseSitting(service.app, sitting, { position: 1, answer: {} });
    clock.advance(minute);
    // Paused again in a tab that was left open: one pause, which began with the first.
    await pauseSitting(service.app, sitting, { position: 1, answer: {} });
    clock.advance(29 * minute);
    await Promise.all([resumePaused(service.app, sitting), resumePaused(service.app, sitting)]);
    clock.advance(minute);
    await pauseSitting(service.app, sitting, null);
    // The clock is set back in a pause: the pause is counted, and lasted no time.
    clock.advance(-minute);
    await resumePaused(service.app, sitting);
    clock.advance(minute);
    assert.equal(await ann.answers('right'), 'taken');
    assert.deepEqual(await times(), [
      [4 * minute, 2, 30 * minute],
      [null, 0, 0],
    ]);
    clock.advance(12 * minute);
    await ann.answers('skip');
    const rows = await times();
    assert.deepEqual(rows[1], [maxDisplayMs, 0, 0]);
    assert.equal(rows[0]![0]! + rows[1]![0]!, (await read(sitting)).used_ms);
  });

  test('a pause and an answer at once, from two tabs: time is counted once, and the sitting goes on', async () => {
    const bob = await invited(service, org);
    const sitting = await bob.starts();
    for (let position = 1; position <= 6; position++) {
      clock.advance(minute);
      await Promise.all([
        bob.answers('wrong'),
        pauseSitting(service.app, sitting, { position, answer: {} }),
        pauseSitting(service.app, sitting, { position, answer: {} }),
      ]);
      await resumePaused(service.app, sitting);
      const rows = await findItems(service.app.db, sitting);
      const worked = rows.reduce((sum, row) => sum + (row.working_ms ?? 0), 0);
      assert.equal(worked, position * minute);
      assert.equal((await read(sitting)).used_ms, position * minute);
      if (rows.at(-1)!.position === position) await bob.answers('wrong');
    }
  });

  test('a lost connection costs ten minutes at most', async () => {
    const ben = await invited(service, org);
    const sitting = await ben.starts();
    clock.advance(5 * 60 * minute);
    assert.equal(await ben.answers('right'), 'taken');
    assert.equal((await read(sitting)).used_ms, maxDisplayMs);
  });

  test('a clock that is set back costs nothing', async () => {
    const cem = await invited(service, org);
    const sitting = await cem.starts();
    clock.advance(-minute);
    assert.equal(await cem.answers('right'), 'taken');
    assert.equal((await read(sitting)).used_ms, 0);
    clock.advance(minute);
  });

  test('extra time multiplies the limit, and a sitting that has begun keeps its own', async () => {
    const dan = await invited(service, org);
    const { invitation } = await dan.link();
    const extra = (extra_time_pct: number) =>
      service.withUnitOfWork((work) => adjustInvitation(work, org.id, invitation.invitation_id, { extra_time_pct }));
    await extra(25);
    const sitting = await dan.starts();
    assert.equal(sitting.time_limit_ms, 75 * minute);
    await extra(50);
    assert.equal((await read(sitting)).time_limit_ms, 75 * minute);
  });

  test('a sitting begins with what holds for its invitation by then, whatever the page was made from', async () => {
    const eli = await invited(service, org, { ref: 'eli' });
    const link = await eli.link();
    await service.withUnitOfWork((work) => adjustInvitation(work, org.id, eli.invitationId, { extra_time_pct: 50 }));
    await requireStartCode(service.app.db, org.id, [eli.invitationId], true);
    assert.equal(await startSitting(service.app, link), null, 'it needs a code now');
    await requireStartCode(service.app.db, org.id, [eli.invitationId], false);
    await startSitting(service.app, link);
    const { open } = await eli.link();
    assert.equal(JSON.parse(open!.settings).extra_time_pct, 50);
    assert.equal(open!.time_limit_ms, timeLimitMs(standards.digital.timeLimitMs, 50));

    const flo = await invited(service, org, { ref: 'flo' });
    const late = await flo.link();
    const expires_at = new Date(clock.nowMs());
    await service.withUnitOfWork((work) => adjustInvitation(work, org.id, flo.invitationId, { expires_at }));
    await startSitting(service.app, late);
    assert.equal((await flo.link()).open, null, 'its link has expired');
  });

  test('at the limit the question on the screen is not reached, and the rest is scored', async () => {
    const eve = await invited(service, org, { ref: 'eve', theta: 0.2 });
    const sitting = await eve.starts();
    for (let i = 0; i < 14; i++) {
      clock.advance(4 * minute);
      await eve.answers();
    }
    clock.advance(5 * minute);
    assert.equal(await eve.answers('right'), 'time_up');
    assert.equal(await eve.finishes(sitting), 'completed');
    const outcomes = (await findItems(service.app.db, sitting)).map((row) => row.outcome);
    assert.equal(outcomes.at(-1), 'not_reached');
    const { counts } = JSON.parse((await read(sitting)).result!);
    assert.deepEqual([counts.scored, counts.notReached], [14, 1]);
    assert.equal(JSON.parse((await read(sitting)).stop!).reason, 'time_limit');
  });

  test('the limit is noticed when the page is asked for, too', async () => {
    const fay = await invited(service, org);
    const sitting = await fay.starts();
    for (let i = 0; i < 7; i++) {
      clock.advance(8 * minute);
      await fay.answers('wrong');
    }
    assert.equal(await endWhenTimeIsUp(service.app, sitting), false);
    clock.advance(5 * minute);
    assert.equal(await endWhenTimeIsUp(service.app, sitting), true);
    assert.notEqual((await read(sitting)).stop, null);
  });

  test('too few answers: void, nothing recorded, and the learner starts again without a second credit', async () => {
    const gil = await invited(service, org, { ref: 'gil' });
    const before = await credits();
    const sitting = await gil.starts();
    for (let i = 0; i < 40; i++) if ((await gil.answers(i < 11 ? 'right' : 'skip')) === null) break;
    assert.equal(await gil.finishes(sitting), 'void');
    assert.equal((await read(sitting)).void_reason, 'too_few_answers');
    assert.deepEqual(await resultsOf('gil'), []);
    const same = await org.post('/learners', { ref: 'gil', full_name: 'Test Learner' });
    assert.deepEqual([same.status, same.body.data.invitation_id], [200, gil.invitationId]);
    assert.equal(await credits(), before);
    const again = await gil.sits();
    assert.notEqual(again.sitting_id, sitting.sitting_id);
    assert.equal((await resultsOf('gil')).length, 1);
    // What was asked counts as seen; that seen items come back rarely is test/sittings/content-choice.test.ts.
    const asked = (await findItems(service.app.db, sitting)).map((row) => row.item_id);
    assert.deepEqual([...again.withheld].sort(), asked.sort());
    assert.equal(await credits(), before);
  });

  test('given up for 48 hours: closed, scored without a declaration, as of when it was last touched', async () => {
    const hal = await invited(service, org, { ref: 'hal' });
    const sitting = await hal.starts();
    for (let i = 0; i < 20; i++) {
      clock.advance(minute);
      await hal.answers();
    }
    const touchedMs = clock.nowMs();
    const ivy = await invited(service, org, { ref: 'ivy' });
    const short = await ivy.starts();
    clock.advance(idleMs);
    await closeIdleSittings(service.app);
    assert.equal((await read(sitting)).status, 'open');
    clock.advance(1);
    await closeIdleSittings(service.app);
    const [closed, voided] = [await read(sitting), await read(short)];
    assert.deepEqual(
      [closed.status, closed.declared_at, closed.finished_at!.getTime()],
      ['completed', null, touchedMs],
    );
    assert.equal(JSON.parse(closed.stop!).reason, 'idle');
    assert.equal((await resultsOf('hal'))[0].assessed_at, new Date(touchedMs).toISOString());
    assert.deepEqual([voided.status, voided.void_reason], ['void', 'too_few_answers']);
    const { input } = (
      await service.app.db.query<{ input: string }>('select input from evidence where assessment_id = $1', [
        closed.assessment_id,
      ])
    )[0]!;
    assert.equal(JSON.parse(input).sitting.declaration, null);
    assert.equal(JSON.parse(input).sitting.minutes, 20);
    assert.deepEqual([JSON.parse(input).sitting.ended, JSON.parse(input).sitting.not_reached], ['idle', 1]);
    assert.deepEqual(JSON.parse(input).sitting.signs, {});
    assert.equal(await closeIdleSittings(service.app), 0);
  });

  test('while its organisation is suspended a sitting is left as it is, also where that came while it was being closed', async () => {
    const { app } = service;
    const suspended = async (on: boolean) =>
      withUnitOfWork(app, feedQueue(org.id), async (work): Promise<void> => {
        if (on) await suspendOrganisation(work, org.id, 'The contract ends');
        else await markResumed(work, org.id);
      });
    const feed = () => readFeed(app.db, org.id);
    const sittings: SittingRow[] = [];
    for (const [ref, answers] of [
      ['sue', 20],
      ['tom', 2],
    ] as const) {
      const learner = await invited(service, org, { ref });
      const sitting = await learner.starts();
      for (let i = 0; i < answers; i++) await learner.answers();
      sittings.push(sitting);
    }
    const touched = await Promise.all(sittings.map(read));
    clock.advance(idleMs + 1);
    const db = Object.create(app.db) as typeof app.db;
    db.query = (async (...given: Parameters<typeof db.query>) => {
      const rows = await app.db.query(...given);
      if (typeof given[0] !== 'string' && given[0].name === 'sitting.idle') await suspended(true);
      return rows;
    }) as typeof db.query;
    const before = await feed();
    assert.equal(await closeIdleSittings(Object.assign(Object.create(app), { db })), 0);
    assert.equal(await closeIdleSittings(app), 0);
    const statuses = async () => Promise.all(sittings.map(async (one) => (await read(one)).status));
    assert.deepEqual([await statuses(), await feed()], [['open', 'open'], { ...before, suspended: true }]);
    assert.deepEqual(await Promise.all(sittings.map(read)), touched, 'the questions wait as well');
    await suspended(false);
    // Nobody could come back until now.
    assert.equal(await closeIdleSittings(app), 0);
    clock.advance(idleMs);
    assert.equal(await closeIdleSittings(app), 0);
    assert.deepEqual(await Promise.all(sittings.map(read)), touched);
    // It is resumed, or suspended, while one of them is being ended.
    const endedDuring = async (change: (work: UnitOfWork) => Promise<unknown>) => {
      const changed = Promise.withResolvers<void>();
      const changing = withUnitOfWork(app, feedQueue(org.id), async (work) => {
        await change(work);
        changed.resolve();
        await delay(50);
      });
      await changed.promise;
      const ended = await endIdle(app, sittings[0]!, new Date(clock.nowMs()));
      await changing;
      return ended;
    };
    assert.equal(await endedDuring((work) => suspendOrganisation(work, org.id, 'The contract ends')), false);
    clock.advance(1);
    assert.equal(await endedDuring((work) => markResumed(work, org.id)), false);
    assert.deepEqual(await Promise.all(sittings.map(read)), touched);
    clock.advance(idleMs + 1);
    assert.equal(await closeIdleSittings(app), 2);
    assert.deepEqual(await statuses(), ['completed', 'void']);
    const closed = await Promise.all(sittings.map(read));
    assert.deepEqual(
      closed.map((one) => one.finished_at),
      touched.map((one) => one.last_seen_at),
      'as of when it was last touched',
    );
  });

  test('who comes back while idle sittings are looked for, and answers the last question, declares like anybody else', async () => {
    const kay = await invited(service, org, { ref: 'kay' });
    const sitting = await kay.starts();
    let last = await read(sitting);
    // Fifteen answers are too few to end it: the last ones are left to the learner who returns.
    for (let i = 0; i < 15; i++) {
      await kay.answers(i % 2 === 0 ? 'right' : 'wrong');
      last = await read(sitting);
    }
    assert.equal(last.stop, null);
    clock.advance(idleMs + 1);
    const db = Object.create(service.app.db) as typeof service.app.db;
    db.query = (async (...given: Parameters<typeof db.query>) => {
      const rows = await service.app.db.query(...given);
      if (typeof given[0] !== 'string' && given[0].name === 'sitting.idle') {
        for (let right = true; (await read(sitting)).stop === null; right = !right)
          await kay.answers(right ? 'right' : 'wrong');
      }
      return rows;
    }) as typeof db.query;
    assert.equal(await closeIdleSittings(Object.assign(Object.create(service.app), { db })), 0);
    assert.deepEqual([(await read(sitting)).status, (await read(sitting)).stop === null], ['open', false]);
    assert.equal(await kay.finishes(sitting), 'completed');
    assert.notEqual((await read(sitting)).declared_at, null);
  });

  test('who comes back while the result of an idle sitting is made declares it, too, much answered or little', async () => {
    for (const [ref, answers] of [
      ['lou', 20],
      ['max', 2],
    ] as const) {
      const learner = await invited(service, org, { ref });
      const sitting = await learner.starts();
      for (let i = 0; i < answers; i++) await learner.answers();
      clock.advance(idleMs + 1);
      const db = Object.create(service.app.db) as typeof service.app.db;
      db.query = (async (...given: Parameters<typeof db.query>) => {
        const rows = await service.app.db.query(...given);
        // Read to be scored: what is written comes later.
        if (typeof given[0] !== 'string' && given[0].name === 'sitting.items')
          await markSeen(service.app, await read(sitting));
        return rows;
      }) as typeof db.query;
      assert.equal(await closeIdleSittings(Object.assign(Object.create(service.app), { db })), 0);
      assert.equal((await read(sitting)).status, 'open');
      assert.equal(await learner.finishes(sitting), answers > 12 ? 'completed' : 'void');
      assert.notEqual((await read(sitting)).declared_at, null);
    }
  });

  test('an open sitting outlives its link; nothing new begins after it', async () => {
    const jan = await invited(service, org, { ref: 'jan' });
    clock.advance(27 * 24 * 60 * minute);
    const sitting = await jan.starts();
    clock.advance(36 * 60 * minute);
    assert.equal((await jan.link()).expired, true);
    while ((await jan.answers()) !== null);
    assert.equal(await jan.finishes(sitting), 'completed');
    await assert.rejects(() => jan.starts());
    assert.equal((await resultsOf('jan')).length, 1);
  });

  test('a suspension inside a pause is no part of it, however often, also where somebody comes back at that moment', async () => {
    const { app } = service;
    const own = await service.organisation();
    const uma = await invited(service, own, { ref: 'uma' });
    const sitting = await uma.starts();
    const other = await (await invited(service, own, { ref: 'una' })).starts();
    const paused = async () => {
      const { pauses, paused_ms } = (await findItems(app.db, sitting))[0]!;
      return [pauses, paused_ms];
    };
    const suspended = (inside: (work: UnitOfWork) => Promise<unknown> = async () => {}) =>
      withUnitOfWork(app, feedQueue(own.id), async (work): Promise<void> => {
        await suspendOrganisation(work, own.id, 'The contract ends');
        await inside(work);
      });
    const resumed = () => withUnitOfWork(app, feedQueue(own.id), (work) => markResumed(work, own.id));
    await pauseSitting(app, sitting, null);
    const { last_seen_at: since } = await read(sitting);
    for (const minutes of [10, 7]) {
      clock.advance(minutes * minute);
      await suspended();
      clock.advance(21 * 24 * 60 * minute);
      await resumed();
    }
    assert.deepEqual((await read(sitting)).last_seen_at, since, 'it is left as it is');
    clock.advance(8 * minute);
    await resumePaused(app, sitting);
    assert.deepEqual(await paused(), [1, 25 * minute]);
    await pauseSitting(app, sitting, null);
    clock.advance(3 * minute);
    const [begun, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const suspending = suspended(async () => {
      begun.resolve();
      await seen.promise;
    });
    await begun.promise;
    clock.advance(minute);
    const back = resumePaused(app, sitting);
    while ((await app.db.query(waitForLocks)).length === 0) await delay(5);
    seen.resolve();
    await Promise.all([suspending, back]);
    assert.deepEqual(await paused(), [2, 28 * minute]);
    assert.equal((await findItems(app.db, other))[0]!.paused_ms, 0, 'nobody has paused that one');
    await resumed();
    // Evidence and review say why its start and its end lie so far apart.
    while ((await uma.answers()) !== null);
    assert.equal(await uma.finishes(sitting), 'completed');
    const { assessment_id: id } = await read(sitting);
    const expected = { count: 3, seconds: 42 * 24 * 3600 + 60 };
    assert.deepEqual((await reviewSitting(app, own.id, id!))!.review.suspended, expected);
    const [edition] = await app.db.query<{ input: string }>('select input from evidence where assessment_id = $1', [
      id,
    ]);
    assert.deepEqual(JSON.parse(edition!.input).sitting.suspended, expected);
    // One that nobody touched after them ended before.
    const untouched = await read(other);
    assert.deepEqual(await suspensionsDuring(app.db, { ...untouched, finished_at: untouched.last_seen_at }), {
      count: 0,
      seconds: 0,
    });
  });
});
