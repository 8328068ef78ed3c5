import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { personOf } from '../console/visitor.ts';
import { withService } from '../service.ts';
import { openPage, withoutBrowser } from './browser.ts';
import { pressByKeyboard } from './keyboard.ts';

suite('inviting learners in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();

  test('a file is uploaded, and one that is none of ours is refused with a sentence', async () => {
    const org = await service.organisation();
    const admin = await personOf(service, org.id, 'admin');
    const { page } = await openPage({ width: 1280, script: false });
    const [cookie, value] = admin.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(`${service.url}/console/${org.publicId}/invite`);
    const choose = (buffer: Buffer) =>
      page.getByLabel('Or a CSV file').setInputFiles({ name: 'learners.csv', mimeType: 'text/csv', buffer });
    await choose(Buffer.from('PK\u0003\u0004\0\0'));
    await pressByKeyboard(page, 'Check the rows');
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /CSV UTF-8/);
    await choose(Buffer.from('Name;Student number\r\nZo\xeb M\xfcller;A-1\r\n', 'latin1'));
    await pressByKeyboard(page, 'Check the rows');
    await page.getByRole('heading', { level: 1, name: 'Invite 1 learner?' }).waitFor();
    assert.match(await page.getByRole('main').innerText(), /Zoë Müller/);
    await page.getByRole('link', { name: 'Cancel' }).click();
    await pressByKeyboard(page, 'Discard it');
    await page.getByRole('status').waitFor();
  });
});
