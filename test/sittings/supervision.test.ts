import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { adjustInvitation, findInvitation } from '../../src/sittings/invitations/invitations.ts';
import { inviteLearners } from '../../src/sittings/invitations/invite.ts';
import { correctSupervision, findSitting } from '../../src/sittings/store.ts';
import type { SittingRow } from '../../src/sittings/store.ts';
import { withService } from '../support/service.ts';
import type { SimulatedLearner } from './learner.ts';
import { invited } from './learner.ts';

suite('what evidence says of supervision', async () => {
  const service = await withService();
  const { app } = service;
  const org = await service.organisation();
  const centre = { supervision: 'Supervised in centre', supervisor: 'Jo Smith', retake_reason: 'The fire alarm rang' };

  const givesAgain = (ref: string) =>
    service.withUnitOfWork(async (work) => {
      const row = { ref, full_name: 'Test Learner', email: null, groups: [], extra_time_pct: null, expires_at: null };
      const subjects = ['digital', 'english', 'maths'] as const;
      const [outcome] = await inviteLearners(
        work,
        org.id,
        [{ ...row, ...centre, subjects: [...subjects], purpose: null, start_code: null }],
        { visibility: null, teamId: null, actor: 'operator', mails: false },
      );
      return outcome!.outcome;
    });
  async function saidOf(learner: SimulatedLearner, sitting: SittingRow) {
    while ((await learner.answers()) !== null);
    assert.equal(await learner.finishes(sitting), 'completed');
    const { assessment_id, ...row } = (await findSitting(app.db, sitting))!;
    assert.deepEqual([row.supervision, row.supervisor, row.retake_reason], [null, null, null]);
    const [found] = await app.db.query<{ input: string }>('select input from evidence where assessment_id = $1', [
      assessment_id,
    ]);
    const { supervision, supervisor, retake_reason } = JSON.parse(found!.input).sitting;
    return { supervision, supervisor, retake_reason };
  }

  test('is what the invitation said when the sitting began; given again, it speaks of the next', async () => {
    const ana = await invited(service, org, { ref: 'ana' });
    const sitting = await ana.starts();
    assert.equal(await givesAgain('ana'), 'again');
    assert.equal((await findInvitation(app.db, org.id, ana.invitationId))!.supervision, centre.supervision);
    assert.deepEqual(await saidOf(ana, sitting), {
      supervision: 'Not supervised',
      supervisor: undefined,
      retake_reason: undefined,
    });
    assert.deepEqual(await saidOf(ana, await ana.starts()), centre);
  });

  test('a correction holds for the sitting that is under way, too', async () => {
    const ben = await invited(service, org, { ref: 'ben' });
    const sitting = await ben.starts();
    await service.withUnitOfWork((work) =>
      correctSupervision(work.tx, org.id, ben.invitationId, { supervision: 'By a tutor' }),
    );
    assert.equal((await saidOf(ben, sitting)).supervision, 'By a tutor');
  });

  test('a sitting that the release before began says what its invitation says at the end', async () => {
    const cem = await invited(service, org, { ref: 'cem' });
    const sitting = await cem.starts();
    await app.db.query('update sitting set supervision = null where sitting_id = $1', [sitting.sitting_id]);
    const { supervision, supervisor } = centre;
    await service.withUnitOfWork((work) =>
      adjustInvitation(work, org.id, cem.invitationId, { supervision, supervisor }),
    );
    assert.equal((await saidOf(cem, sitting)).supervisor, centre.supervisor);
  });
});
