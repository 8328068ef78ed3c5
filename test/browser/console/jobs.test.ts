import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { personOf } from '../../web/console/visitor.ts';
import { answer } from '../../integrations/webhooks/receiver.ts';
import { withScene } from '../../integrations/webhooks/scene.ts';
import { openPage, withoutBrowser } from '../browser.ts';
import { goByMenu, pressByKeyboard, typeByKeyboard } from '../keyboard.ts';

/** Whole jobs from the first page on, with Tab, Enter, Space and typing alone: no address is typed, nothing is clicked. */
suite('whole jobs by keyboard', { skip: withoutBrowser }, async () => {
  const scene = await withScene();
  const { service, organisation: org } = scene;
  const worker = scene.worker();

  async function atTheStart(width: number): Promise<Page> {
    const person = await personOf(service, org.id, 'developer');
    const { page } = await openPage({ width, script: false });
    const [name, value] = person.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(`${service.url}/console`);
    return page;
  }
  const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();
  const shownPair = async (page: Page) => ({
    access_key_id: await page.getByLabel('Access key ID').inputValue(),
    secret_access_key: await page.getByLabel('Secret access key').inputValue(),
  });

  test('a key is made, rolled and the old one revoked', async () => {
    const page = await atTheStart(320);
    await goByMenu(page, 'Integration', 'Keys');
    await pressByKeyboard(page, 'Create key');
    await typeByKeyboard(page, 'Label', 'Portfolio');
    await pressByKeyboard(page, 'Create key');
    const first = await shownPair(page);
    assert.equal((await service.client(first).get('/health')).status, 200);
    scene.clock.advance(60_000);
    await pressByKeyboard(page, 'Key');
    await pressByKeyboard(page, 'Rotate key');
    await pressByKeyboard(page, 'Rotate key');
    const second = await shownPair(page);
    // From the new key's page to the one that it replaces.
    await pressByKeyboard(page, 'Key');
    await pressByKeyboard(page, first.access_key_id);
    await pressByKeyboard(page, 'Revoke key');
    assert.equal(await heading(page), 'Revoke key Portfolio?');
    await pressByKeyboard(page, 'Revoke key');
    await page.getByRole('status').waitFor();
    assert.equal((await service.client(first).get('/health')).status, 401);
    assert.equal((await service.client(second).get('/health')).status, 200);
  });

  test('a dead delivery is found and sent again', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(410) });
    await scene.emit(['ana']);
    await scene.settle(worker);
    endpoint.receiver.behave(answer(204));
    const page = await atTheStart(1280);
    await goByMenu(page, 'Integration', 'Webhooks');
    await pressByKeyboard(page, endpoint.receiver.url);
    await pressByKeyboard(page, 'Enable again');
    await goByMenu(page, 'Integration', 'Webhooks');
    await pressByKeyboard(page, '1');
    assert.equal(await heading(page), 'Deliveries');
    await pressByKeyboard(page, 'A learner joins or leaves groups');
    await pressByKeyboard(page, 'Send again');
    await page.getByRole('status').waitFor();
    await scene.settle(worker);
    assert.deepEqual(
      (await scene.deliveries(endpoint)).map(({ status }) => status),
      ['succeeded'],
    );
  });
});
