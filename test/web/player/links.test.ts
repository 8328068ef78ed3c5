import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { resumeOrganisation, suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { momentInLondon } from '../../../src/web/player/words.ts';
import { closeIdleSittings } from '../../../src/sittings/expire.ts';
import { findSitting } from '../../../src/sittings/store.ts';
import { idleMs } from '../../../src/sittings/working-time.ts';
import { cancelInvitation } from '../../../src/governance/erasure/cancel-invitation.ts';
import { personOf } from '../console/visitor.ts';
import { withService } from '../../support/service.ts';
import type { SimulatedLearner } from '../../sittings/learner.ts';
import { invited } from '../../sittings/learner.ts';
import { Visitor } from './visitor.ts';

const hour = 3600_000;
const day = 24 * hour;

suite('links and the sittings behind them', async () => {
  const clock = manualClock(Date.parse('2026-03-02T09:00:00Z'));
  const service = await withService({ own: 'Moves the clock.', clock });
  const { app } = service;
  const org = await service.organisation();
  const read = async (sitting: { organisation_id: number; sitting_id: string }) =>
    (await findSitting(app.db, sitting))!;
  const resultsOf = async (ref: string) => (await org.get(`/assessments?learner_ref=${ref}`)).body.data;
  /** Enough for a result, and not all. */
  async function answersSome(learner: SimulatedLearner) {
    const sitting = await learner.starts();
    for (let i = 0; i < 16; i++) await learner.answers(i % 2 === 0 ? 'right' : 'wrong');
    assert.equal((await read(sitting)).stop, null);
    return sitting;
  }
  async function idlesAway() {
    clock.advance(idleMs + 1);
    await closeIdleSittings(app);
  }

  for (const [when, beforeMs] of [
    ['after', 0],
    ['before', hour],
  ] as const)
    test(`given up, last touched ${when} the end of its link: the result can be read for 48 hours`, async () => {
      const ana = await invited(service, org);
      clock.advance(28 * day - 2 * hour);
      await ana.starts();
      clock.advance(2 * hour - beforeMs);
      for (let i = 0; i < 16; i++) await ana.answers(i % 2 === 0 ? 'right' : 'wrong');
      await idlesAway();
      const page = new Visitor(service, ana.token);
      await page.get();
      assert.equal(page.heading(), 'Your Digital skills result');
      assert.match(page.text, /href="\/result\/[^"]+#ask"/);
      assert.doesNotMatch(page.text, /Start English/);
      clock.advance(48 * hour - 1);
      assert.equal((await page.get()).status, 200);
      clock.advance(1);
      assert.equal((await page.get()).status, 410);
    });

  test('a Start button begins the subject that it names, and no other', async () => {
    const ben = await invited(service, org);
    const stale = new Visitor(service, ben.token);
    await stale.get();
    const left = stale.hidden();
    assert.equal(left.subject, 'digital');
    await ben.sits();
    await stale.post('/start', left);
    assert.equal((await ben.link()).open, null);
    assert.match(stale.text, /Start English/);
    await stale.post('/start', stale.hidden());
    assert.equal((await ben.link()).open!.subject, 'english');
  });

  test('who looks at a question, or asks to skip it, just before 48 hours are over isn’t closed', async () => {
    const cem = await invited(service, org);
    const sitting = await answersSome(cem);
    const page = new Visitor(service, cem.token);
    for (const look of [() => page.get('/question'), () => page.get(), () => page.sends({}, 'skip')]) {
      clock.advance(idleMs - 60_000);
      await look();
      clock.advance(120_000);
      await closeIdleSittings(app);
      assert.deepEqual([(await read(sitting)).status, (await read(sitting)).stop], ['open', null]);
      await page.get('/question');
    }
    assert.equal(await cem.answers('right'), 'taken');
  });

  test('who looks at the check page then declares; what the script asks by itself holds nothing open', async () => {
    const dan = await invited(service, org);
    const sitting = await dan.starts();
    while ((await dan.answers()) !== null);
    clock.advance(idleMs - 60_000);
    const page = new Visitor(service, dan.token);
    await page.get('/check');
    clock.advance(120_000);
    await closeIdleSittings(app);
    await page.post('/finish', { ...page.hidden(), own: 'yes' });
    assert.notEqual((await read(sitting)).declared_at, null);

    const eve = await invited(service, org);
    const left = await answersSome(eve);
    clock.advance(idleMs - 60_000);
    await fetch(`${service.url}/a/${eve.token}/question`, { method: 'HEAD', redirect: 'manual' });
    clock.advance(60_001);
    await closeIdleSittings(app);
    assert.equal((await read(left)).status, 'completed');
  });

  test('a pause lasts 48 hours from its beginning, however often its page is looked at', async () => {
    const fay = await invited(service, org);
    const sitting = await answersSome(fay);
    const page = new Visitor(service, fay.token);
    await page.get('/question');
    await page.sends({}, 'pause');
    const until = /Carry on by <strong>(.*?)</.exec(page.text)![1];
    clock.advance(47 * hour);
    await page.get();
    assert.equal(/Carry on by <strong>(.*?)</.exec(page.text)![1], until);
    clock.advance(hour + 1);
    await closeIdleSittings(app);
    assert.equal((await read(sitting)).status, 'completed');
  });

  test('paused while the organisation was suspended: 48 hours from the resumption, and 48 to read the result in', async () => {
    const other = await service.organisation();
    const suspended = () => service.withUnitOfWork((work) => suspendOrganisation(work, other.id, 'The contract ends'));
    const resumed = () =>
      service.withUnitOfWork((work) =>
        resumeOrganisation(work, { organisation_id: other.id, public_id: other.publicId }),
      );
    const joe = await invited(service, other, { ref: 'joe' });
    clock.advance(27 * day);
    const sitting = await answersSome(joe);
    const page = new Visitor(service, joe.token);
    await page.get('/question');
    await page.sends({}, 'pause');
    clock.advance(day);
    await suspended();
    clock.advance(29 * day);
    await resumed();
    const end = new Date(clock.nowMs() + idleMs);
    await page.get();
    assert.equal(/Carry on by <strong>(.*?)</.exec(page.text)![1], momentInLondon(end.getTime()));
    const owner = await personOf(service, other.id, 'owner');
    const base = `/console/${other.publicId}`;
    const sees = async (path: string) => (await owner.get(`${base}${path}`)).text;
    const until = `until <time datetime="${end.toISOString()}">`;
    assert.ok((await sees('/invitations')).includes(`Paused</span> ${until}`));
    assert.ok((await sees(`/invitations/${joe.invitationId}`)).includes(`Paused</span> ${until}`));
    assert.ok((await sees(`/learners/${sitting.learner_id}`)).includes(`can be continued ${until}`));

    await idlesAway();
    assert.deepEqual(
      [(await read(sitting)).status, (await read(sitting)).closed_at],
      ['completed', new Date(clock.nowMs())],
    );
    clock.advance(48 * hour - 1);
    await page.get();
    assert.deepEqual([page.status, page.heading()], [200, 'Your Digital skills result']);
    clock.advance(1);
    assert.equal((await page.get()).status, 410);
    // A resumption that comes later lets nobody in again.
    await suspended();
    clock.advance(day);
    await resumed();
    assert.equal((await page.get()).status, 410);
  });

  test('cancelled in the middle: no result, and the learner begins anew under another invitation', async () => {
    const gil = await invited(service, org, { ref: 'gil' });
    const sitting = await answersSome(gil);
    await service.withUnitOfWork((work) => cancelInvitation(work, org.id, gil.invitationId, { actor: 'operator' }));
    assert.deepEqual([(await read(sitting)).status, (await read(sitting)).void_reason], ['void', 'cancelled']);
    const left = new Visitor(service, gil.token);
    for (const look of [
      () => left.get(),
      () => left.get('/question'),
      () => left.post('/question', { position: '17' }),
    ]) {
      await look();
      assert.deepEqual([left.status, left.heading()], [410, 'This link has been cancelled']);
    }
    assert.equal((await new Visitor(service, `${gil.token}x`).get()).status, 404);
    // By the public API: the link of before leads nowhere any more.
    const page = new Visitor(service, (await invited(service, org, { ref: 'gil' })).token);
    await page.post('/start');
    assert.match(page.heading(), /^Question 1/);
    clock.advance(hour);
    await idlesAway();
    assert.deepEqual(await resultsOf('gil'), []);
  });

  test('results of a cancelled invitation stay', async () => {
    const hal = await invited(service, org, { ref: 'hal' });
    await hal.sits();
    const sitting = await hal.starts();
    await service.withUnitOfWork((work) => cancelInvitation(work, org.id, hal.invitationId, { actor: 'operator' }));
    assert.equal((await read(sitting)).status, 'void');
    assert.equal((await resultsOf('hal')).length, 1);
  });
});
