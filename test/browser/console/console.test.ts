import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { addressOf } from '../../../src/web/console/kit/route.ts';
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { grantSandbox } from '../../../src/sandbox/own.ts';
import { inviteUser } from '../../../src/organisations/users/invitations.ts';
import { totpCode } from '../../../src/organisations/users/totp.ts';
import { personOf, password } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, lostControls, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard } from '../keyboard.ts';

suite('the console in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield Adult Learning and Skills Service' });

  const by = { actor: 'operator', action: 'sandbox grant', requestId: service.app.random.uuid() };
  const sandbox = await grantSandbox(service.app, await readOrganisation(service.app.db, org.id), by);

  /** axe needs script in the page: where that is off, another test looks. */
  async function isSound(page: Page, what: string, script = true): Promise<void> {
    assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
    if (script) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
  }

  const signedIn = async (page: Page, cookie: string) => {
    const [name, value] = cookie.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
  };

  for (const script of [true, false])
    test(`a first sign-in with a second factor by keyboard, ${script ? 'with' : 'without'} script, at 320 px`, async () => {
      const made = await service.withUnitOfWork((work) =>
        inviteUser(work, org.id, {
          email: `ana-${script}@college.example`,
          role: 'owner',
          invitedBy: 'operator',
          again: true,
        }),
      );
      const { page, complaints } = await openPage({ width: 320, script });
      await page.goto(`${service.url}/console/invitation/${(made as { token: string }).token}`);
      await isSound(page, 'invitation', script);
      await page.getByLabel('Your name').focus();
      await page.keyboard.type('Ana Silva');
      await page.getByLabel('Password').focus();
      await page.keyboard.type('too short');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await isSound(page, 'invitation with a fault', script);
      await page.getByRole('link', { name: /^The password/ }).press('Enter');
      await page.keyboard.press('Tab');
      await page.getByLabel('Password').fill(password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Set up second factor' }).waitFor();
      await isSound(page, 'second factor', script);
      const secret = (await page.locator('.totp code').innerText()).replaceAll(' ', '');
      await page.getByLabel('Code', { exact: true }).fill(totpCode(secret, service.app.clock.nowMs()));
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Save your recovery codes' }).waitFor();
      await isSound(page, 'recovery codes', script);
      await pressByKeyboard(page, 'I have saved the codes');
      await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
      await pressByKeyboard(page, 'Sign out');
      await page.getByRole('status').waitFor();
      await isSound(page, 'signed out', script);
      assert.deepEqual(
        complaints.filter((one) => !/40[34]|422/.test(one)),
        [],
      );
    });

  test('every page at 320 px in light and at 1280 px in dark colours: axe clean, nothing past the edge, no control lost', async () => {
    const owner = await personOf(service, org.id, 'owner', { name: 'Wilhelmina-Alexandrina Featherstonehaugh' });
    await service.withUnitOfWork((work) =>
      inviteUser(work, org.id, { email: 'cy@college.example', role: 'tutor', invitedBy: 'operator', again: true }),
    );
    const { page, complaints } = await openPage({ width: 320 });
    await signedIn(page, owner.cookie!);
    const isSoundInBoth = async (what: string) => {
      for (const [width, colorScheme] of [
        [320, 'light'],
        [1280, 'dark'],
      ] as const) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        await isSound(page, `${what} at ${width} px, ${colorScheme}`);
        assert.deepEqual(await lostControls(page), [], `${what} at ${width} px, ${colorScheme}`);
      }
    };
    for (const route of consoleRoutes) {
      if (route.method !== 'GET' || route.path.includes('{token}')) continue;
      const path = addressOf(route)
        .replace('{organisation}', org.publicId)
        .replace(/\{\w+\}/g, owner.userId);
      const answer = await page.goto(service.url + path);
      if (answer!.status() === 404) continue;
      await isSoundInBoth(path);
    }
    // What the table of pages doesn't show by itself: forms that were not taken, and a sandbox.
    for (const [path, button] of [
      ['people/invite', 'Invite person'],
      ['sso', 'Save'],
    ] as const) {
      await page.goto(`${service.url}/console/${org.publicId}/${path}`);
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('alert').waitFor();
      await isSoundInBoth(`${path} with faults`);
      await page.emulateMedia({ forcedColors: 'active' });
      assert.deepEqual(await lostControls(page), [], `${path} in colours of the reader`);
      await page.emulateMedia({ forcedColors: 'none' });
    }
    await page.goto(`${service.url}/console/${sandbox}/test-result`);
    await isSoundInBoth('test result');
    await page.getByRole('button', { name: 'Create test result' }).click();
    await page.getByRole('status').waitFor();
    await isSoundInBoth('sandbox');
    for (const path of ['/console/sign-in', '/console/sign-in/code', `/console/${org.publicId}/nowhere`]) {
      await page.context().clearCookies();
      await page.goto(service.url + path);
      await isSoundInBoth(path);
    }
    assert.deepEqual(
      complaints.filter((one) => !/40[34]|422/.test(one)),
      [],
    );
  });
});
