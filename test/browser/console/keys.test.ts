import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { personOf } from '../../web/console/visitor.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard } from '../keyboard.ts';

suite('keys in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield Adult Learning and Skills Service' });
  for (const ref of ['A very long reference of a cohort that nobody would choose', 'C2'])
    await org.post('/groups', { type: 'cohort', ref, name: `The cohort ${ref}` });
  for (let i = 0; i < limits.groupsListed; i++)
    await org.post('/groups', { type: 'class', ref: `K${i}`, name: `Class ${i}` });

  for (const [width, script] of [
    [320, false],
    [320, true],
    [1280, true],
  ] as const)
    test(`made, used, rolled and the old one revoked at ${width} px, ${script ? 'with' : 'without'} script`, async () => {
      const owner = await personOf(service, org.id, 'owner');
      const { page, complaints } = await openPage({ width, script, colorScheme: width === 320 ? 'dark' : 'light' });
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        if (script) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      const [cookie, value] = owner.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      await page.goto(`${service.url}/console/${org.publicId}/keys`);
      await isSound('keys');
      await page.getByRole('link', { name: 'Create key' }).press('Enter');
      await pressByKeyboard(page, 'Create key');
      await page.getByRole('alert').waitFor();
      await isSound('a form with a fault');
      await page.getByLabel('Label').fill(`Platform ${width} ${script}`);
      // Enter in the search looks for groups, and keeps what was typed.
      await page.getByLabel('Reference or name').fill('long reference');
      await page.keyboard.press('Enter');
      await page.getByLabel(/^The cohort A very long/).press('Space');
      await page.getByLabel('Type').selectOption('cohort');
      await page.getByLabel('Reference or name').fill('C2');
      await pressByKeyboard(page, 'Search groups');
      await page.getByLabel(/^The cohort C2/).press('Space');
      await isSound('groups that were found');
      await page.getByLabel(/^The cohort A very long/).press('Space');
      await pressByKeyboard(page, 'Create key');
      const first = await shownPair(page);
      await isSound('a secret');
      assert.equal((await service.client(first).get('/assessments')).status, 200);
      await page.getByRole('link', { name: 'Key', exact: true }).press('Enter');
      await page.getByRole('heading', { name: 'Where it was used' }).waitFor();
      await isSound('a key');
      await page.getByRole('link', { name: 'Rotate key' }).press('Enter');
      await isSound('rolling');
      await pressByKeyboard(page, 'Rotate key');
      const second = await shownPair(page);
      assert.equal((await service.client(second).get('/groups')).status, 200);
      await page.goto(`${service.url}/console/${org.publicId}/keys/${first.access_key_id}`);
      await page.getByText('Last request with this key').waitFor();
      await isSound('a key that was rolled');
      await page.getByRole('link', { name: 'Revoke key' }).press('Enter');
      await isSound('revoking');
      await pressByKeyboard(page, 'Revoke key');
      await page.getByRole('status').waitFor();
      await isSound('keys after a revocation');
      assert.equal((await service.client(first).get('/health')).status, 401);
      assert.equal((await service.client(second).get('/health')).status, 200);
      await page.getByRole('link', { name: 'Create set-up link' }).press('Enter');
      await page.getByLabel('Label').fill('Vendor');
      await isSound('the form of a link');
      await pressByKeyboard(page, 'Create set-up link');
      const link = await page.getByLabel('Link').inputValue();
      await isSound('a link');
      await page.context().clearCookies();
      await page.goto(link);
      await isSound('what a link offers');
      await pressByKeyboard(page, 'Create key');
      await page.getByRole('heading', { name: 'Your access key' }).waitFor();
      await isSound('what a link made');
      await page.goto(link);
      await isSound('a link that was used');
      assert.deepEqual(
        complaints.filter((one) => !/404|410|422/.test(one)),
        [],
      );
    });
});

async function shownPair(page: Page) {
  const secret = await page.getByLabel('Secret access key').inputValue();
  return { access_key_id: await page.getByLabel('Access key ID').inputValue(), secret_access_key: secret };
}
