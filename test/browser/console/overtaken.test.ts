import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { personOf } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard } from '../keyboard.ts';

suite('a form that somebody else was quicker with, in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield College' });
  const base = `/console/${org.publicId}`;
  const owner = await personOf(service, org.id, 'owner');
  const admin = await personOf(service, org.id, 'admin');

  for (const width of [360, 1280])
    test(`says what is there now and keeps what was typed, at ${width} px`, async () => {
      const { page } = await openPage({ width, script: true, colorScheme: width === 360 ? 'dark' : 'light' });
      const [cookie, value] = owner.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      const isSound = async () => {
        assert.deepEqual(await overhanging(page), []);
        assert.deepEqual(await axeFaults(page), []);
      };
      await page.goto(`${service.url}${base}/settings`);
      await page
        .getByLabel('Name of the organisation')
        .fill(`Northfield and Riverside College of Further Education ${width}`);
      await admin.fill(`${base}/settings`, { contact: `01632 960 ${width}, Monday to Friday from 9 to 5` });
      await pressByKeyboard(page, 'Save');
      await page.getByRole('table', { name: 'Fields that differ' }).waitFor();
      await isSound();
      await pressByKeyboard(page, 'Save');
      await page.getByText('The settings are saved').waitFor();
      const retention = `${base}/data-protection/retention`;
      await page.goto(service.url + retention);
      await page.getByLabel('Answers that were typed').fill('36');
      await admin.fill(retention, { learners: String(width / 10), automatic: 'on' });
      await pressByKeyboard(page, 'Save');
      await page.getByRole('table', { name: 'Fields that differ' }).waitFor();
      assert.equal(await page.getByLabel('Answers that were typed').inputValue(), '36');
      await isSound();
    });
});
