import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { inviteUser } from '../../../src/organisations/users/invitations.ts';
import { startProvider } from '../../web/console/sign-in/provider.ts';
import { personOf } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import { trustTestAuthority } from '../../integrations/webhooks/receiver.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { goByMenu, pressByKeyboard } from '../keyboard.ts';

suite('single sign-on in a browser', { skip: withoutBrowser }, async () => {
  trustTestAuthority();
  const service = await withService({
    own: 'Calls addresses of this machine.',
    settings: { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8, ::1/128' },
  });
  const issuer = await startProvider(`${service.url}/console/sso/callback`);
  const org = await service.organisation({ name: 'Northfield College' });
  const base = `/console/${org.publicId}`;
  const owner = await personOf(service, org.id, 'owner');
  await owner.fill(`${base}/sso`, {
    issuer,
    client_id: 'console',
    client_secret: 'secret-of-the-console',
    tenant: '',
  });

  /** Through the provider's own pages: a name, and the consent where it is asked for. */
  async function atTheProvider(page: Page, login: string): Promise<void> {
    assert.ok(page.url().startsWith(issuer), page.url());
    await page.locator('input[name=login]').fill(login);
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.waitForURL((url) => url.href.startsWith(service.url) || /interaction/.test(url.pathname));
    if (!page.url().startsWith(service.url)) await page.locator('button[type=submit]').click();
    await page.waitForURL(`${service.url}/**`);
  }

  for (const width of [320, 1280])
    test(`invited, signed out, signed in again and proved anew at ${width} px, ${width === 1280 ? 'with' : 'without'} script`, async () => {
      const made = await service.withUnitOfWork((work) =>
        inviteUser(work, org.id, {
          email: `ana-${width}@college.example`,
          role: 'admin',
          invitedBy: 'operator',
          again: true,
        }),
      );
      const { page } = await openPage({ width, script: width === 1280, anyCertificate: true });
      // The provider's pages ask for a font from elsewhere.
      await page.context().route(
        (url) => !/^(127\.0\.0\.1|localhost)$/.test(url.hostname),
        (route) => route.abort(),
      );
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        if (width === 1280) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      const host = new URL(issuer).host;
      await page.goto(`${service.url}/console/invitation/${(made as { token: string }).token}`);
      await isSound('the invitation');
      await pressByKeyboard(page, `Sign in at ${host}`);
      await atTheProvider(page, `ana-${width}`);
      assert.equal(new URL(page.url()).pathname, base);
      await isSound('the start');
      await pressByKeyboard(page, 'Sign out');
      await page.getByRole('status').waitFor();
      await page.context().clearCookies({ domain: 'localhost' });
      await page.goto(`${service.url}/console/sso/sign-in/${org.publicId}`);
      await atTheProvider(page, `ana-${width}`);
      assert.equal(new URL(page.url()).pathname, base);
      // From a page of another site, and with a session that would end: it is asked for first.
      await page.goto(`${issuer}/.well-known/openid-configuration`);
      await page.evaluate(`location.href = ${JSON.stringify(`${service.url}/console/sso/sign-in/${org.publicId}`)}`);
      await page
        .getByRole('heading', { level: 1, name: 'Sign in through Northfield College’s identity provider?' })
        .waitFor();
      await isSound('whether that is meant');
      await pressByKeyboard(page, 'Sign in');
      await page.waitForURL((url) => url.href.startsWith(issuer) || url.pathname.startsWith(base));
      if (page.url().startsWith(issuer)) await atTheProvider(page, `ana-${width}`);
      await page.goto(`${service.url}${base}`);
      await goByMenu(page, 'Organisation', 'People');
      await page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
      await page.goto(`${service.url}/console/confirm?to=${encodeURIComponent(`${base}/keys`)}`);
      await isSound('a fresh proof');
      await pressByKeyboard(page, 'Sign in again');
      if (page.url().startsWith(issuer)) await atTheProvider(page, `ana-${width}`);
      await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    });
});
