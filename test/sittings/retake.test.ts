import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadBank } from '../../src/engine/item-bank/load.ts';
import { subjects } from '../../src/engine/scoring/levels.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { finishSitting } from '../../src/sittings/finish.ts';
import { reviewSitting } from '../../src/sittings/review.ts';
import { resultToken } from '../../src/sittings/result-link.ts';
import { preparePool } from '../../src/sittings/selection/pool.ts';
import { AdaptiveSitting, drawSeed } from '../../src/sittings/selection/selection.ts';
import { startSitting } from '../../src/sittings/start.ts';
import { findItems, findSitting } from '../../src/sittings/store.ts';
import { manualClock } from '../platform/time/manual-clock.ts';
import { withService } from '../support/service.ts';
import { personOf } from '../web/console/visitor.ts';
import { Visitor } from '../web/player/visitor.ts';
import { invited, invitedAgain, type SimulatedLearner } from './learner.ts';

const dayMs = 86_400_000;

suite('the days between two assessments in a subject', async () => {
  const clock = manualClock(Date.parse('2026-03-02T09:00:00Z'));
  const service = await withService({ own: 'Moves the clock.', clock });
  const { app } = service;
  const org = await service.organisation({ name: 'Northfield College' });
  const base = `/console/${org.publicId}`;
  const sets = (gap: number | null) =>
    app.db.query('update organisation set retake_gap_days = $2 where organisation_id = $1', [org.id, gap]);
  await sets(10);

  const sittingsIn = async (learner: SimulatedLearner, subject: string) => {
    const { learner_id } = (await learner.link()).invitation;
    const [row] = await app.db.query<{ count: number }>(
      'select count(*) as count from sitting where organisation_id = $1 and learner_id = $2 and subject = $3',
      [org.id, learner_id, subject],
    );
    return row!.count;
  };

  test('two links that start at once begin one sitting, and then the other has to wait', async () => {
    const ana = await invited(service, org, { ref: 'ana', name: 'Ana Example' });
    const other = await invitedAgain(ana);
    const links = [await ana.link(), await other.link(), await ana.link(), await other.link()];
    const [under, ...others] = await Promise.all(links.map((link) => startSitting(app, link)));
    assert.ok(others.every((one) => one === under));
    const [first, second] = under === ana.invitationId ? [ana, other] : [other, ana];
    const before = await second.link();
    const sitting = (await first.link()).open!;
    while ((await first.answers()) !== null);
    // The second start runs while the result is recorded: it meets the open sitting or the result.
    const [finished] = await Promise.all([
      finishSitting(app, sitting, null),
      ...Array.from({ length: 4 }, () => startSitting(app, before)),
    ]);
    assert.equal(finished, 'completed');
    await startSitting(app, before);
    assert.equal(await sittingsIn(ana, 'digital'), 1);
  });

  test('the page says from when, and other subjects do not wait', async () => {
    const ben = await invited(service, org, { ref: 'ben', name: 'Ben Example' });
    const other = await invitedAgain(ben);
    await ben.sits();
    const page = new Visitor(service, other.token);
    await page.get();
    assert.equal(page.status, 200);
    assert.equal(page.heading(), 'It is too early for Digital skills');
    assert.match(page.text, /You took Digital skills on 2 March 2026\./);
    assert.match(page.text, /from <strong>12 March 2026<\/strong>\.<\/p>\s*<p>Come back then with this link\./);
    assert.ok(!page.text.includes('action='), 'a form to start');
    await page.post('/start');
    assert.equal(page.heading(), 'It is too early for Digital skills');
    assert.equal(await sittingsIn(ben, 'digital'), 1);
    // The API still makes invitations, and its link goes on with the next subject.
    await app.db.query("update invitation set status = 'used' where organisation_id = $1 and learner_id = $2", [
      org.id,
      (await ben.link()).invitation.learner_id,
    ]);
    const again = await invited(service, org, { ref: 'ben', name: 'Ben Example' });
    assert.notEqual(again.invitationId, ben.invitationId);
    assert.equal((await again.link()).next, 'english');
    const english = await again.sits();
    assert.equal(english.subject, 'english');
    const closing = new Visitor(service, again.token);
    assert.match((await closing.get()).text, /Start Maths/);
    await again.sits();
    assert.match((await closing.get()).text, /You took Digital skills on 2 March 2026/);
    assert.equal((await again.link()).invitation.status, 'open');
  });

  test('a person allows it with a reason, which the audit log and the evidence pack have', async () => {
    const cem = await invited(service, org, { ref: 'cem', name: 'Cem Example' });
    const other = await invitedAgain(cem);
    await cem.sits();
    const admin = await personOf(service, org.id, 'admin');
    const here = `${base}/invitations/${other.invitationId}`;
    assert.match((await admin.get(here)).text, /Too early until[\s\S]*Allow early retake/);
    for (const early_reason of ['', 'QQ 12 34 56 C', 'x'.repeat(1000)])
      assert.equal((await admin.post(`${here}/retake`, { early_reason })).status, 422);
    assert.equal((await other.link()).next, null);
    const done = await admin.follow(await admin.post(`${here}/retake`, { early_reason: 'Ill on the day' }));
    assert.match(done.text, /The learner can start now/);
    assert.ok(!done.text.includes('Allow early retake'));
    const audited = await app.db.query(
      'select 1 from audit where organisation_id = $1 and action = $2 and resource = $3',
      [org.id, 'POST /console/invitations/{invitation_id}/retake', other.invitationId],
    );
    assert.equal(audited.length, 1);
    const auditor = await personOf(service, org.id, 'auditor');
    assert.equal((await auditor.post(`${here}/retake`, { early_reason: 'Again' })).status, 404);

    const sitting = await other.starts();
    while ((await other.answers()) !== null);
    const asked = (await findItems(app.db, sitting)).map((row) => row.item_id);
    // As if three of the questions had been in the first sitting.
    await app.db.query('update sitting set withheld = $3 where organisation_id = $1 and sitting_id = $2', [
      org.id,
      sitting.sitting_id,
      asked.slice(0, 3),
    ]);
    assert.equal(await other.finishes(sitting), 'completed');
    const finished = (await findSitting(app.db, sitting))!;
    const { review } = (await reviewSitting(app, org.id, finished.assessment_id!))!;
    assert.deepEqual(review.signs.repeated, { questions: 3, of: asked.length });
    const [{ input }] = (await app.db.query(
      'select input from evidence where organisation_id = $1 and assessment_id = $2',
      [org.id, finished.assessment_id],
    )) as [{ input: string }];
    const { retake_reason, signs } = JSON.parse(input).sitting;
    assert.equal(retake_reason, 'Ill on the day');
    assert.deepEqual(signs.repeated, review.signs.repeated);
    const page = await fetch(`${service.url}/result/${resultToken(app, finished)}`);
    assert.match(await page.text(), new RegExp(`You had seen 3 of these ${asked.length} questions before\\.`));
    assert.match(
      (await admin.get(`${base}/results/${finished.assessment_id}`)).text,
      new RegExp(`3 of ${asked.length} questions were also in an earlier sitting of this learner`),
    );
  });

  test('nothing is said of questions that were new', async () => {
    const dan = await invited(service, org, { ref: 'dan' });
    const sitting = await dan.sits();
    const page = await fetch(`${service.url}/result/${resultToken(app, sitting)}`);
    assert.doesNotMatch(await page.text(), /You had seen/);
    assert.equal((await reviewSitting(app, org.id, sitting.assessment_id!))!.review.signs.repeated, undefined);
  });

  test('after the days the link starts; without a number of days it starts immediately', async () => {
    const eve = await invited(service, org, { ref: 'eve' });
    const other = await invitedAgain(eve);
    await eve.sits();
    clock.advance(10 * dayMs - 1);
    assert.equal((await other.link()).next, null);
    clock.advance(1);
    assert.equal((await other.starts()).subject, 'digital');
    await sets(null);
    const fay = await invited(service, org, { ref: 'fay' });
    const second = await invitedAgain(fay);
    await fay.sits();
    assert.equal((await second.starts()).subject, 'digital');
  });
});

test('a second sitting asks no question of the first while others fit', () => {
  let repeated = 0;
  for (const subject of subjects) {
    const pool = preparePool(loadBank().subjects[subject].version);
    for (let learner = 0; learner < 4; learner++) {
      const random = seededRandom(`retakes ${subject} ${learner}`);
      const seen = new Set<string>();
      for (let n = 0; n < 2; n++) {
        const sitting = new AdaptiveSitting(pool, { seed: drawSeed(random), seen: [...seen] });
        for (let step = sitting.next(); step.kind === 'item'; step = sitting.next()) {
          if (seen.has(step.itemId)) repeated++;
          sitting.record({ itemId: step.itemId, outcome: random.float() < 0.3 + learner / 6 ? 'right' : 'wrong' });
          seen.add(step.itemId);
        }
      }
    }
  }
  assert.equal(repeated, 0);
});
