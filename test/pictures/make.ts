// What `npm run docs:pictures` runs: takes the guides' pictures anew, of a sandbox that is the same each time.
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { manualClock } from '../platform/time/manual-clock.ts';
import { startService } from '../../src/main.ts';
import { openApp } from '../../src/server/open-app.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import { browserArguments, findChromium } from '../browser/chromium.ts';
import type { Picture } from './list.ts';
import { pictures } from './list.ts';
import { makeScene } from './scene.ts';

/** Ends of file names, widths in pixels and schemes of colours. */
const forms = [
  { end: '', width: 1280, colorScheme: 'light' },
  { end: '-dark', width: 1280, colorScheme: 'dark' },
  { end: '-phone', width: 390, colorScheme: 'light' },
  { end: '-phone-dark', width: 390, colorScheme: 'dark' },
] as const;
const origin = 'https://results.northfield.example';
const target = new URL('../../docs/pictures/', import.meta.url);

const executablePath = await findChromium();
if (executablePath === null) throw new Error('There is no Chromium on this machine.');
const folder = await mkdtemp(join(tmpdir(), 'ars-pictures-'));
await chmod(folder, 0o755);
const endMs = Date.UTC(2026, 10, 23, 9, 41);
const clock = manualClock(endMs - 30 * 24 * 3600_000);
const settings = readSettings({ ARS_DATA_DIR: folder, ARS_PORT: '0', ARS_BASE_URL: origin, ARS_LOG: 'none' });
const service = await startService(await openApp(settings, { clock, random: seededRandom('pictures') }), 'web');
try {
  const scene = await makeScene(service, clock, endMs);
  const base = `/console/${scene.organisation.public_id}`;
  const browser = await chromium.launch({ executablePath, args: browserArguments });
  await mkdir(target, { recursive: true });
  const all = pictures.flatMap((picture) =>
    forms.filter(({ end }) => end === '' || picture.everywhere).map((form) => ({ picture, ...form })),
  );
  for (const { picture, end, width, colorScheme } of all) {
    const context = await browser.newContext({
      viewport: { width, height: picture.height },
      colorScheme,
      locale: 'en-GB',
      timezoneId: 'Europe/London',
    });
    if (picture.as !== 'nobody')
      await context.addCookies([
        {
          name: '__Host-session',
          value: scene.tokens[picture.as],
          domain: new URL(origin).host,
          path: '/',
          secure: true,
        },
      ]);
    const page = await context.newPage();
    // The address of the pictures is nobody's: what is asked there is answered here.
    await page.route(`${origin}/**`, async (route) => {
      const asked = new URL(route.request().url());
      const response = await route.fetch({ url: service.url + asked.pathname + asked.search, maxRedirects: 0 });
      const onward = response.headers().location;
      // The browser would ask for the next page itself, at that address.
      if (onward === undefined) await route.fulfill({ response });
      else
        await route.fulfill({
          contentType: 'text/html',
          body: `<meta http-equiv="refresh" content="0; url=${onward}">`,
        });
    });
    const path = picture.path.replace(/\{(\w+)\}/g, (_all, name: string) => scene.ids[name]!);
    await page.goto(origin + (path.startsWith('/console') ? path : base + path));
    await writeFile(new URL(`${picture.name}${end}.webp`, target), await taken(page, picture, width));
    await context.close();
    console.log(`${picture.name}${end}`);
  }
  await browser.close();
} finally {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}

async function taken(page: Page, { fill = {}, press, open, height }: Picture, width: number): Promise<Buffer> {
  for (const [label, value] of Object.entries(fill)) await page.getByLabel(label).fill(value);
  if (press !== undefined) {
    const before = page.url();
    await page.getByRole('button', { name: press }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.locator('main').waitFor();
  }
  if (open !== undefined) await page.getByText(open).first().click();
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: 65,
    clip: { x: 0, y: 0, width, height: Math.min(height, await page.evaluate('document.body.scrollHeight')), scale: 1 },
  });
  return Buffer.from(data, 'base64');
}
