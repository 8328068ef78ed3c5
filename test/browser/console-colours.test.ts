// Tier: full. Opens every page of the console in three schemes of colours.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { consoleRoutes } from '../../src/web/console/routes.ts';
import { addressOf } from '../../src/web/console/kit/route.ts';
import { orderResend } from '../../src/integrations/webhooks/resend.ts';
import { personOf } from '../web/console/visitor.ts';
import { answer } from '../integrations/webhooks/receiver.ts';
import { withScene } from '../integrations/webhooks/scene.ts';
import { axeFaults, lostControls, openPage, withoutBrowser } from './browser.ts';

/**
 * Every page of the console in the reader's own colours and in the dark: what has a border keeps it, and what has the focus
 * shows it.
 */

suite('the console in other colours', { skip: withoutBrowser }, async () => {
  const scene = await withScene();
  const { service, organisation: org } = scene;
  /** What isn't a page, or is there in a sandbox or with a provider only. */
  const elsewhere =
    /\{token\}|\/receipt$|^\/sandbox\/reset$|^\/test-result$|^\/sso\/off$|^\/console\/sso\/|^\/console$/;

  async function look(page: Page, path: string): Promise<void> {
    for (const [forcedColors, colorScheme] of [
      ['active', 'light'],
      ['active', 'dark'],
      ['none', 'dark'],
    ] as const) {
      await page.emulateMedia({ forcedColors, colorScheme });
      assert.deepEqual(await lostControls(page), [], `${path}, ${colorScheme}, forced colours: ${forcedColors}`);
      if (forcedColors === 'active' && colorScheme === 'light')
        assert.deepEqual(await axeFaults(page), [], `${path}: axe`);
    }
  }

  test('every page', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    await scene.emit(['ana', 'ben']);
    await scene.settle(worker);
    await org.get('/assessments?foo=1');
    const owner = await personOf(service, org.id, 'owner');
    const colleague = await personOf(service, org.id, 'tutor');
    const [delivery] = await scene.deliveries(endpoint);
    const resend = service.app.random.uuid();
    await service.withUnitOfWork((work) =>
      orderResend(work, org.id, { resendId: resend, by: owner.userId, which: { deliveryIds: [delivery!.id] } }),
    );
    const [call] = await service.app.db.query<{ audit_id: number }>(
      "select audit_id from audit where organisation_id = $1 and action = 'GET /assessments' limit 1",
      [org.id],
    );
    const ids: Record<string, string> = {
      user_id: colleague.userId,
      key_id: org.key.access_key_id,
      endpoint_id: endpoint.id,
      delivery_id: delivery!.id,
      resend_id: resend,
      call: String(call!.audit_id),
    };
    const { page } = await openPage({ width: 1280 });
    const [name, value] = owner.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    let looked = 0;
    for (const route of consoleRoutes) {
      if (route.method !== 'GET' || elsewhere.test(route.path) || route.path.startsWith('/console/sign-in')) continue;
      const params = [...route.path.matchAll(/\{(\w+)\}/g)].map((one) => one[1]!);
      const path = addressOf(route)
        .replace('{organisation}', org.publicId)
        .replace(/\{(\w+)\}/g, (_, param: string) => ids[param] ?? param);
      const { status, headers } = await owner.get(path);
      const isMade = params.length > 0 && params.every((param) => ids[param] !== undefined);
      if (isMade) assert.equal(status, 200, path);
      if (status !== 200 || headers['content-type']?.startsWith('text/html') !== true) continue;
      looked++;
      await page.goto(service.url + path);
      await look(page, path);
    }
    assert.ok(looked >= 30, `${looked} pages`);
    await page.goto(`${service.url}/console/${org.publicId}/people/invite`);
    await page.getByRole('button', { name: 'Invite person' }).click();
    await page.getByRole('alert').waitFor();
    await look(page, 'a form with faults');
    await page.context().clearCookies();
    for (const path of ['/console/sign-in', '/setup/nothing', `/console/${org.publicId}/nowhere`]) {
      await page.goto(service.url + path);
      await look(page, path);
    }
  });
});
