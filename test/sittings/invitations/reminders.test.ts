import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cancelInvitation } from '../../../src/governance/erasure/cancel-invitation.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { updateOrganisation } from '../../../src/organisations/organisations.ts';
import { findInvitation } from '../../../src/sittings/invitations/invitations.ts';
import { changeEmail } from '../../../src/sittings/invitations/contact.ts';
import { remindLearners } from '../../../src/sittings/invitations/reminders.ts';
import { withService } from '../../support/service.ts';
import { personOf } from '../../web/console/visitor.ts';
import { invited } from '../learner.ts';

suite('reminders of learners who have not begun', async () => {
  const service = await withService({
    own: 'Sends mail.',
    settings: { ARS_SMTP_URL: 'smtp://127.0.0.1:9', ARS_MAIL_FROM: 'results@college.example' },
  });
  const { app, withUnitOfWork } = service;
  const org = await service.organisation();
  const why = { actor: 'operator', reason: null };
  const round = () => remindLearners(app, new AbortController().signal);
  const letters = (id: string) => app.db.query('select status from mail where cause = $1', [`reminder ${id}`]);

  /** A learner with an email address who was invited some days ago. */
  async function waits(ref: string, days = 8) {
    const learner = await invited(service, org, { ref });
    const { invitation } = await learner.link();
    const { invitation_id: id, learner_id: learnerId } = invitation;
    await withUnitOfWork((work) => changeEmail(work, org.id, { ref }, `${ref}@college.example`, why));
    await app.db.query(
      `update invitation set mailed_at = null, created_at = created_at - $2 * interval '24 hours' where invitation_id = $1`,
      [id, days],
    );
    return { learner, id, learnerId };
  }
  const set = (days: number | null) =>
    withUnitOfWork((work) => updateOrganisation(work, org.id, { reminder_days: days }));

  test('are off by default', async () => {
    const { id } = await waits('off');
    await round();
    assert.deepEqual(await letters(id), []);
  });

  test('are written once, by two processes too, and the list shows when', async () => {
    await set(7);
    const [early, due] = [await waits('early', 6), await waits('due')];
    await Promise.all([round(), round(), round()]);
    await round();
    assert.deepEqual(await letters(early.id), []);
    assert.deepEqual(await letters(due.id), [{ status: 'waiting' }]);
    assert.notEqual((await findInvitation(app.db, org.id, due.id))!.reminded_at, null);
    await app.db.query('delete from mail where cause = $1', [`reminder ${due.id}`]);
    await round();
    assert.deepEqual(await letters(due.id), [], 'the email was sent and is forgotten');
    const owner = await personOf(service, org.id, 'owner');
    const { text } = await owner.get(`/console/${org.publicId}/invitations`);
    assert.match(text, /data-head="Reminded"><span><time/);
    assert.match((await owner.get(`/console/${org.publicId}/invitations/${due.id}`)).text, /Reminder written/);
  });

  test('are not written if a transaction fails', async () => {
    const { id } = await waits('killed');
    await assert.rejects(
      withUnitOfWork(async (work) => {
        await work.tx.query('update invitation set reminded_at = now() where invitation_id = $1', [id]);
        throw new Error('The process ends.');
      }),
    );
    await round();
    assert.deepEqual(await letters(id), [{ status: 'waiting' }]);
  });

  test('are not written for a learner who began, whose invitation ended or was cancelled, or who was erased', async () => {
    const [begun, ended, cancelled, erased, old] = [
      await waits('begun'),
      await waits('ended'),
      await waits('cancelled'),
      await waits('erased'),
      await waits('old', 40),
    ];
    await begun.learner.starts();
    await app.db.query('update invitation set expires_at = created_at where invitation_id = $1', [ended.id]);
    await withUnitOfWork((work) => cancelInvitation(work, org.id, cancelled.id, { actor: 'operator', reason: 'Left' }));
    await withUnitOfWork((work) => eraseLearner(work, org.id, erased.learnerId, why));
    await round();
    for (const { id } of [begun, ended, cancelled, erased, old]) assert.deepEqual(await letters(id), []);
  });

  test('that wait for the mail server are withdrawn when the learner begins, is erased or has another address', async () => {
    const all = [
      await waits('begins'),
      await waits('leaves'),
      await waits('moves'),
      await waits('is-cancelled'),
    ] as const;
    await round();
    for (const { id } of all) assert.deepEqual(await letters(id), [{ status: 'waiting' }]);
    const [begins, leaves, , isCancelled] = all;
    await begins.learner.starts();
    await withUnitOfWork((work) => eraseLearner(work, org.id, leaves.learnerId, why));
    await withUnitOfWork((work) => changeEmail(work, org.id, { ref: 'moves' }, 'moved@college.example', why));
    await withUnitOfWork((work) =>
      cancelInvitation(work, org.id, isCancelled.id, { actor: 'operator', reason: 'Left' }),
    );
    for (const { id } of all) assert.deepEqual(await letters(id), []);
  });

  test('are set by an owner, from 1 to 60 days', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const path = `/console/${org.publicId}/settings`;
    const common = { subjects: 'maths' };
    for (const wrong of ['0', '61', 'x', '-1'])
      assert.equal((await owner.fill(path, { ...common, reminderDays: wrong })).status, 422, wrong);
    assert.equal((await owner.fill(path, { ...common, reminderDays: '10' })).status, 303);
    assert.match((await owner.get(path)).text, /name="reminderDays"[^>]* value="10"/);
    await owner.fill(path, { ...common, reminderDays: '' });
    const { id } = await waits('off-again', 11);
    await round();
    assert.deepEqual(await letters(id), []);
  });
});
