import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { personOf } from '../console/visitor.ts';
import { withService } from '../service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';
import { pressByKeyboard } from './keyboard.ts';

suite('inviting learners in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();

  for (const [width, script, colorScheme] of [
    [1280, true, 'light'],
    [320, false, 'dark'],
  ] as const)
    test(`2,000 rows with three faulty ones, pasted at ${width} px, ${script ? 'with' : 'without'} script`, async () => {
      const org = await service.organisation({ name: `College ${width}`, plan: 'standard', credits: 2500 });
      const owner = await personOf(service, org.id, 'owner');
      await org.post('/learners', { full_name: 'Former Name', ref: 'L-5' });
      const base = `${service.url}/console/${org.publicId}`;
      const { page, complaints } = await openPage({ width, script, colorScheme });
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        if (script) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      const [cookie, value] = owner.cookie!.split('=') as [string, string];
      await page.context().addCookies([{ name: cookie, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);

      const lines = Array.from({ length: 2000 }, (_, i) => [
        `L-${i}`,
        `Learner ${i}`,
        `l${i}@x.example`,
        'cohort: C1 = Cohort',
      ]);
      lines[10]![2] = 'no address';
      lines[700]![0] = 'has a blank';
      lines[1999]![0] = 'L-3';
      await page.goto(`${base}/invite`);
      await isSound('the table');
      await pressByKeyboard(page, 'Check the rows');
      await page.getByRole('alert').waitFor();
      await isSound('nothing pasted');
      await page
        .getByLabel('Rows from a spreadsheet')
        .fill(['Reference\tName\tE-mail\tGroups', ...lines.map((cells) => cells.join('\t'))].join('\n'));
      await pressByKeyboard(page, 'Check the rows');
      await page.getByRole('heading', { level: 1, name: '3 rows need correcting' }).waitFor();
      await isSound('faulty rows');
      const faulty = page.getByRole('table', { name: 'What must be corrected' }).getByRole('row');
      assert.deepEqual(await faulty.locator('th[scope=row]').allInnerTexts(), ['11', '701', '2000']);
      const text = await page.getByLabel('Correct these rows').inputValue();
      const corrected = text
        .replace('no address', 'mended@x.example')
        .replace('has a blank', 'L-700')
        .split('\n')
        .filter((line) => !line.startsWith('2000\t'));
      assert.equal(corrected.length, 3);
      await page.getByLabel('Correct these rows').fill(corrected.join('\n'));
      await pressByKeyboard(page, 'Check again');
      await page.getByRole('heading', { level: 1, name: 'Invite 1,999 learners?' }).waitFor();
      await isSound('right rows');
      assert.match(
        await page.getByRole('main').innerText(),
        /You have them as Former Name: the name of this row will stand/,
      );
      assert.match(await page.getByRole('main').innerText(), /1,998 of the 2,499/);
      await pressByKeyboard(page, 'Invite 1,999 learners');
      await page.getByRole('heading', { level: 1, name: /being invited|are invited/ }).waitFor();
      while ((await page.getByRole('heading', { name: '1,999 learners are invited' }).count()) === 0)
        await page.reload();
      await isSound('the report');
      await page.getByRole('link', { name: 'Links and cards to hand out' }).click();
      await page.getByRole('heading', { level: 1, name: 'Links to hand out' }).waitFor();
      assert.equal(await page.locator('.card').count(), 16);
      await isSound('cards');
      const print = (await page.pdf({ format: 'A4' })).toString('latin1');
      assert.equal(print.match(/\/Type\s*\/Page\b(?!s)/g)!.length, 2, 'eight cards a sheet');
      await page.goto(`${base}/invitations`);
      await isSound('invitations');
      await page.getByRole('checkbox').first().press('Space');
      await page.getByRole('button', { name: 'Links and cards of the chosen ones' }).click();
      assert.equal(await page.locator('.card').count(), 1);
      await page.goto(`${base}/invitations`);
      await page.getByRole('rowheader').first().getByRole('link').click();
      await isSound('an invitation');
      await page.goto(`${base}/invite/one`);
      await isSound('one learner');
      const [{ credits }] = (await service.app.db.query('select credits from organisation where organisation_id = $1', [
        org.id,
      ])) as [{ credits: number }];
      assert.equal(credits, 501);
      const [{ count }] = (await service.app.db.query(
        'select count(*) as count from invitation_run_row where organisation_id = $1 and (cells is not null or ready is not null)',
        [org.id],
      )) as [{ count: number }];
      assert.equal(count, 0);
      assert.deepEqual(
        complaints.filter((one) => !/422/.test(one)),
        [],
      );
    });

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
