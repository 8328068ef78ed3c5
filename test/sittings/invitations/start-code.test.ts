import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { buildDocument } from '../../../src/records/evidence/document.ts';
import { findInvitation } from '../../../src/sittings/invitations/invitations.ts';
import { releaseStartCode, requireStartCode, takeStartCode } from '../../../src/sittings/invitations/start-code.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { startSitting } from '../../../src/sittings/start.ts';
import { personOf } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import { invited, invitedAgain } from '../learner.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });
const { app } = service;
const org = await service.organisation({ name: 'Northfield College' });
const tutor = await personOf(service, org.id, 'admin', { name: 'Gwen Gray' });

async function supervised(ref: string) {
  const learner = await invited(service, org, { ref });
  await requireStartCode(app.db, org.id, [learner.invitationId], true);
  return learner;
}
const releases = async (id: string) =>
  (await service.withUnitOfWork((work) => releaseStartCode(work, org.id, id, tutor.userId)))!.code;
const takes = (id: string, code: string) => service.withUnitOfWork((work) => takeStartCode(work, org.id, id, code));
/** Another code than this one. */
const wrong = (code: string, by = 1) => String((Number(code) + by) % 1_000_000).padStart(6, '0');

suite('a start code', () => {
  test('works once, for some minutes, and takes few tries', async () => {
    const { invitationId: id } = await supervised('one');
    const first = await releases(id);
    assert.equal(await takes(id, ''), null);
    const both = await Promise.all([takes(id, first), takes(id, `${first.slice(0, 3)} ${first.slice(3)}`)]);
    assert.deepEqual(
      both.filter((one) => one !== null).map((one) => one.by),
      ['Gwen Gray'],
    );
    assert.equal(await takes(id, first), null);

    const late = await releases(id);
    clock.advance(limits.startCodeMs);
    assert.equal(await takes(id, late), null);

    const guessed = await releases(id);
    const tries = await Promise.all(Array.from({ length: 20 }, (_, n) => takes(id, wrong(guessed, n + 1))));
    assert.ok(tries.every((one) => one === null));
    assert.equal(await takes(id, guessed), null, 'after many wrong ones the right one is of no use either');
    const anew = await releases(id);
    if (anew !== guessed) assert.equal(await takes(id, guessed), null);
    assert.notEqual(await takes(id, anew), null);
  });

  test('is one invitation’s own, and released where one is needed only', async () => {
    const [a, b] = [await supervised('own-a'), await supervised('own-b')];
    const code = await releases(a.invitationId);
    await releases(b.invitationId);
    const other = await invited(service, org, { ref: 'own-c' });
    assert.equal(
      await service.withUnitOfWork((work) => releaseStartCode(work, org.id, other.invitationId, tutor.userId)),
      null,
    );
    await app.db.query(
      `update start_code set code_mac = (select code_mac from start_code where organisation_id = $3 and invitation_id = $1)
        where organisation_id = $3 and invitation_id = $2`,
      [a.invitationId, b.invitationId, org.id],
    );
    assert.equal(await takes(b.invitationId, code), null, 'a stored hash is of no use elsewhere');
  });

  test('the learner is asked for it, and the evidence tells who released it from who is said to supervise', async () => {
    const ana = await supervised('ana');
    const again = { purpose: 'progress', retake_reason: 'The fire alarm rang' } as const;
    await app.db.query('update invitation set purpose = $2, retake_reason = $3 where invitation_id = $1', [
      ana.invitationId,
      again.purpose,
      again.retake_reason,
    ]);
    const here = `/console/${org.publicId}/invitations/${ana.invitationId}`;
    const page = await tutor.post(`${here}/start-code`);
    const [, digits] = /<code>(\d{3} \d{3})<\/code>/.exec(page.text)!;
    const asked = await tutor.follow(await tutor.post(`/a/${ana.token}/start`));
    assert.match(asked.text, /Your supervisor gives you a code/);
    assert.doesNotMatch(asked.text, /role="alert"/);
    const guess = { code: wrong(digits!.replace(' ', '')) };
    const refused = await tutor.follow(await tutor.post(`/a/${ana.token}/start`, guess));
    assert.match(refused.text, /role="alert"/);
    assert.equal((await ana.link()).open, null);
    const { status } = await tutor.post(`/a/${ana.token}/start`, { code: digits! });
    assert.equal(status, 303);
    const sitting = (await ana.link()).open!;
    assert.equal(sitting.released_by, 'Gwen Gray');
    while ((await ana.answers()) !== null);
    assert.equal(await ana.finishes(sitting), 'completed');
    const [{ input }] = (await app.db.query('select input from evidence where organisation_id = $1', [org.id])) as [
      { input: string },
    ];
    const { released, supervision, supervisor, purpose, retake_reason } = JSON.parse(input).sitting;
    assert.deepEqual([released.by, supervision, supervisor], ['Gwen Gray', 'Not supervised', undefined]);
    assert.deepEqual({ purpose, retake_reason }, again);
    const said = JSON.stringify(buildDocument(JSON.parse(input)).blocks);
    for (const fact of ['"Purpose","value":"Progress"', '"Why assessed again","value":"The fire alarm rang"'])
      assert.ok(said.includes(fact), fact);
    assert.equal((await findInvitation(app.db, org.id, ana.invitationId))!.start_code, true);
    assert.ok(!service.logged.some((line) => line.includes(digits!) || line.includes(digits!.replace(' ', ''))));
  });

  test('is left where the subject is under way by another link already', async () => {
    const cal = await supervised('cal');
    const other = await invitedAgain(cal);
    await requireStartCode(app.db, org.id, [other.invitationId], true);
    await startSitting(app, await cal.link(), await releases(cal.invitationId));
    const code = await releases(other.invitationId);
    assert.equal(await startSitting(app, await other.link(), code), cal.invitationId);
    assert.notEqual(await takes(other.invitationId, code), null);
  });

  test('the next subject needs another one', async () => {
    const ben = await supervised('ben');
    const code = await releases(ben.invitationId);
    assert.notEqual(await startSitting(app, await ben.link(), code), null);
    await app.db.query(
      "update sitting set status = 'void', void_reason = 'test', finished_at = started_at where invitation_id = $1",
      [ben.invitationId],
    );
    assert.equal(await startSitting(app, await ben.link(), code), null);
  });
});
