import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { DatabaseUnavailable } from '../../../src/platform/db/connection/unavailable.ts';
import { updateOrganisation } from '../../../src/organisations/organisations.ts';
import { assets } from '../../../src/web/player/layout.ts';
import { findCurrent, findItems } from '../../../src/sittings/store.ts';
import { withService } from '../../support/service.ts';
import type { SimulatedLearner } from '../../sittings/learner.ts';
import { invited, wrongAnswer } from '../../sittings/learner.ts';
import { Visitor } from './visitor.ts';

const hour = 3600_000;

async function wrong(learner: SimulatedLearner) {
  const { open } = await learner.link();
  return wrongAnswer(JSON.parse((await findCurrent(learner.service.app.db, open!))!.rendered) as RenderedItem);
}

suite('the pages of a sitting, without script', async () => {
  const clock = manualClock(Date.parse('2026-03-02T09:00:00Z'));
  const service = await withService({ own: 'Moves the clock.', clock });
  const org = await service.organisation({ name: 'Northfield <College>' });

  test('from the link to the closing page, which comes after result and event', async () => {
    const ana = await invited(service, org, { ref: 'ana', name: 'Ana <b>Example</b>' });
    const page = new Visitor(service, ana.token);
    await page.get();
    assert.equal(page.status, 200);
    assert.match(page.text, /Hello <bdi>Ana &lt;b&gt;Example&lt;\/b&gt;<\/bdi>/);
    assert.match(page.text, /Northfield &lt;College&gt;/);
    await page.post('/start');
    assert.equal(page.path, '/question');
    while (page.path === '/question') await page.sends(await wrong(ana));
    assert.equal(page.path, '/check');
    await page.post('/finish', page.hidden());
    assert.equal(page.status, 422);
    assert.match(page.text, /Tick the box/);
    await page.post('/finish', { ...page.hidden(), own: 'yes' });
    assert.equal(page.heading(), 'Your Digital skills result');
    assert.match(page.text, /Working towards Entry Level/);
    assert.match(
      page.text,
      /Most likely you are below the first level: of 100 people with answers like yours, about \d+ are below the first level\./,
    );
    assert.match(page.text, /It is provisional: the questions are new/);
    assert.match(page.text, /Start English/);
    assert.equal((await org.get('/assessments?learner_ref=ana')).body.data.length, 1);
    // Going back and sending again leads to the same page, and changes nothing.
    await page.post('/finish', { ...page.hidden(), own: 'yes' });
    await page.post('/question', { sitting: 'x', position: '1' });
    assert.equal(page.heading(), 'Your Digital skills result');
    assert.equal((await org.get('/assessments?learner_ref=ana')).body.data.length, 1);
  });

  test('an older form, sent again from another tab or by the back button, leads to the current question', async () => {
    const ben = await invited(service, org);
    const page = new Visitor(service, ben.token);
    await page.post('/start');
    const first = page.hidden();
    const answer = await wrong(ben);
    await page.sends(answer);
    assert.match(page.heading(), /^Question 2/);
    await page.post('/question', { ...first, ...answer });
    assert.match(page.heading(), /^Question 2/);
    assert.equal((await findItems(service.app.db, (await ben.link()).open!)).length, 2);
  });

  test('nothing filled in: the learner is asked before the question is skipped', async () => {
    const cem = await invited(service, org);
    const page = new Visitor(service, cem.token);
    await page.post('/start');
    await page.sends({});
    assert.equal(page.heading(), 'Skip question 1?');
    assert.match(page.text, /counts as wrong/);
    await page.get('/question');
    assert.match(page.heading(), /^Question 1/);
    await page.sends({}, 'skip');
    await page.sends({}, 'skip-now');
    assert.match(page.heading(), /^Question 2/);
    assert.deepEqual(
      (await findItems(service.app.db, (await cem.link()).open!)).map((row) => row.outcome),
      ['skipped', null],
    );
  });

  test("an answer that can't be read is shown again with what to mend", async () => {
    const dan = await invited(service, org);
    const page = new Visitor(service, dan.token);
    await page.post('/start');
    for (let i = 0; i < 40; i++) {
      const { open } = await dan.link();
      const rendered = JSON.parse((await findCurrent(service.app.db, open!))!.rendered) as RenderedItem;
      if (rendered.type !== 'ordering' && rendered.type !== 'matching' && rendered.type !== 'numeric') {
        await page.sends(await wrong(dan));
        continue;
      }
      const full = await wrong(dan);
      const part =
        rendered.type === 'numeric' ? { answer: 'lots' } : { [Object.keys(full)[0]!]: Object.values(full)[0]! };
      await page.sends(part);
      assert.equal(page.status, 422);
      assert.match(page.text, /Please look at your answer again/);
      assert.match(page.text, /<title>Error: /);
      assert.ok(page.text.includes(rendered.type === 'numeric' ? 'value="lots"' : ' selected>'));
      assert.equal((await findItems(service.app.db, open!)).at(-1)!.outcome, null);
      return;
    }
    assert.fail('no question of these types came up');
  });

  test('pause: what was filled in is kept, the clock stands, and the link goes on on another device', async () => {
    const eve = await invited(service, org);
    const page = new Visitor(service, eve.token);
    await page.post('/start');
    const answer = await wrong(eve);
    clock.advance(60_000);
    await page.sends(answer, 'pause');
    assert.equal(page.heading(), 'Your assessment is paused');
    assert.match(page.text, /59 minutes left/);
    assert.match(page.text, /Wednesday 4 March at 09:01/);
    clock.advance(47 * hour);
    const elsewhere = new Visitor(service, eve.token);
    await elsewhere.get('/question');
    assert.equal(elsewhere.heading(), 'Your assessment is paused');
    await elsewhere.post('/continue');
    assert.match(elsewhere.heading(), /^Question 1/);
    assert.match(elsewhere.text, /59 minutes left/);
    assert.match(elsewhere.text, / checked| selected|value="(zzz|98765)"/);
    // A tab that was left open at the question about skipping takes nothing away while time stands.
    const left = page.hidden();
    await elsewhere.sends(answer, 'pause');
    await page.post('/question', {
      ...elsewhere.hidden(),
      ...left,
      sitting: (await eve.link()).open!.sitting_id,
      position: '1',
      do: 'skip-now',
    });
    assert.equal(page.heading(), 'Your assessment is paused');
    await page.post('/continue');
    assert.match(page.text, / checked| selected|value="(zzz|98765)"/);
    await page.sends({}, 'pause');
    // A tab that was left open in the other place answers nothing while time stands.
    await page.post('/continue');
    await page.sends(await wrong(eve));
    assert.match(page.heading(), /^Question 2/);
  });

  test('the time: shown, warned of, and the check page when it is up', async () => {
    const fay = await invited(service, org);
    const page = new Visitor(service, fay.token);
    await page.post('/start');
    assert.match(page.text, /60 minutes left/);
    for (let i = 0; i < 6; i++) {
      clock.advance(9 * 60_000);
      await page.sends(await wrong(fay));
    }
    assert.match(page.text, /class="warning">6 minutes left/);
    clock.advance(7 * 60_000);
    await page.get('/question');
    assert.equal(page.path, '/check');
    assert.match(page.text, /The time is up/);
  });

  test('void: says so kindly, and starts again', async () => {
    const gil = await invited(service, org);
    const page = new Visitor(service, gil.token);
    await page.post('/start');
    while (page.path === '/question') await page.sends({}, 'skip-now');
    await page.post('/finish', { ...page.hidden(), own: 'yes' });
    assert.equal(page.heading(), 'There is no result');
    await page.post('/start');
    assert.match(page.heading(), /^Question 1/);
  });

  test('an amended result is shown as it stands, also without a finer level and a next step', async () => {
    const nia = await invited(service, org, { theta: 0.4 });
    const { assessment_id } = await nia.sits();
    await service.withUnitOfWork((work) =>
      amendAssessment(
        work,
        org.id,
        assessment_id!,
        { working_level: null, recommended_next_level: null },
        { actor: 'operator', reason: 'a test' },
      ),
    );
    const page = new Visitor(service, nia.token);
    await page.get();
    assert.match(page.text, /<p class="level">(Entry Level|Level [123])<\/p>/);
    assert.match(page.text, /You showed the skills of (Entry Level|Level\u00a0[123])\./);
    assert.doesNotMatch(page.text, /Not placed|no higher level/);
  });

  test('a result that is withdrawn is no longer shown', async () => {
    const hal = await invited(service, org);
    const { assessment_id } = await hal.sits();
    const page = new Visitor(service, hal.token);
    await service.withUnitOfWork((work) =>
      withdrawAssessment(work, org.id, assessment_id!, { actor: 'operator', reason: 'a test' }),
    );
    await page.get();
    assert.equal(page.heading(), 'This result is not here any more');
    assert.match(page.text, /Next is English/);
    for (const _subject of ['english', 'maths']) {
      clock.advance(60_000);
      await hal.sits();
    }
    const { last } = await hal.link();
    await service.withUnitOfWork((work) =>
      withdrawAssessment(work, org.id, last!.assessment_id!, { actor: 'operator', reason: 'a test' }),
    );
    await page.get();
    assert.match(page.text, /There is nothing more to do here/);
    assert.doesNotMatch(page.text, /has your result/);
  });

  test('a result is kept for a year by a link of its own, which lets nobody sit anything', async () => {
    const oli = await invited(service, org, { name: 'Oli Example', theta: 0.3 });
    const { assessment_id } = await oli.sits();
    const page = new Visitor(service, oli.token);
    await page.get();
    const address = /href="(\/result\/[\w-]+)"/.exec(page.text)![1]!;
    const at = async (path = address, init: RequestInit = {}) => {
      const reply = await fetch(service.url + path, init);
      return { status: reply.status, text: await reply.text(), headers: reply.headers };
    };
    const found = await at();
    assert.equal(found.status, 200);
    assert.match(found.text, /Oli Example[^]*Northfield &lt;College&gt;[^]*class="level"/);
    // What it takes is a request for a review, and nothing else.
    assert.doesNotMatch(found.text, /<form(?![^>]* action="\/result\/)|\/start|\/a\//);
    assert.equal(found.headers.get('cache-control'), 'no-store');
    assert.equal(found.headers.get('referrer-policy'), 'no-referrer');
    // It opens nothing else, and no other link opens it.
    const token = address.slice('/result/'.length);
    for (const path of [`/a/${token}`, `/result/${oli.token}`, `${address.slice(0, -1)}_`, '/result/x', '/result/%00'])
      assert.equal((await at(path)).status, 404, path);
    assert.equal((await at(address, { method: 'PUT' })).status, 404);
    clock.advance(365 * 24 * hour - 1);
    assert.equal((await at()).status, 200);
    clock.advance(1);
    const gone = await at();
    assert.equal(gone.status, 410);
    assert.doesNotMatch(gone.text, /Oli|class="level"/);
    clock.advance(-365 * 24 * hour);
    await service.withUnitOfWork((work) =>
      withdrawAssessment(work, org.id, assessment_id!, { actor: 'operator', reason: 'a test' }),
    );
    const withdrawn = await at();
    assert.match(withdrawn.text, /This result is not here any more/);
    assert.doesNotMatch(withdrawn.text, /Oli|class="level"/);
    assert.ok(!service.logged.join('').includes(token));
  });

  test('few answers are said to the learner, too', async () => {
    const pia = await invited(service, org, { theta: 0.2 });
    await pia.starts();
    for (let i = 0; (await pia.link()).open!.stop === null; i++) await pia.answers(i < 14 ? 'by ability' : 'skip');
    await pia.finishes((await pia.link()).open!);
    const page = new Visitor(service, pia.token);
    await page.get();
    assert.match(page.text, /You answered fewer questions than usual, so this result is less sure\./);
  });

  test('whom to ask stands on every page of a link that is somebody\u2019s, errors and a lost database included', async () => {
    const contact = '01632 960 123 <reception>';
    await service.withUnitOfWork((work) => updateOrganisation(work, org.id, { contact }));
    clock.advance(60_000);
    const quin = await invited(service, org);
    const page = new Visitor(service, quin.token);
    const says = (what: string) => assert.match(page.text, /<footer[^]*01632 960 123 &lt;reception&gt;/, what);
    says((await page.get()) && 'welcome');
    says((await page.get('/practice')) && 'practice');
    says((await page.post('/start')) && 'question');
    says((await page.sends({}, 'pause')) && 'paused');
    const { db } = service.app;
    const { query, transaction } = db;
    db.query = () => Promise.reject(new DatabaseUnavailable(new Error('gone')));
    db.transaction = () => Promise.reject(new DatabaseUnavailable(new Error('gone')));
    clock.advance(120_000);
    says((await page.post('/continue')) && 'the database gone');
    assert.equal(page.status, 503);
    Object.assign(db, { query, transaction });
    await service.app.db.query("update invitation set status = 'withdrawn' where invitation_id = $1", [
      quin.invitationId,
    ]);
    says((await page.get()) && 'a withdrawn invitation');
    assert.equal(page.status, 410);
    const ray = await invited(service, org);
    clock.advance(29 * 24 * hour);
    const expired = new Visitor(service, ray.token);
    await expired.get();
    assert.equal(expired.status, 410);
    assert.match(expired.text, /01632 960 123/);
    const stranger = new Visitor(service, 'x');
    await stranger.get();
    assert.doesNotMatch(stranger.text, /<footer|01632/);
    await service.withUnitOfWork((work) => updateOrganisation(work, org.id, { contact: null }));
    clock.advance(60_000);
    await expired.get();
    assert.match(expired.text, /Need help\? Ask <bdi>Northfield &lt;College&gt;<\/bdi>\./);
  });

  test('a practice question is asked before a start only, and leaves nothing behind', async () => {
    const sam = await invited(service, org);
    const page = new Visitor(service, sam.token);
    await page.post('/practice', { task_button: 'delete' });
    assert.equal(page.heading(), 'Not this time');
    await page.post('/practice', {});
    assert.match(page.text, /Give an answer first/);
    await page.post('/practice', { task_button: 'send', ['x'.repeat(50)]: 'y' });
    assert.equal(page.heading(), 'Yes, that is right');
    const { open, last } = await sam.link();
    assert.deepEqual([open, last], [null, null]);
    await page.post('/start');
    await page.get('/practice');
    assert.match(page.heading(), /^Question 1/);
  });

  test('a sitting that ends after its link expired shows its result, for 48 hours', async () => {
    const kim = await invited(service, org);
    const page = new Visitor(service, kim.token);
    clock.advance(28 * 24 * hour - hour);
    await kim.starts();
    clock.advance(2 * hour);
    while ((await kim.answers()) !== null);
    await page.get();
    await page.post('/finish', { ...page.hidden(), own: 'yes' });
    assert.deepEqual([page.status, page.heading()], [200, 'Your Digital skills result']);
    assert.doesNotMatch(page.text, /Start English/);
    await page.post('/start');
    assert.equal(page.heading(), 'Your Digital skills result');
    clock.advance(48 * hour - 1);
    assert.equal((await page.get()).status, 200);
    clock.advance(1);
    assert.equal((await page.get()).status, 410);
  });

  test("a form's address asked for by GET, and a slash at the end, lead to where the sitting stands", async () => {
    const lou = await invited(service, org);
    const page = new Visitor(service, lou.token);
    for (const path of ['/', '/start', '/continue', '/finish'])
      assert.match((await page.get(path)).heading(), /^Hello/, path);
    await page.post('/start');
    for (const path of ['/', '/start', '/continue', '/finish'])
      assert.match((await page.get(path)).heading(), /^Question 1/, path);
    const stranger = new Visitor(service, 'x');
    for (const path of ['/', '/start', '/continue', '/finish'])
      assert.equal((await stranger.get(path)).status, 404, path);
  });

  test("links: a wrong one, another one's, an expired one", async () => {
    const ivy = await invited(service, org);
    const page = new Visitor(service, ivy.token);
    for (const token of [
      'x',
      `${ivy.token}x`,
      ivy.token.slice(0, -1) + (ivy.token.endsWith('A') ? 'B' : 'A'),
      'A'.repeat(ivy.token.length),
      '%00',
    ]) {
      const other = new Visitor(service, token);
      for (const path of ['', '/question', '/check']) {
        await other.get(path);
        assert.equal(other.status, 404);
        assert.equal(other.heading(), 'We can’t open this link');
      }
      await other.post('/start');
      assert.equal(other.status, 404);
    }
    await page.get('/nowhere');
    assert.equal(page.status, 404);
    clock.advance(29 * 24 * hour);
    await page.get();
    assert.equal(page.status, 410);
    await page.post('/start');
    assert.equal(page.status, 410);
  });

  test('headers of every page, and nothing of the link in the log', async () => {
    const jan = await invited(service, org, { name: 'Jan Unmistakable' });
    const page = new Visitor(service, jan.token);
    for (const load of [
      () => page.get(),
      () => page.post('/start'),
      () => page.sends({}),
      () => page.get('/nowhere'),
      () => new Visitor(service, 'x').get(),
    ]) {
      const { headers } = await load();
      assert.match(
        headers.get('content-security-policy')!,
        /^default-src 'none'; style-src 'self'; script-src 'self';/,
      );
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('set-cookie'), null);
    }
    await fetch(`${service.url}/a/${jan.token}/question`, {
      method: 'POST',
      body: 'x'.repeat(70_000),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }).then((reply) => assert.equal(reply.status, 413));
    await fetch(`${service.url}/a/${jan.token}/question`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    await new Promise((resolve) => setImmediate(resolve));
    const log = service.logged.join('');
    assert.ok(log.includes('POST /a/{link}/question'));
    assert.ok(!log.includes(jan.token) && !log.includes('Unmistakable') && !log.includes(jan.token.slice(0, 20)));
  });

  for (const [what, error, status, heading] of [
    ['the database gone', new DatabaseUnavailable(new Error('secret detail')), 503, 'Please try again in a minute'],
    ['a fault of ours', new Error('secret detail'), 500, 'Something went wrong'],
  ] as const) {
    test(`${what}: a page that says what to do, and no more`, async () => {
      const kim = await invited(service, org);
      const { transaction } = service.app.db;
      const page = new Visitor(service, kim.token);
      await page.post('/start');
      service.app.db.transaction = () => Promise.reject(error);
      await page.sends({}, 'skip-now');
      service.app.db.transaction = transaction;
      assert.deepEqual([page.status, page.heading()], [status, heading]);
      assert.ok(!page.text.includes('secret'));
    });
  }

  test('the scripts are under two kilobytes on the wire, and the files are kept for ever under their own name', async () => {
    assert.ok(gzipSync(assets.player.body).length + gzipSync(assets.readAloud.body).length < 2048);
    const reply = await fetch(service.url + assets.style.path);
    assert.match(reply.headers.get('cache-control')!, /immutable/);
    assert.equal(await reply.text(), assets.style.body);
  });
});
