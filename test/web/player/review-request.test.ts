import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { findLive, findReviews } from '../../../src/records/results/results.ts';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { contentOf } from '../../../src/records/results/body.ts';
import { recordAgain } from '../../../src/governance/result-reviews/record-again.ts';
import { prepareReplacement } from '../../../src/governance/result-reviews/replacement.ts';
import { confirmResult } from '../../../src/governance/result-reviews/decide.ts';
import { askForReview, monthAfter } from '../../../src/governance/result-reviews/request.ts';
import { resultToken } from '../../../src/sittings/result-link.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { invited } from '../../sittings/learner.ts';
import { withService } from '../../support/service.ts';

test('a month is a calendar month, and never longer than the next one', () => {
  for (const [from, to] of [
    ['2026-03-15T10:00:00Z', '2026-04-15T10:00:00Z'],
    ['2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z'],
    ['2028-01-31T10:00:00Z', '2028-02-29T10:00:00Z'],
    ['2026-12-31T23:59:59Z', '2027-01-31T23:59:59Z'],
    ['2026-05-31T00:00:00Z', '2026-06-30T00:00:00Z'],
  ])
    assert.equal(monthAfter(new Date(from!)).toISOString(), new Date(to!).toISOString());
});

suite('a learner asks for a person’s review', async () => {
  const clock = manualClock(Date.parse('2026-03-02T09:00:00Z'));
  const service = await withService({
    own: 'Moves the clock.',
    clock,
    random: seededRandom('asks'),
    settings: { ARS_SMTP_URL: 'smtp://127.0.0.1:9', ARS_MAIL_FROM: 'results@college.example' },
  });
  const org = await service.organisation({ name: 'Northfield College' });
  await service.app.db.query('update organisation set notices_email = $2 where organisation_id = $1', [
    org.id,
    'notices@college.example',
  ]);
  const { app } = service;

  async function sat(name: string) {
    const learner = await invited(service, org, { name, theta: 0.1 });
    const sitting = await learner.sits();
    const address = `${service.url}/result/${resultToken(app, sitting)}`;
    const read = async () => (await fetch(address)).text();
    const asks = (text: string) =>
      fetch(address, { method: 'POST', body: new URLSearchParams({ text }), redirect: 'manual' });
    const reviews = () => findReviews(app.db, org.id, sitting.assessment_id!);
    const answered = (answer: string | null, actor = 'ben') =>
      service.withUnitOfWork((work) =>
        confirmResult(work, org.id, sitting.assessment_id!, { actor, reason: null, answer, version: null }),
      );
    return { sitting, address, read, asks, reviews, answered };
  }

  test('once at a time, with a clock, a mail without anybody’s name, and an answer on the same page', async () => {
    const ana = await sat('Ana Silva');
    assert.match(
      await ana.read(),
      /A computer worked it out.*No person has checked it yet.*Ask for a person’s review/s,
    );
    assert.equal((await ana.asks('The screen froze.\r\nI know this.')).status, 303);
    await Promise.all([ana.asks('again'), ana.asks('and again')]);
    const asked = (await ana.reviews()).filter((one) => one.requested_at !== null);
    assert.deepEqual(
      asked.map((one) => [one.request, one.due_at!.toISOString().slice(0, 10)]),
      [['The screen froze.\nI know this.', '2026-04-02']],
    );
    const waits = await ana.read();
    assert.match(waits, /You asked on 2 March 2026.*2 April 2026/s);
    assert.doesNotMatch(waits, /Ask for a person’s review|screen froze/);
    const mails = await app.db.query<{ sealed: Buffer }>(
      "select sealed from mail where cause like 'review_requested%'",
    );
    assert.equal(mails.length, 1);
    const mail = app.secrets.open('mail', mails[0]!.sealed)!;
    assert.match(mail, /notices@college\.example/);
    assert.doesNotMatch(mail, /Ana|Silva|froze/);
    assert.match(mail, /due by 2 April 2026/);
    assert.equal(await ana.answered(null), 'unanswered');
    clock.advance(60_000);
    assert.equal(await ana.answered('We looked at every answer.\nIt stands.'), null);
    const told = await ana.read();
    assert.match(told, /They did not change your result.*We looked at every answer\.<br>It stands\./s);
    assert.match(told, /A person at .*Northfield College.* looked at it on 2 March 2026/);
    assert.doesNotMatch(told, /Ask for a person’s review/);
    clock.advance(25 * 3600_000);
    assert.match(await ana.read(), /Ask for a person’s review/);
  });

  test('a number of a person is refused and not shown again, and neither is text that can’t be kept', async () => {
    const bo = await sat('Bo Berg');
    for (const text of ['mine is QQ 12 34 56 C', 'x'.repeat(2001), 'a\0b', '\ud800']) {
      const answer = await bo.asks(text);
      if (text === '\ud800') continue;
      assert.equal(answer.status, 422);
      assert.doesNotMatch(await answer.text(), /12 34 56/);
    }
    const kept = (await bo.reviews()).map((one) => one.request);
    assert.ok(kept.every((one) => one === null || !/\ud800|\0/.test(one)));
  });

  test('of many at once one counts, and after five there are no more', async () => {
    const cy = await sat('Cy Young');
    const { sitting } = cy;
    const times = await Promise.all(
      [1, 2, 3].map(() => service.withUnitOfWork((work) => askForReview(work, sitting, ''))),
    );
    assert.deepEqual(times.toSorted(), [false, false, true]);
    for (let n = 0; n < 8; n++) {
      await cy.answered('It stands.');
      clock.advance(25 * 3600_000);
      await cy.asks('');
    }
    assert.equal((await cy.reviews()).filter((one) => one.requested_at !== null).length, 5);
  });

  test('the page of a result whose level a person set says so, and nothing of what the engines found', async () => {
    const eve = await sat('Eve Eden');
    const before = await eve.read();
    assert.match(before, /Most likely you are.*A computer worked it out/s);
    const found = /<p class="level">([^<]*)</.exec(before)![1];
    const live = (id: string) => findLive(app.db, org.id, id);
    const { body } = (await live(eve.sitting.assessment_id!))!;
    const [level, placement] =
      found === 'Level 2' ? (['Level 1', 'level1'] as const) : (['Level 2', 'level2'] as const);
    const made = await prepareReplacement(app, org.id, eve.sitting.assessment_id!, placement, 'Seen in class');
    assert.ok(typeof made === 'object');
    const decision = { actor: 'ben', reason: 'Seen in class', answer: null, version: null };
    assert.equal(await service.withUnitOfWork((work) => recordAgain(work, org.id, made, decision)), null);
    const saysSo = async () => {
      const page = (await eve.read()).replaceAll('\u00a0', ' ');
      assert.match(
        page,
        new RegExp(`You showed the skills of ${level}.*A person at your provider has set this level`, 's'),
      );
      assert.match(page, /worked out a level.*A person at .*then set the level that this page shows, on \d+ \w+ 2026/s);
      assert.doesNotMatch(page, /Most likely|worked it out|No person has checked/);
    };
    await saysSo();
    // Releases of before kept the engines' probabilities with it.
    const { level_probabilities } = contentOf(body, 0);
    assert.notEqual(level_probabilities, null);
    await service.withUnitOfWork((work) =>
      amendAssessment(work, org.id, made.to.assessment_id, { level_probabilities }, { actor: 'operator', reason: 'x' }),
    );
    await saysSo();
  });

  test('whoever decided before doesn’t decide on the objection, where somebody else can', async () => {
    const dee = await sat('Dee Dale');
    await dee.asks('');
    assert.equal(await dee.answered('It stands.', 'ben'), null);
    clock.advance(25 * 3600_000);
    await dee.asks('I object.');
    // Nobody else is there: it is ben's to decide.
    await service.app.db.query(
      `with made as (insert into user_account (user_id, email, full_name, created_at) values (gen_random_uuid(), 'o@x.example', 'O', now()) returning user_id)
       insert into user_membership (organisation_id, user_id, role, created_at) select $1, user_id, 'owner', now() from made`,
      [org.id],
    );
    assert.equal(await dee.answered('Still.', 'ben'), 'same_person');
    assert.equal(await dee.answered('Looked at again: it stands.', 'ana'), null);
  });

  test('in the longest text of any script, and in no longer one', async () => {
    const ben = await sat('Ben Moyo');
    assert.equal((await ben.asks('ক'.repeat(limits.reviewTextChars + 1))).status, 422);
    assert.equal((await ben.asks('😀'.repeat(limits.reviewTextChars))).status, 303);
    assert.ok((await ben.reviews()).at(-1)!.request === '😀'.repeat(limits.reviewTextChars));
  });

  test('an unknown link asks for nothing', async () => {
    const answer = await fetch(`${service.url}/result/nothing`, {
      method: 'POST',
      body: new URLSearchParams({ text: 'x' }),
    });
    assert.equal(answer.status, 404);
  });
});
