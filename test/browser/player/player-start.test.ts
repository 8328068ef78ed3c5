import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { releaseStartCode, requireStartCode } from '../../../src/sittings/invitations/start-code.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { personOf } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import type { SimulatedLearner } from '../../sittings/learner.ts';
import { invited, invitedAgain } from '../../sittings/learner.ts';
import { axeFaults, openPage, starts, withoutBrowser } from '../browser.ts';

suite('starting in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield Adult Learning' });
  const tutor = await personOf(service, org.id, 'admin', { name: 'Gwen Gray' });
  const addressOf = (learner: SimulatedLearner) => `${service.url}/a/${learner.token}`;
  const triesOf = async (invitationId: string) =>
    (
      await service.app.db.query<{ tries: number }>('select tries from start_code where invitation_id = $1', [
        invitationId,
      ])
    )[0]!.tries;

  for (const script of [true, false]) {
    const how = script ? 'with script' : 'without script';

    test(`Start under a second link leads to the sitting that is under way, ${how}`, async () => {
      const ana = await invited(service, org);
      const again = await invitedAgain(ana);
      await ana.starts();
      const { page } = await openPage({ width: 360, script });
      await page.goto(addressOf(again));
      await starts(page);
      assert.equal(page.url(), `${addressOf(ana)}/question`);
      assert.match(await page.locator('h1').innerText(), /^Question 1/);
    });

    test(`a wrong start code counts once, and the right one begins, ${how}`, async () => {
      const ben = await invited(service, org);
      const { invitationId } = ben;
      await requireStartCode(service.app.db, org.id, [invitationId], true);
      const { code } = (await service.withUnitOfWork((work) =>
        releaseStartCode(work, org.id, invitationId, tutor.userId),
      ))!;
      const { page } = await openPage({ width: 360, script });
      await page.goto(addressOf(ben));
      const presses = () =>
        Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: /^Start/ }).click()]);
      await presses();
      assert.equal(await page.locator('.error').count(), 0);
      for (let tries = 1; tries < limits.startCodeTries; tries++) {
        await page.getByLabel('Code').fill(String((Number(code) + tries) % 1_000_000).padStart(6, '0'));
        await presses();
        assert.equal(await triesOf(invitationId), tries);
        await page.locator('.error:focus', { hasText: 'That code does not work' }).waitFor();
      }
      // axe needs scripts itself.
      if (script) assert.deepEqual(await axeFaults(page), []);
      await page.getByLabel('Code').fill(code);
      await starts(page);
      assert.match(await page.locator('h1').innerText(), /^Question 1/);
    });
  }
});
