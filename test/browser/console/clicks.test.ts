import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { withService } from '../../support/service.ts';
import { xlsx } from '../../support/workbooks.ts';
import { personOf } from '../../web/console/visitor.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';

/** Counts the clicks of daily jobs. A choice in a list and the choice of a file count as one click each. */
export function clicksOf(page: Page) {
  let clicks = 0;
  const counted = async (act: Promise<unknown>) => {
    clicks++;
    await act;
  };
  return {
    press: (target: Locator) => counted(target.click()),
    button: (name: string) => counted(page.getByRole('button', { name, exact: true }).click()),
    link: (name: string) => counted(page.getByRole('link', { name, exact: true }).first().click()),
    menu: (name: string) => counted(page.getByRole('navigation').getByRole('link', { name, exact: true }).click()),
    choose: (label: string, option: string) => counted(page.getByLabel(label, { exact: true }).selectOption(option)),
    file: (label: string, name: string, buffer: Buffer) =>
      counted(page.getByLabel(label).setInputFiles({ name, mimeType: 'application/octet-stream', buffer })),
    count: () => clicks,
  };
}

suite('daily jobs take few clicks', { skip: withoutBrowser }, async () => {
  const service = await withService();

  async function atTheStart() {
    const org = await service.organisation({ plan: 'unlimited' });
    const owner = await personOf(service, org.id, 'owner');
    const { page, complaints } = await openPage({ width: 1280 });
    const [name, value] = owner.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(`${service.url}/console/${org.publicId}`);
    return { org, page, complaints, clicks: clicksOf(page) };
  }
  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();
  async function look(page: Page, name: string) {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      assert.deepEqual([await overhanging(page), await axeFaults(page)], [[], []], `${name} ${width}`);
      if (process.env.SHOTS !== undefined)
        await page.screenshot({ path: `${process.env.SHOTS}/${name}-${width}.png`, fullPage: true });
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  }

  test('invite 60 learners by XLSX: 4', async () => {
    const { page, clicks, complaints } = await atTheStart();
    const rows = Array.from({ length: 60 }, (_, n) => [
      `L-${n}`,
      'Ana',
      `Silva ${'abcdefghij'[n % 10]}${'klmnop'[Math.floor(n / 10)]}`,
    ]);
    await clicks.menu('Invite learners');
    await clicks.file('Workbook', 'class.xlsx', xlsx([['LearnRefNumber', 'GivenNames', 'FamilyName'], ...rows]));
    await clicks.button('Check rows');
    await heading(page, 'Invite 60 learners?');
    await clicks.button('Invite 60 learners');
    await heading(page, /invited/);
    assert.equal(clicks.count(), 4);
    assert.deepEqual(complaints, []);
  });

  test('choose the columns of another system’s table', async () => {
    const { page, clicks } = await atTheStart();
    await clicks.menu('Invite learners');
    await clicks.file(
      'Workbook',
      'class.xlsx',
      xlsx([
        ['Pupil', 'Known as', 'ULN'],
        ['P-1', 'Ana', '9900000042'],
      ]),
    );
    await clicks.button('Check rows');
    await heading(page, 'Choose columns');
    await look(page, 'columns');
    await clicks.choose('Pupil', 'Reference');
    await clicks.choose('Known as', 'Full name');
    await clicks.button('Check rows');
    await heading(page, 'Invite 1 learner?');
    await look(page, 'check');
  });

  test('move 30 learners to another group: 6, and from the list of learners too', async () => {
    const { org, page, clicks } = await atTheStart();
    for (const ref of ['old', 'new']) await org.post('/groups', { type: 'cohort', ref, name: `Cohort ${ref}` });
    for (let n = 0; n < 30; n++)
      await org.post('/learners', {
        ref: `L-${n}`,
        full_name: `Ana Silva ${'abcdefghij'[n % 10]}${'klm'[Math.floor(n / 10)]}`,
        groups: [{ type: 'cohort', ref: 'old', name: 'Cohort old' }],
      });
    await clicks.menu('Groups');
    await clicks.link('Cohort old');
    await clicks.press(page.getByLabel('Select all rows on this page'));
    await clicks.button('Move selected learners');
    await clicks.choose('New group', 'Cohort new (new)');
    await clicks.button('Move learners');
    await heading(page, 'Memberships are changed');
    assert.match(await page.getByRole('main').innerText(), /30 of 30 learners/);
    assert.ok(clicks.count() <= 6, String(clicks.count()));

    await page.getByRole('navigation').getByRole('link', { name: 'Learners', exact: true }).click();
    await look(page, 'learners');
    await page.getByLabel('Select all rows on this page').click();
    await page.getByRole('button', { name: 'Move to group' }).click();
    await look(page, 'move');
    await page.getByLabel('New group').selectOption('Cohort: Cohort old (old)');
    assert.equal(await page.getByLabel('Old group').locator('option:checked').innerText(), 'Cohort: Cohort new (new)');
    await page.getByRole('button', { name: 'Move learners' }).click();
    await heading(page, 'Memberships are changed');
    assert.match(await page.getByRole('main').innerText(), /30 of 30 learners/);
  });
});
