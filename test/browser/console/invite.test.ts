import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { personOf } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard } from '../keyboard.ts';

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
      page
        .getByLabel('Workbook (XLSX or ODS) or CSV file')
        .setInputFiles({ name: 'learners.csv', mimeType: 'text/csv', buffer });
    await choose(Buffer.from('PK\u0003\u0004\0\0'));
    await pressByKeyboard(page, 'Check rows');
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /damaged or has a password/);
    await choose(Buffer.from('Name;Student number\r\nZo\xeb M\xfcller;A-1\r\n', 'latin1'));
    await pressByKeyboard(page, 'Check rows');
    await page.getByRole('heading', { level: 1, name: 'Invite 1 learner?' }).waitFor();
    assert.match(await page.getByRole('main').innerText(), /Zoë Müller/);
    await page.getByRole('link', { name: 'Cancel' }).click();
    await pressByKeyboard(page, 'Discard table');
    await page.getByRole('status').waitFor();
  });

  test('what is asked about rows, and about one learner, is answered at both widths', async () => {
    const org = await service.organisation();
    await org.post('/learners', { full_name: 'Ana Silva' });
    const admin = await personOf(service, org.id, 'admin');
    const [cookie, value] = admin.cookie!.split('=') as [string, string];
    for (const width of [390, 1280]) {
      const { page } = await openPage({ width });
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
      const look = async (name: string) => {
        assert.deepEqual([await overhanging(page), await axeFaults(page)], [[], []], `${name} ${width}`);
        if (process.env.SHOTS !== undefined)
          await page.screenshot({ path: `${process.env.SHOTS}/${name}-${width}.png`, fullPage: true });
      };
      await page.goto(`${service.url}/console/${org.publicId}/invite`);
      await page.getByLabel('Rows from a spreadsheet').fill(`A-${width}\tSeÃ¡n Oâ€™Dell\n\tAna Silva`);
      await pressByKeyboard(page, 'Check rows');
      await page.getByRole('heading', { level: 1, name: '2 rows need confirming' }).waitFor();
      await look('asked');
      await page.getByLabel('Row 1: SeÃ¡n Oâ€™Dell').selectOption('Correct it: Seán O’Dell');
      await pressByKeyboard(page, 'Confirm rows');
      await page.getByRole('link', { name: 'Choose what to do with row 2.' }).waitFor();
      await look('unanswered');
      await page.getByLabel('Row 2: Ana Silva').selectOption('Skip this row');
      await pressByKeyboard(page, 'Confirm rows');
      await page.getByRole('heading', { level: 1, name: 'Invite 1 learner?' }).waitFor();
      await page.goto(`${service.url}/console/${org.publicId}/invite/one`);
      await page.getByLabel('Full name').fill('Ana Silva');
      await pressByKeyboard(page, 'Invite learner');
      await page.getByRole('alert').waitFor();
      await look('one');
      await page.getByLabel('Full name').fill('?ukasz Marsh');
      await pressByKeyboard(page, 'Invite learner');
      await page.getByLabel('The entry is correct').waitFor();
      await look('damaged');
    }
  });
});
