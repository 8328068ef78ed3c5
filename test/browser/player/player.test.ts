import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { findItems } from '../../../src/sittings/store.ts';
import { withService } from '../../support/service.ts';
import type { SimulatedLearner } from '../../sittings/learner.ts';
import { invited } from '../../sittings/learner.ts';
import { axeFaults, isInView, openPage, starts, withoutBrowser } from '../browser.ts';
import { answerByKeyboard, fillByKeyboard, pressByKeyboard } from '../keyboard.ts';
import { currentOf } from './question.ts';
import { isSound, sitsByKeyboard } from './sitting.ts';

suite('sittings in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield Adult Learning' });
  const addressOf = (learner: SimulatedLearner) => `${service.url}/a/${learner.token}`;
  const outcomesOf = async (learner: SimulatedLearner) =>
    (await findItems(service.app.db, (await learner.link()).open!)).map((row) => row.outcome);

  test('a subject at 320 px by keyboard alone, axe clean; its result is there when the closing page has loaded', async () => {
    const ana = await invited(service, org, { name: 'أميرة حسن', theta: 0.3 });
    const { page, complaints } = await openPage({ width: 320 });
    await page.goto(addressOf(ana));
    await isSound(page, 'welcome');
    const random = seededRandom('keyboard');
    await sitsByKeyboard(page, { learner: ana, org, subject: 'digital', random, looked: new Set() });
    assert.deepEqual(
      complaints.filter((one) => !one.includes('404')),
      [],
    );
  });

  test('offline in the middle: the answer is kept, and sent when the connection is back', async () => {
    const ben = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.goto(addressOf(ben));
    await starts(page);
    await page.context().setOffline(true);
    await fillByKeyboard(page, (await currentOf(ben)).answer);
    await page.keyboard.press('Enter');
    await page.locator('#say', { hasText: 'no connection' }).waitFor();
    await isInView(page, '#say');
    assert.deepEqual(await outcomesOf(ben), [null]);
    assert.deepEqual(await axeFaults(page), []);
    // Pressing again in the meantime sends nothing twice.
    await page.keyboard.press('Enter');
    await Promise.all([page.waitForEvent('load'), page.context().setOffline(false)]);
    assert.match(await page.locator('h1').innerText(), /^Question 2/);
    assert.deepEqual(await outcomesOf(ben), ['right', null]);
  });

  test('a page that is loaded again shows what was filled in', async () => {
    const cem = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.goto(addressOf(cem));
    await starts(page);
    for (let i = 0; i < 6; i++) {
      const { answer } = await currentOf(cem);
      await fillByKeyboard(page, answer);
      const before = await page.evaluate(`new URLSearchParams(new FormData(document.forms[0])).toString()`);
      await page.reload();
      assert.equal(await page.evaluate(`new URLSearchParams(new FormData(document.forms[0])).toString()`), before);
      await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Next question' }).click()]);
    }
    assert.deepEqual(await outcomesOf(cem), ['right', 'right', 'right', 'right', 'right', 'right', null]);
  });

  test('two tabs: one answer counts, and the other tab comes to the current question', async () => {
    const dan = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.goto(addressOf(dan));
    await starts(page);
    const other = await page.context().newPage();
    await other.goto(addressOf(dan));
    const { answer } = await currentOf(dan);
    await answerByKeyboard(page, answer);
    await answerByKeyboard(other, answer);
    assert.equal(await other.locator('h1').innerText(), await page.locator('h1').innerText());
    assert.deepEqual(await outcomesOf(dan), ['right', null]);
    // So does the back button.
    await page.goBack();
    await page.getByRole('button', { name: 'Next question' }).click();
    await page.waitForURL(/question$/);
    assert.deepEqual((await outcomesOf(dan)).length, 2);
  });

  test('paused here, carried on elsewhere, with what was filled in', async () => {
    const eve = await invited(service, org);
    const { page } = await openPage({ width: 360 });
    await page.goto(addressOf(eve));
    await starts(page);
    await answerByKeyboard(page, (await currentOf(eve)).answer);
    await answerByKeyboard(page, (await currentOf(eve)).answer, 'pause');
    await isSound(page, 'paused');
    const { page: elsewhere } = await openPage({ width: 1280 });
    await elsewhere.goto(addressOf(eve));
    await Promise.all([elsewhere.waitForURL(/question$/), elsewhere.getByRole('button', { name: 'Carry on' }).click()]);
    assert.match(await elsewhere.locator('h1').innerText(), /^Question 2/);
    await elsewhere.getByRole('button', { name: 'Next question' }).click();
    await elsewhere.locator('h1', { hasText: /^\s*Question 3/ }).waitFor();
    assert.deepEqual(await outcomesOf(eve), ['right', 'right', null]);
  });

  test('skipping: asked first, and the way back keeps the answer', async () => {
    const fay = await invited(service, org);
    const { page } = await openPage({ width: 320 });
    await page.goto(addressOf(fay));
    await starts(page);
    await answerByKeyboard(page, (await currentOf(fay)).answer, 'skip');
    await isSound(page, 'skip');
    await pressByKeyboard(page, 'Go back and answer');
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Next question' }).click()]);
    assert.deepEqual(await outcomesOf(fay), ['right', null]);
  });

  test('an error has the focus, and its link leads to the field', async () => {
    const gil = await invited(service, org);
    const { page } = await openPage({ width: 320 });
    await page.goto(addressOf(gil));
    await starts(page);
    for (;;) {
      const { kind, answer } = await currentOf(gil);
      const [name, value] = Object.entries(answer)[0]!;
      if (kind !== 'matching' && kind !== 'ordering') {
        await answerByKeyboard(page, answer);
        continue;
      }
      await answerByKeyboard(page, { [name]: value });
      break;
    }
    await page.locator('.error:focus').waitFor();
    await isSound(page, 'error');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('select:focus').waitFor();
  });

  test('without script: the same pages, the same answers', async () => {
    const hal = await invited(service, org);
    const { page } = await openPage({ width: 360, script: false });
    await page.goto(addressOf(hal));
    await starts(page);
    assert.equal(await page.locator('#read').isVisible(), false);
    await page.getByRole('button', { name: 'Next question' }).click();
    assert.match(await page.locator('h1').innerText(), /^Skip question 1/);
    await page.getByRole('button', { name: 'Skip question 1' }).click();
    assert.match(await page.locator('h1').innerText(), /^Question 2/);
    await page.getByRole('button', { name: 'Pause and carry on later' }).click();
    assert.match(await page.locator('h1').innerText(), /paused/);
  });
});
