import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { resultToken } from '../../src/sittings/result-link.ts';
import { personOf } from '../web/console/visitor.ts';
import { withService } from '../support/service.ts';
import { invited } from '../sittings/learner.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';
import { pressByKeyboard } from './keyboard.ts';

suite('a review in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService({ own: 'Knows the random values.', random: seededRandom('review in a browser') });
  const org = await service.organisation({ name: 'Northfield Adult Learning' });

  async function isSound(page: Page, what: string, script = true): Promise<void> {
    assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
    if (script) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
  }

  for (const script of [true, false])
    test(`a learner asks, somebody decides, and the learner reads it: at 320 px, ${script ? 'with' : 'without'} script`, async () => {
      const ana = await invited(service, org, { name: 'Ana Silva', ref: `A-${script}`, theta: 0.1 });
      const sitting = await ana.sits();
      const address = `${service.url}/result/${resultToken(service.app, sitting)}`;
      const { page, complaints } = await openPage({ width: 320, script });
      await page.goto(address);
      await isSound(page, 'a result', script);
      const text = page.getByLabel('What should they know?');
      await text.fill('My number is QQ 12 34 56 C');
      await pressByKeyboard(page, 'Ask for a person’s review');
      await page.getByRole('alert').waitFor();
      await isSound(page, 'a result with a fault', script);
      assert.doesNotMatch(await page.content(), /12 34 56/);
      await page.getByLabel('What should they know?').fill('The sound was off.');
      await pressByKeyboard(page, 'Ask for a person’s review');
      await page.getByRole('heading', { name: 'You asked for a person to look at it' }).waitFor();
      await isSound(page, 'a request that waits', script);

      const owner = await personOf(service, org.id, 'owner');
      const { page: console } = await openPage({ width: script ? 320 : 1280, script });
      const [name, value] = owner.cookie!.split('=') as [string, string];
      await console.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      await console.goto(`${service.url}/console/${org.publicId}`);
      await console.getByRole('link', { name: /asks? for a human review/ }).click();
      await isSound(console, 'the queue', script);
      await console.getByRole('link', { name: 'Ana Silva' }).first().click();
      assert.match(await console.locator('main').innerText(), /The sound was off\./);
      await isSound(console, 'a result to look at', script);
      const here = console.url().replace(/\?.*$/, '');
      for (const path of ['place', 'amend', 'withdraw', 'questions/1', 'questions/2', 'questions/3']) {
        await console.goto(`${here}/${path}`);
        await isSound(console, path, script);
      }
      await console.goto(here);
      await pressByKeyboard(console, 'Confirm result');
      await console.getByRole('alert').waitFor();
      await isSound(console, 'a decision with a fault', script);
      await console.getByLabel('Answer to the learner').fill('We looked at every answer: it stands.');
      await pressByKeyboard(console, 'Confirm result');
      await console.getByRole('status').waitFor();

      await page.goto(address);
      await page.getByRole('heading', { name: 'What came of your request' }).waitFor();
      assert.match(await page.locator('main').innerText(), /We looked at every answer: it stands\./);
      await isSound(page, 'an answer', script);
      assert.deepEqual(
        complaints.filter((one) => !/404|422/.test(one)),
        [],
      );
    });
});
