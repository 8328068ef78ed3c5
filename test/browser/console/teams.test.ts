import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard, typeByKeyboard } from '../keyboard.ts';

/** A team is made, staffed, filled by pasting, and moved: by keyboard, without script, and looked at with axe. */
suite('teams in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const scene = await scenario(service);
  const { org } = scene;
  const base = `${service.url}/console/${org.publicId}`;
  for (const ref of ['LRN-1', 'LRN-2', 'LRN-3']) await scene.learner(ref, `Person ${ref}`);

  const signedIn = async (page: Page, cookie: string) => {
    const [name, value] = cookie.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
  };
  const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();

  async function makeTeam(page: Page, team: string): Promise<void> {
    await page.goto(`${base}/teams`);
    await pressByKeyboard(page, 'Create team');
    await typeByKeyboard(page, 'Name', team);
    await typeByKeyboard(page, 'Reference', team.toUpperCase());
    await pressByKeyboard(page, 'Create team');
    assert.equal(await heading(page), team);
  }

  test('a team is moved from one tutor to another, at 320 px, by keyboard, without script', async () => {
    const admin = await personOf(service, org.id, 'admin');
    const tutor = await personOf(service, org.id, 'tutor', { name: 'Tamsin Tutor' });
    const { page } = await openPage({ width: 320, script: false });
    await signedIn(page, admin.cookie!);
    await makeTeam(page, 'South');
    await pressByKeyboard(page, 'Add staff');
    await page.getByLabel('Tamsin Tutor').press('Space');
    await pressByKeyboard(page, 'Add staff');
    await page.getByRole('status').waitFor();
    await makeTeam(page, 'North');
    await pressByKeyboard(page, 'Add learners');
    await page.getByLabel('References of the learners').fill('LRN-1\nLRN-2\nLRN-9');
    assert.deepEqual(await overhanging(page), []);
    await pressByKeyboard(page, 'Check references');
    assert.equal(await heading(page), 'Add 2 learners to North?');
    assert.match(await page.locator('main').innerText(), /No learner has the reference LRN-9/);
    assert.deepEqual(await overhanging(page), []);
    await pressByKeyboard(page, 'Add learners');
    assert.equal(await heading(page), 'Memberships are changed');
    await pressByKeyboard(page, 'North');
    await pressByKeyboard(page, 'Move all learners');
    await page.getByLabel('New group').selectOption({ label: 'South (SOUTH)' });
    await pressByKeyboard(page, 'Move learners');
    assert.match(await page.locator('main').innerText(), /2 of 2 learners/);

    const { page: theirs } = await openPage({ width: 320, script: false });
    await signedIn(theirs, tutor.cookie!);
    await theirs.goto(`${base}/teams`);
    await pressByKeyboard(theirs, 'South');
    const seen = await theirs.locator('main').innerText();
    assert.match(seen, /Person LRN-1/);
    assert.match(seen, /Person LRN-2/);
    assert.doesNotMatch(seen, /LRN-3/);
  });

  for (const [width, colorScheme] of [
    [320, 'dark'],
    [1280, 'light'],
  ] as const)
    test(`every page of a group and a team at ${width} px, ${colorScheme}: axe clean, nothing past the edge`, async () => {
      const admin = await personOf(service, org.id, 'admin');
      const cohort = await scene.group(`A-reference-that-is-rather-long-${width}`);
      await org.post(`/groups/${cohort.id}/members`, { learner_refs: ['LRN-3'] });
      const { page, complaints } = await openPage({ width, colorScheme });
      await signedIn(page, admin.cookie!);
      await page.goto(`${base}/teams`);
      const teams = await page
        .locator('main table a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')!));
      const team = teams[0]!.split('/').at(-1)!;
      const isSound = async (what: string) => {
        assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
        assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
      };
      for (const path of [
        'groups',
        `groups/${cohort.id}`,
        ...['history', 'rename', 'archive', 'add', 'take-out', 'move-all'].map((one) => `groups/${cohort.id}/${one}`),
        'teams',
        `teams/${team}`,
        `teams/${team}/staff`,
      ]) {
        await page.goto(`${base}/${path}`);
        await isSound(path);
      }
      await page.goto(`${base}/groups/${cohort.id}/add`);
      await page.getByLabel('References of the learners').fill('LRN-1\nNobody Known\nx@y.example');
      await page.getByRole('button', { name: 'Check references' }).click();
      await isSound('a paste with faults');
      await page.getByRole('button', { name: 'Add learners' }).click();
      await isSound('a run');
      await page.goto(`${base}/groups/${cohort.id}`);
      await page.getByLabel('Choose LRN-3').check();
      await page.getByRole('button', { name: 'Remove selected learners' }).click();
      await isSound('taking out');
      assert.deepEqual(
        complaints.filter((one) => !/40[34]|422/.test(one)),
        [],
      );
    });
});
