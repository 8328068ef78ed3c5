import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { errorTable } from '../../src/platform/errors/errors.ts';
import { defaultRateLimit, exampleOrigin } from '../../src/platform/config/settings.ts';
import { makeSite } from '../../src/web/docs/site.ts';
import { withService } from '../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';

const looked = [
  'index.html',
  'start/quickstart.html',
  'sync/sync-results.html',
  'concepts.html',
  'reference.html',
  'reference/errors.html',
  'examples/sync.html',
];

/** What developers, admins and operators call things, and the page that they look for. */
const tradeWords = [
  ['sdk', 'developers/client-library.html'],
  ['npm package', 'developers/client-library.html'],
  ['postman', 'developers/postman-and-generators.html'],
  ['idempotency', 'write/retry-safely.html'],
  ['swagger', 'developers/postman-and-generators.html'],
  ['rate limit', 'reference/limits.html'],
  ['throttling', 'reference/limits.html'],
  ['hmac', 'webhooks/verify.html'],
  ['delta', 'sync/sync-results.html'],
  ['incremental', 'sync/sync-results.html'],
  ['polling', 'sync/sync-results.html'],
  ['pagination', 'sync/sync-results.html'],
  ['checksum', 'sync/check-your-copy.html'],
  ['reconciliation', 'sync/check-your-copy.html'],
  ['deleted', 'sync/restores-and-merges.html'],
  ['authentication', 'start/environments-and-keys.html'],
  ['callback', 'webhooks/receive.html'],
  ['dead letter queue', 'webhooks/operate.html'],
  ['provisioning', 'write/invite-learners.html'],
  ['cohort', 'write/groups.html'],
  ['ngrok', 'quality/test-your-integration.html'],
  ['oneroster', 'developers/mapping.html'],
  ['saml', 'providers/people.html'],
  ['dsar', 'providers/data-requests.html'],
  ['invigilator', 'providers/supervised.html'],
  ['helm', 'operate/kubernetes.html'],
  ['pgbouncer', 'operate/database.html'],
  ['pitr', 'operate/backup.html'],
  ['opentelemetry', 'operate/monitor.html'],
  ['runbook', 'operate/alerts.html'],
  ['horizontal scaling', 'operate/scale-out.html'],
  ['wcag', 'trust/accessibility-learner.html'],
  ['ropa', 'trust/data-map.html'],
  ['dpa', 'trust/data-processing-agreement.html'],
] as const;

const openDetails = (page: Page) =>
  page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true; })`);

/** Types into the search, and gives where its first results lead to. */
async function results(page: Page, words: string): Promise<string[]> {
  await page.getByRole('searchbox').fill(words);
  await page.locator('#site-results a, #site-said:text("Nothing")').first().waitFor();
  return page.evaluate(`[...document.querySelectorAll('#site-results a')].map((one) => one.getAttribute('href'))`);
}

suite('the documentation in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const folder = await mkdtemp(join(tmpdir(), 'ars-docs-'));
  after(() => rm(folder, { recursive: true, force: true }));
  for (const [path, { body }] of (await makeSite(exampleOrigin, defaultRateLimit)).files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), body);
  }

  test('at 320 px and at 1280 px, in light and dark colours: nothing reaches past the edge, and axe finds nothing', async () => {
    const { page, complaints } = await openPage({ width: 320 });
    for (const path of looked) {
      await page.goto(`${service.url}/docs/${path}`);
      await openDetails(page);
      for (const [width, colorScheme, only] of [
        [320, 'light', null],
        [1280, 'light', null],
        // Of the rules of axe, only that about contrast depends on colours.
        [1280, 'dark', 'color-contrast'],
      ] as const) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await overhanging(page), [], `${path} at ${width} px, ${colorScheme}`);
        assert.deepEqual(await axeFaults(page, only), [], `${path} at ${width} px, ${colorScheme}`);
      }
    }
    assert.deepEqual(complaints, []);
  });

  test('it asks for nothing from elsewhere', async () => {
    const { page } = await openPage({ width: 1280 });
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(new URL(request.url()).pathname));
    await page.goto(`${service.url}/docs/concepts.html`);
    assert.deepEqual([...asked].filter((path) => path !== '/favicon.ico' && !path.endsWith('.svg')).sort(), [
      '/docs/concepts.html',
      '/docs/search.js',
      '/docs/style.css',
    ]);
  });

  test('from a folder, without a server: pictures, links, and the search', async () => {
    const { page, complaints } = await openPage({ width: 1280 });
    await page.goto(String(pathToFileURL(join(folder, 'concepts.html'))));
    await page.waitForFunction(
      `[...document.images].length >= 4 && [...document.images].every((one) => one.complete && one.naturalWidth > 0)`,
    );
    assert.ok((await results(page, 'scope exit')).includes('concepts.html#scope-exit'));
    await page.goto(String(pathToFileURL(join(folder, 'reference/errors.html'))));
    const found = (await results(page, 'ARS_RATE_LIMIT')).find((one) => one.startsWith('../operate/configure.html'));
    await page.locator(`#site-results a[href="${found}"]`).click();
    await page.waitForURL(/operate\/configure\.html/);
    assert.deepEqual(complaints, []);
  });

  test('the search finds codes, headers, halves of names, words in the plural, and words misspelt', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs/`);
    assert.equal((await results(page, 'invalid_cursor'))[0], 'reference/errors.html#invalid_cursor');
    for (const code of Object.keys(errorTable))
      assert.equal((await results(page, code))[0], `reference/errors.html#${code}`);
    for (const field of ['since', 'status', 'subject', 'limit'])
      assert.ok(
        (await results(page, field)).some((one) => one.startsWith('reference.html#')),
        field,
      );
    assert.equal((await results(page, 'group_limit'))[0], 'reference/errors.html#group_limit_exceeded');
    assert.ok((await results(page, 'X-Sync-Digest')).length > 0);
    assert.ok((await results(page, 'tombstones')).some((one) => one.startsWith('concepts.html')));
    assert.ok((await results(page, 'ETag 304')).some((one) => one.startsWith('sync/sync-results.html')));
    assert.ok((await results(page, 'If-None-Match')).some((one) => one.startsWith('reference.html#')));
    assert.deepEqual(await results(page, 'the digest'), await results(page, 'digest'));
    assert.ok((await results(page, 'tombstnoe')).length > 0);
    assert.deepEqual(await results(page, 'zzzzqqqq'), []);
    assert.equal(await page.locator('#site-said').textContent(), 'Nothing is found.');
  });

  test('the search finds pages by words of the trade that they do not use', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs/`);
    for (const [words, path] of tradeWords) {
      const found = (await results(page, words)).slice(0, 3);
      assert.ok(found.includes(path), `${words}: ${found.join(', ')}`);
    }
  });

  test('tabs work by mouse and by keyboard, without a script', async () => {
    const { page } = await openPage({ width: 320, script: false });
    await page.goto(`${service.url}/docs/start/quickstart.html`);
    const shown = () => page.locator('.tabs').first().locator('.tab:visible pre').allTextContents();
    const [first] = await shown();
    await page.locator('.tabs').first().getByText('Python', { exact: true }).click();
    const [second] = await shown();
    await page.keyboard.press('ArrowRight');
    const [third] = await shown();
    assert.equal(new Set([first, second, third]).size, 3);
    assert.equal((await shown()).length, 1);
  });

  test('the search by keyboard: /, words, down, Enter; Escape closes', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs/`);
    await page.keyboard.press('/');
    await page.keyboard.type('idempotency_mismatch');
    await page.locator('#site-results a').first().waitFor();
    assert.deepEqual(await axeFaults(page), []);
    await page.keyboard.press('Escape');
    assert.equal(await page.locator('#site-found').isVisible(), false);
    assert.equal(await page.evaluate('document.activeElement.id'), 'site-search');
    await page.keyboard.type(' ');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(/reference\/errors\.html#idempotency_mismatch$/);
  });

  test('by keyboard: first the way past the contents', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs/reference.html`);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.hash === '#site-content');
  });

  test('without script everything but the search is there', async () => {
    const { page } = await openPage({ width: 320, script: false });
    await page.goto(`${service.url}/docs/`);
    assert.equal(await page.getByRole('search').isVisible(), false);
    await page.getByText('All pages').first().click();
    await page.getByText('Reference', { exact: true }).first().click();
    await page.getByRole('navigation').getByRole('link', { name: 'Errors' }).first().click();
    await page.waitForURL(/reference\/errors\.html$/);
    await page.getByRole('link', { name: 'Next: Headers' }).click();
    await page.waitForURL(/reference\/headers\.html$/);
  });

  test('printed: examples are open and the contents are gone', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(`${service.url}/docs/reference.html`);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('nav:visible').count(), 0);
    assert.equal(await page.locator('section:has(#listAssessments) details pre').first().isVisible(), true);
  });
});
