import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { personOf } from '../../web/console/visitor.ts';
import { answer } from '../../integrations/webhooks/receiver.ts';
import { withScene } from '../../integrations/webhooks/scene.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard } from '../keyboard.ts';

suite('webhooks in a browser', { skip: withoutBrowser }, async () => {
  const scene = await withScene({ ARS_WEBHOOK_RETRY_SCHEDULE: '1s' });
  const { service, organisation: org } = scene;
  const worker = scene.worker();
  const base = `${service.url}/console/${org.publicId}`;

  for (const [width, script] of [
    [320, false],
    [320, true],
    [1280, true],
  ] as const)
    test(`a dead delivery is found and sent again at ${width} px, ${script ? 'with' : 'without'} script`, async () => {
      const endpoint = await scene.endpoint({ behaviour: answer(500) });
      await scene.emit(Array.from({ length: 3 }, (_, n) => `learner-${n}`));
      for (let i = 0; i < 2; i++) {
        await scene.settle(worker);
        scene.clock.advance(3600_000);
      }
      const owner = await personOf(service, org.id, 'owner');
      const { page, complaints } = await openPage({ width, script, colorScheme: width === 320 ? 'dark' : 'light' });
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        if (script) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      const [cookie, value] = owner.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      await page.goto(`${base}/webhooks`);
      await isSound('webhooks');
      await page.getByRole('link', { name: '3', exact: true }).press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor();
      await isSound('deliveries');
      await page
        .getByRole('link', { name: /joins or leaves/ })
        .first()
        .press('Enter');
      await page.getByRole('heading', { name: 'Attempts' }).waitFor();
      await page.getByText('Request', { exact: true }).first().click();
      await isSound('a delivery');
      endpoint.receiver.behave(answer(204));
      await pressByKeyboard(page, 'Send again');
      await page.getByRole('status').waitFor();
      await scene.settle(worker);
      await page.goto(`${base}/deliveries?status=dead&endpoint=${endpoint.id}`);
      await page
        .getByRole('checkbox', { name: /^Choose/ })
        .first()
        .press('Space');
      await pressByKeyboard(page, 'Send selected deliveries again');
      await page.getByRole('heading', { name: 'Send 1 delivery again?' }).waitFor();
      await isSound('a confirmation');
      await page.goto(`${base}/resends/create?endpoint=${endpoint.id}`);
      await isSound('choosing');
      await pressByKeyboard(page, 'Count dead letters');
      await page.getByRole('heading', { name: 'Send 2 deliveries again?' }).waitFor();
      await pressByKeyboard(page, 'Send 2 deliveries again');
      await page.getByText('Started').waitFor();
      await isSound('being sent again');
      // The script shows the progress by itself.
      if (script) await page.getByText('2 of 2').waitFor();
      while ((await page.getByText('2 of 2').count()) === 0) await page.reload();
      await scene.settle(worker);
      assert.ok((await scene.deliveries(endpoint)).every(({ status }) => status === 'succeeded'));
      await page.goto(`${base}/webhooks/${endpoint.id}`);
      await page.getByRole('table', { name: /Attempts by hour/ }).waitFor();
      await isSound('an endpoint with its chart');
      for (const path of ['edit', 'rotate', 'remove']) {
        await page.goto(`${base}/webhooks/${endpoint.id}/${path}`);
        await isSound(path);
      }
      await page.goto(`${base}/webhooks/create`);
      await isSound('registering');
      assert.deepEqual(
        complaints.filter((one) => !/404|422/.test(one)),
        [],
      );
    });
});
