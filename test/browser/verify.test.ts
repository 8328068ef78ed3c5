import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from './browser.ts';

suite('the page that checks an evidence file, in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const scene = await scenario(service);
  const result = await (await scene.learner('ana', 'Ana Silva')).completes();
  const first = await result.readReport();
  await result.isAmended({ framework: 'Amended' });
  const second = await result.readReport();
  const folder = await mkdtemp(join(tmpdir(), 'ars-verify-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const file = async (name: string, bytes: Buffer) => {
    await writeFile(join(folder, name), bytes);
    return join(folder, name);
  };
  const files = {
    current: await file('current.pdf', second.bytes),
    superseded: await file('superseded.pdf', first.bytes),
    unknown: await file('changed.pdf', Buffer.concat([second.bytes, Buffer.from('\n')])),
  };
  const hash = second.headers['x-report-sha256']!;
  const states = {
    empty: '',
    current: `?sha256=${hash}`,
    superseded: `?sha256=${first.headers['x-report-sha256']}`,
    unknown: `?sha256=${'a'.repeat(64)}`,
    error: '?sha256=abc',
  };
  const heads = {
    current: 'This file is genuine and current',
    superseded: 'This file is genuine, but not the latest',
    unknown: 'The service does not vouch for this file',
  };
  const verify = `${service.url}/verify`;

  /** Every request of the page: method, address and how much it carries. */
  function requestsOf(page: Page): { method: string; url: string; body: string | null }[] {
    const seen: { method: string; url: string; body: string | null }[] = [];
    page.on('request', (request) =>
      seen.push({ method: request.method(), url: request.url(), body: request.postData() }),
    );
    return seen;
  }

  /** Drops a file as a person does: the browser itself hands it over. */
  async function drop(page: Page, path: string, selector: string): Promise<void> {
    const session = await page.context().newCDPSession(page);
    const { x, y, width, height } = (await page.locator(selector).boundingBox())!;
    const at = { x: x + width / 2, y: y + height / 2, data: { items: [], files: [path], dragOperationsMask: 1 } };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await session.send('Input.dispatchDragEvent', { type, ...at });
  }

  for (const verdict of ['current', 'superseded', 'unknown'] as const) {
    test(`a chosen file is found ${verdict}, and nothing but its hash is sent`, async () => {
      const { page, complaints } = await openPage({ width: 1280 });
      await page.goto(verify);
      const seen = requestsOf(page);
      await page.setInputFiles('#file', files[verdict]);
      await page.waitForURL(/sha256=/);
      assert.equal(await page.locator('.verdict h2').textContent(), heads[verdict]);
      assert.equal(await page.title(), `${heads[verdict]} – Check an evidence file`);
      assert.deepEqual(
        seen
          .filter(({ url }) => !url.endsWith('/favicon.ico'))
          .map(({ method, url, body }) => [
            method,
            new URL(url).pathname,
            /^\?sha256=[0-9a-f]{64}$/.test(new URL(url).search),
            body,
          ]),
        [['GET', '/verify', true, null]],
      );
      assert.deepEqual(
        complaints.filter((one) => !one.includes('404')),
        [],
      );
    });
  }

  for (const [where, selector] of [
    ['on the field', '#file'],
    ['beside it', 'h1'],
  ] as const) {
    test(`a file dropped ${where} is checked, not opened`, async () => {
      const { page } = await openPage({ width: 1280 });
      await page.goto(verify);
      const seen = requestsOf(page);
      await drop(page, files.current, selector);
      await page.waitForURL(/sha256=/);
      assert.equal(await page.locator('.verdict h2').textContent(), heads.current);
      assert.ok(seen.every(({ method, body }) => method === 'GET' && body === null));
    });
  }

  test('a second file can be checked after the first, and the way back leads to an empty page', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(verify);
    await page.setInputFiles('#file', files.unknown);
    await page.waitForURL(/sha256=/);
    await page.setInputFiles('#file', files.current);
    await page.waitForURL(new RegExp(hash));
    await page.goBack();
    await page.goBack();
    assert.equal(await page.locator('#state').textContent(), '');
  });

  test('without script the hash can be entered, and no field is shown that does nothing', async () => {
    const { page: opened } = await openPage({ width: 360 });
    const context = await opened.context().browser()!.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(verify);
    assert.equal(await page.locator('#file').isVisible(), false);
    await page.fill('#sha256', `  ${hash.toUpperCase()} `);
    await page.click('button');
    assert.equal(await page.locator('.verdict h2').textContent(), heads.current);
    await context.close();
  });

  test('where the browser computes no hashes, the page says so and offers the hash alone', async () => {
    const { page } = await openPage({ width: 360 });
    await page.addInitScript(
      'Object.defineProperty(Crypto.prototype, "subtle", { value: undefined }); Object.defineProperty(window, "isSecureContext", { value: false });',
    );
    await page.goto(verify);
    assert.equal(await page.locator('#file').isVisible(), false);
    assert.equal(
      await page.locator('#state').textContent(),
      'This browser can’t compute the hash here, because this page wasn’t opened over https. Compute it as described below, and enter it.',
    );
  });

  test('by keyboard: field, hash, button; an error takes the focus to the field that names it', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(verify);
    const focused = () => page.evaluate('document.activeElement.id || document.activeElement.textContent');
    const order: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('Tab');
      order.push(await focused());
    }
    assert.deepEqual(order, ['file', 'sha256', 'Check the hash']);
    await page.fill('#sha256', 'not a hash');
    await page.keyboard.press('Enter');
    await page.waitForURL(/sha256=/);
    await page.locator('#sha256:focus').waitFor();
    assert.equal(await page.inputValue('#sha256'), 'not a hash');
    assert.equal(
      await page.locator(`#${await page.getAttribute('#sha256', 'aria-describedby')}`).textContent(),
      'Enter the 64 characters of a SHA-256 hash: digits and the letters a to f.',
    );
  });

  test('the policy lets no other script run', async () => {
    const { page } = await openPage({ width: 1280 });
    await page.goto(
      `${verify}?sha256=${encodeURIComponent('"><script>window.ran=1</script><img src=x onerror="window.ran=1">')}`,
    );
    await page.evaluate(
      `(() => { const s = document.createElement('script'); s.textContent = 'window.ran=1'; document.body.append(s); })()`,
    );
    assert.equal(await page.evaluate('window.ran'), undefined);
  });

  for (const [state, query] of Object.entries(states)) {
    test(`${state}: axe finds nothing, light and dark, and nothing reaches past the edge from 320 px up`, async () => {
      for (const [width, colorScheme] of [
        [320, 'light'],
        [360, 'dark'],
        [1280, 'light'],
      ] as const) {
        const { page } = await openPage({ width, colorScheme });
        await page.goto(verify + query);
        assert.deepEqual(await axeFaults(page), [], `${width} ${colorScheme}`);
        assert.deepEqual(await overhanging(page), [], `${width} ${colorScheme}`);
        if (process.env.ARS_TEST_SCREENSHOTS !== undefined)
          await page.screenshot({
            path: join(process.env.ARS_TEST_SCREENSHOTS, `verify-${state}-${width}-${colorScheme}.png`),
            fullPage: true,
          });
        await page.context().close();
      }
    });
  }
});
