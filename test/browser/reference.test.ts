import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withService } from '../service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';

suite('the reference page in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();

  for (const width of [320, 360, 768, 1280]) {
    test(`${width} px: nothing reaches past the edge`, async () => {
      const { page, complaints } = await openPage({ width });
      await page.goto(`${service.url}/docs`);
      await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
      assert.deepEqual(await overhanging(page), []);
      assert.deepEqual(
        complaints.filter((one) => !one.includes('404')),
        [],
      );
    });
  }

  for (const [width, colorScheme] of [
    [320, 'light'],
    [1280, 'light'],
    [1280, 'dark'],
  ] as const) {
    test(`axe finds nothing at ${width} px, ${colorScheme}`, async () => {
      const { page } = await openPage({ width, colorScheme });
      await page.goto(`${service.url}/docs`);
      await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);
      assert.deepEqual(await axeFaults(page), []);
    });
  }

  test('it asks for nothing from elsewhere and runs nothing', async () => {
    const { page } = await openPage({ width: 1280 });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${service.url}/docs`);
    assert.deepEqual(
      asked.filter((path) => path !== '/favicon.ico'),
      ['/docs'],
    );
    assert.equal(await page.locator('script, link, img, [style], [onclick]').count(), 0);
  });

  test('every link of the page leads to something, and no id stands twice', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs`);
    assert.deepEqual(
      await page.evaluate(
        `[...new Set([...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute('href').slice(1)))].filter((id) => document.getElementById(id) === null)`,
      ),
      [],
    );
    assert.deepEqual(
      await page.evaluate(
        `[...document.querySelectorAll('[id]')].map((one) => one.id).filter((id, i, all) => all.indexOf(id) !== i)`,
      ),
      [],
    );
  });

  test('by keyboard: first the way past the contents', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs`);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the reference');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.hash === '#top');
  });

  test('printed: examples are open and the contents are gone', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs`);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('nav.side').isVisible(), false);
    assert.equal(
      await page
        .locator('#listAssessments ~ details pre, section:has(#listAssessments) details pre')
        .first()
        .isVisible(),
      true,
    );
  });
});
