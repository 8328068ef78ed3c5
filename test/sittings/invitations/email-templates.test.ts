import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { changeEmail } from '../../../src/sittings/invitations/contact.ts';
import { findInvitation } from '../../../src/sittings/invitations/invitations.ts';
import { mailInvitations } from '../../../src/sittings/invitations/email-templates.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { withService } from '../../support/service.ts';
import type { SimulatedLearner } from '../learner.ts';
import { invited, invitedAgain } from '../learner.ts';

/** A letter with a learner's link waits for a mail server that is out of reach, while things change. */
suite('a letter that waits is not sent to an address of before', async () => {
  const service = await withService({
    own: 'Sends mail.',
    settings: { ARS_SMTP_URL: 'smtp://127.0.0.1:9', ARS_MAIL_FROM: 'results@college.example' },
  });
  const { app, withUnitOfWork } = service;
  const org = await service.organisation();
  const why = { actor: 'operator', reason: null };

  /** A learner whose link to one subject was mailed to an address that is mistyped. */
  async function mailed(ref: string) {
    const first = await invited(service, org, { ref });
    const learner: SimulatedLearner & { invitationId: string } = await invitedAgain(first);
    const id = (await learner.link()).invitation.learner_id;
    await writesTo(ref, `${ref}@mistyped.example`);
    const organisation = await readOrganisation(app.db, org.id);
    const posted = await withUnitOfWork(async (work) =>
      mailInvitations(work, organisation, [(await findInvitation(work.tx, org.id, learner.invitationId))!]),
    );
    assert.equal(posted, 1);
    const letters = () =>
      app.db.query('select status from mail where cause like $1', [`invitation ${learner.invitationId} %`]);
    assert.deepEqual(await letters(), [{ status: 'waiting' }]);
    const mailedAt = async () => (await findInvitation(app.db, org.id, learner.invitationId))!.mailed_at;
    return { learner, id, letters, mailedAt };
  }
  const writesTo = (ref: string, email: string) =>
    withUnitOfWork((work) => changeEmail(work, org.id, { ref }, email, why));

  test('once the invitation is used', async () => {
    const { learner, letters, mailedAt } = await mailed('used');
    const at = await mailedAt();
    await learner.sits();
    assert.deepEqual([await letters(), (await learner.link()).invitation.status], [[], 'used']);
    assert.deepEqual(await mailedAt(), at, 'that it was mailed stays known');
  });

  test('where a release from before used it, and the address changes then', async () => {
    const { learner, letters, mailedAt } = await mailed('before');
    const at = await mailedAt();
    await app.db.query("update invitation set status = 'used' where invitation_id = $1", [learner.invitationId]);
    await writesTo('before', 'right@college.example');
    assert.deepEqual([await letters(), await mailedAt()], [[], at]);
  });

  test('where the learner turns out to be another one, who has another address', async () => {
    const [lost, kept] = [await mailed('lost'), await mailed('kept')];
    await withUnitOfWork((work) => mergeLearners(work, org.id, { from: lost.id, into: kept.id }, why));
    assert.deepEqual([await lost.letters(), await lost.mailedAt()], [[], null]);
    assert.deepEqual(await kept.letters(), [{ status: 'waiting' }]);
  });

  test('but where the address stays that learner’s', async () => {
    const lost = await mailed('stays');
    const { learner_id: into } = (await org.post('/learners', { ref: 'no-address', full_name: 'Test Learner' })).body
      .data;
    await withUnitOfWork((work) => mergeLearners(work, org.id, { from: lost.id, into }, why));
    assert.deepEqual(await lost.letters(), [{ status: 'waiting' }]);
  });
});
