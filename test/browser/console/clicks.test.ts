import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { recordResults } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { xlsx } from '../../support/workbooks.ts';
import { personOf } from '../../web/console/visitor.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';

/**
 * Counts the clicks of daily jobs. A choice in a list, the choice of a file and Enter in the search count as one click
 * each.
 */
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
    search(text: string) {
      const field = page.getByRole('searchbox', { name: 'Names, references, pages' });
      return counted(field.fill(text).then(() => field.press('Enter')));
    },
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
    const admin = await personOf(service, org.id, 'admin');
    const { page, complaints } = await openPage({ width: 1280 });
    const [name, value] = admin.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(`${service.url}/console/${org.publicId}`);
    return { org, page, complaints, clicks: clicksOf(page) };
  }
  /** Ana and Ben of a cohort each have two results and an open invitation, and a platform has read the results. */
  async function withAna() {
    const start = await atTheStart();
    const { org } = start;
    for (const [ref, full_name] of [
      ['LRN-1', 'Ana Silva'],
      ['LRN-2', 'Ben Mills'],
    ])
      await org.post('/learners', { ref, full_name, groups: [{ type: 'cohort', ref: 'jan', name: 'January cohort' }] });
    await service.withUnitOfWork((work) =>
      recordResults(work, org.id, [
        { ref: 'LRN-1', level: 2, assessed_at: '2026-01-05T10:00:00Z' },
        { ref: 'LRN-1', level: 3, assessed_at: '2026-06-05T10:00:00Z' },
        { ref: 'LRN-2', level: 2, assessed_at: '2026-06-05T10:00:00Z' },
      ]),
    );
    await org.post('/groups', { type: 'campus', ref: 'north', name: 'North campus' });
    await org.get('/assessments');
    return start;
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

  test('invite one learner: 2', async () => {
    const { page, clicks } = await atTheStart();
    await clicks.link('Invite one learner');
    await page.getByLabel('Full name').fill('Ana Silva');
    await clicks.button('Invite learner');
    await page.getByText('The learner is invited.').waitFor();
    assert.equal(clicks.count(), 2);
  });

  test('find a result by name: 2', async () => {
    const { page, clicks } = await withAna();
    await clicks.search('ana sil');
    await look(page, 'search');
    await clicks.link('Maths: Level 1');
    await heading(page, 'Maths: Level 1');
    assert.equal(clicks.count(), 2);
    await look(page, 'result');
  });

  test('withdraw a result: 4', async () => {
    const { page, clicks } = await withAna();
    await clicks.search('ana sil');
    await clicks.link('Maths: Level 1');
    await clicks.link('Withdraw result');
    await page.getByLabel('Reason').fill('Wrong learner');
    await clicks.button('Withdraw result');
    await page.getByText('The result is withdrawn.').waitFor();
    assert.equal(clicks.count(), 4);
  });

  test('cancel an invitation: 4', async () => {
    const { page, clicks } = await withAna();
    const start = page.url();
    await clicks.link('Invite one learner');
    await page.getByLabel('Full name').fill('Cem Kaya');
    await clicks.button('Invite learner');
    await page.getByText('The learner is invited.').waitFor();
    await page.goto(start);
    const { search, link, button, count } = clicksOf(page);
    await search('cem');
    await link('Cem Kaya');
    await look(page, 'learner');
    await link('Cancel invitation');
    await button('Cancel invitation');
    await page.getByText('The invitation is cancelled').waitFor();
    assert.equal(count(), 4);
  });

  test('create a key for one group, with a last day: 4', async () => {
    const { page, clicks } = await withAna();
    await clicks.menu('Keys');
    await clicks.link('Create key');
    await page.getByLabel('Label').fill('E-portfolio');
    await page.getByLabel('Last day').fill('2030-01-31');
    await clicks.press(page.getByLabel(/January cohort/));
    await clicks.button('Create key');
    await heading(page, 'The key is created');
    assert.equal(clicks.count(), 4);
  });

  test('register a webhook endpoint: 3', async () => {
    const { page, clicks } = await atTheStart();
    await clicks.menu('Webhooks');
    await clicks.link('Register webhook endpoint');
    await page.getByLabel('URL').fill('https://platform.example/hook');
    await clicks.button('Register webhook endpoint');
    await heading(page, 'The webhook endpoint is registered');
    assert.equal(clicks.count(), 3);
  });

  test('why has the platform not got Ana’s result: 3', async () => {
    const { page, clicks } = await withAna();
    await clicks.search('ana sil');
    await clicks.link('Maths: Level 1');
    await clicks.press(page.getByRole('main').getByRole('link', { name: /^Trace result/ }));
    await heading(page, 'Trace result');
    await page.getByRole('table', { name: /^Keys/ }).waitFor();
    assert.equal(clicks.count(), 3);
  });

  test('results of one cohort: 3, by the filter and by search', async () => {
    const { page, clicks } = await withAna();
    const start = page.url();
    await clicks.menu('Results');
    await clicks.choose('Group', 'January cohort');
    await clicks.button('Filter');
    await page.getByText('Total 3').waitFor();
    assert.equal(clicks.count(), 3);
    await page.goto(start);
    const again = clicksOf(page);
    await again.search('january');
    await again.link('January cohort');
    await again.press(page.getByRole('main').getByRole('link', { name: 'Results', exact: true }));
    await page.getByText('Total 3').waitFor();
    assert.equal(again.count(), 3);
  });

  test('export results: 2', async () => {
    const { page, clicks } = await withAna();
    await clicks.link('Export results');
    const coming = page.waitForEvent('download');
    await clicks.button('Download file');
    assert.match((await coming).suggestedFilename(), /xlsx$/);
    assert.equal(clicks.count(), 2);
  });

  test('erase a learner: 4', async () => {
    const { page, clicks } = await withAna();
    await clicks.search('ana sil');
    await clicks.link('Ana Silva');
    await clicks.link('Erase learner');
    await clicks.button('Erase learner');
    await heading(page, 'The learner is erased');
    assert.equal(clicks.count(), 4);
  });

  test('distance travelled of a cohort: 2', async () => {
    const { page, clicks } = await withAna();
    await clicks.menu('Distance travelled');
    await clicks.link('January cohort');
    await heading(page, 'Distance travelled: January cohort');
    await page.getByRole('row', { name: /Ana Silva/ }).waitFor();
    assert.equal(clicks.count(), 2);
  });
});
