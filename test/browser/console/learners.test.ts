import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';
import { pressByKeyboard, typeByKeyboard } from '../keyboard.ts';

suite('learners in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const scene = await scenario(service);
  const { org } = scene;
  const owner = await personOf(service, org.id, 'owner');
  const sitter = await invited(service, org, { ref: 'LRN-1', name: 'Wilhelmina-Alexandrina Featherstonehaugh' });
  const { subject } = await sitter.sits();
  const ana = await scene.learner('LRN-1', 'Wilhelmina-Alexandrina Featherstonehaugh');
  await ana.completes({ subject, level: 2, assessed_at: '2025-03-01T09:00:00Z' });
  await ana.joins(await scene.group('C1'));
  await (await ana.completes({ subject: 'digital', level: 5 })).isAmended();
  const { learner_id: id } = (await org.get('/learners/LRN-1')).body.data;
  const base = `${service.url}/console/${org.publicId}/learners`;

  async function open(given: Parameters<typeof openPage>[0]) {
    const { page, complaints } = await openPage(given);
    const [name, value] = owner.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    return { page, complaints };
  }

  async function isSound(page: Page, what: string, script = true): Promise<void> {
    assert.deepEqual(await overhanging(page), [], `${what}: reaches past the edge`);
    if (script) assert.deepEqual(await axeFaults(page), [], `${what}: axe`);
  }

  for (const [width, colorScheme, forcedColors, script] of [
    [320, 'light', 'none', true],
    [1280, 'dark', 'none', true],
    [1280, 'light', 'active', true],
    [320, 'light', 'none', false],
  ] as const)
    test(`a learner is found, looked at and renamed by keyboard at ${width} px, ${colorScheme}${forcedColors === 'active' ? ', in the reader’s own colours' : ''}${script ? '' : ', without script'}`, async () => {
      const { page, complaints } = await open({ width, colorScheme, forcedColors, script });
      await page.goto(base);
      await isSound(page, 'list', script);
      await typeByKeyboard(page, 'Name or reference', 'feather');
      await pressByKeyboard(page, 'Search');
      assert.equal(page.url(), base, 'what was typed stands in no address');
      await isSound(page, 'search', script);
      await pressByKeyboard(page, 'Wilhelmina-Alexandrina Featherstonehaugh');
      await page.getByRole('heading', { level: 1, name: /^Wilhelmina/ }).waitFor();
      await isSound(page, 'learner', script);
      const chart = page.getByRole('img', { name: /results on the ladder of levels/ });
      const box = (await chart.first().boundingBox())!;
      assert.ok(box.width <= width && box.height > 100);
      for (const dot of await page.locator('.chart .dot').all()) {
        const fill = await dot.evaluate('(one) => getComputedStyle(one).fill').catch(() => 'rgb(1, 1, 1)');
        assert.doesNotMatch(String(fill), /rgba\(0, 0, 0, 0\)|none/);
      }
      await pressByKeyboard(page, 'Correct name');
      await isSound(page, 'name', script);
      await pressByKeyboard(page, 'Continue');
      await page.getByRole('alert').waitFor();
      await isSound(page, 'name with a fault', script);
      await typeByKeyboard(
        page,
        'Full name',
        `Featherstonehaugh, W. ${width} ${colorScheme} ${forcedColors} ${script}`,
      );
      await typeByKeyboard(page, 'Reason', 'Asked for');
      await pressByKeyboard(page, 'Continue');
      await page.getByRole('heading', { name: 'Correct name?' }).waitFor();
      await isSound(page, 'confirmation', script);
      await pressByKeyboard(page, 'Correct name');
      await page.getByRole('status').waitFor();
      await ana.isCalled('Wilhelmina-Alexandrina Featherstonehaugh');
      for (const path of [`/${id}/email`, '?group=x&sort=-changed&state=none', '?sort=ref']) {
        await page.goto(base + path);
        await isSound(page, path, script);
      }
      assert.deepEqual(
        complaints.filter((one) => !/422/.test(one)),
        [],
      );
    });

  test('is printed with its chart, without navigation', async () => {
    const { page } = await open({ width: 1280 });
    await page.goto(`${base}/${id}`);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('.chart').first().isVisible(), true);
    assert.equal(await page.locator('nav').first().isVisible(), false);
    await isSound(page, 'print');
  });
});
