import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { browserArguments, browserVariable, findChromium } from './chromium.ts';

const executablePath = await findChromium();

/** Why tests in a browser are left out, or false when they run. */
export const withoutBrowser: string | false =
  executablePath === null
    ? 'no Chromium on this machine: install it (Debian: apt-get install chromium-headless-shell), or name it in ARS_TEST_CHROMIUM'
    : false;

/** The run's Chromium, or one of this file's own if the file runs alone. */
function openBrowser(): Promise<Browser> {
  const running = process.env[browserVariable];
  if (running !== undefined) return chromium.connect(running);
  return chromium.launch({ executablePath: executablePath!, args: browserArguments });
}

let browser: Promise<Browser> | null = null;
after(async () => {
  await (await browser)?.close();
});

/** A page in a new context, of the given width, with a listener that keeps whatever the page complains about. */
export async function openPage(options: {
  width: number;
  height?: number;
  colorScheme?: 'light' | 'dark';
  forcedColors?: 'active' | 'none';
  script?: boolean;
  /** Takes whatever certificate another server shows. */
  anyCertificate?: boolean;
}): Promise<{ page: Page; complaints: string[] }> {
  browser ??= openBrowser();
  const context = await (
    await browser
  ).newContext({
    viewport: { width: options.width, height: options.height ?? 800 },
    forcedColors: options.forcedColors ?? 'none',
    colorScheme: options.colorScheme ?? 'light',
    bypassCSP: false,
    ignoreHTTPSErrors: options.anyCertificate ?? false,
    javaScriptEnabled: options.script ?? true,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const sessions = new WeakMap<Page, Promise<CDPSession>>();

/** Puts axe into this page and into each page it loads later: a page at a time, half a megabyte would be sent each time. */
async function sessionWithAxe(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send('Page.enable');
  await session.send('Page.addScriptToEvaluateOnNewDocument', { source: axe, runImmediately: true });
  return session;
}

/** What axe-core finds wrong, as sentences. It runs beside the page's content security policy. */
export async function axeFaults(page: Page, only: string | null = null): Promise<string[]> {
  let session = sessions.get(page);
  if (session === undefined) sessions.set(page, (session = sessionWithAxe(page)));
  const { result, exceptionDetails } = await (
    await session
  ).send('Runtime.evaluate', {
    expression: `axe.run(document, { resultTypes: ['violations']${only === null ? '' : `, runOnly: ['${only}']`} }).then(({ violations }) => violations.flatMap(({ id, help, nodes }) => nodes.map((node) => id + ': ' + help + ' ' + node.target.join(' '))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value as string[];
}

/** Elements that reach past the right edge of the window; what scrolls inside a box of its own does not. */
export function overhanging(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    const over = (element) => element.getBoundingClientRect().right > width + 1;
    const scrolls = (element) => element !== document.body && /auto|scroll/.test(getComputedStyle(element).overflowX) && !over(element);
    const held = (element) => { for (let one = element.parentElement; one; one = one.parentElement) if (scrolls(one)) return true; return false; };
    const found = [...document.querySelectorAll('body *')].filter((element) => over(element) && !held(element))
      .map((element) => element.tagName + ' ' + (element.textContent ?? '').slice(0, 60));
    return document.documentElement.scrollWidth > width ? found.concat('the page scrolls sideways') : found;
  })()`);
}

/** Boxes that hide a part of what they hold. */
export function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('main *')]
    .filter((one) => getComputedStyle(one).overflowX === 'hidden' && !one.matches('.unseen') && one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.tagName + ' ' + one.className)`);
}

/** Controls that are smaller than 24 pixels with their labels (WCAG 2.5.8); those within a sentence may be. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
    .filter((one) => one.checkVisibility() && !one.matches('.skip, p a:not(.button)'))
    .flatMap((one) => {
      const boxes = [one, ...(one.type === 'radio' || one.type === 'checkbox' ? [...one.labels].filter((label) => !label.matches('.place')) : [])]
        .map((each) => each.getBoundingClientRect());
      const width = Math.max(...boxes.map((box) => box.right)) - Math.min(...boxes.map((box) => box.left));
      const height = Math.max(...boxes.map((box) => box.height));
      return width >= 24 && height >= 24 ? [] : [one.tagName + ' ' + one.id + ' ' + width + ' × ' + height];
    })`);
}

/** Controls that can't be seen as such, and those that don't show that they have the focus. */
const lost = `(() => {
  const paints = (colour) => !/^(transparent|rgba\\(.*, 0\\))$/.test(colour);
  const behind = (one) => { for (let at = one.parentElement; at; at = at.parentElement) { const { backgroundColor } = getComputedStyle(at); if (paints(backgroundColor)) return backgroundColor; } return 'rgb(255, 255, 255)'; };
  const shown = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')].filter((one) => one.checkVisibility());
  const name = (one) => one.tagName + ' ' + (one.textContent.trim() || one.id).slice(0, 40);
  const found = [];
  for (const one of shown) {
    const style = getComputedStyle(one);
    const ground = behind(one);
    const isPlain = one.matches('.plain, summary, input[type=checkbox], input[type=radio]') || one.tagName === 'A' && !one.matches('.button');
    const bordered = parseFloat(style.borderTopWidth) >= 1 && style.borderTopStyle !== 'none' && paints(style.borderTopColor) && style.borderTopColor !== ground;
    const filled = !matchMedia('(forced-colors: active)').matches && paints(style.backgroundColor) && style.backgroundColor !== ground;
    if (!isPlain && !bordered && !filled) found.push('no border: ' + name(one));
    one.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== one) { found.push('takes no focus: ' + name(one)); continue; }
    const now = getComputedStyle(one);
    const outlined = parseFloat(now.outlineWidth) >= 2 && now.outlineStyle !== 'none' && paints(now.outlineColor) && now.outlineColor !== ground;
    if (!outlined) found.push('focus unseen: ' + name(one) + ' ' + now.outlineWidth + ' ' + now.outlineColor + ' on ' + ground);
    one.blur();
  }
  const here = document.querySelector('.menu .pages a[aria-current]');
  const other = document.querySelector('.menu .pages a:not([aria-current])');
  if (here && other) {
    const [a, b] = [here, other].map((one) => getComputedStyle(one).borderLeftColor);
    if (a === b) found.push('the present page is not marked in the menu');
  }
  return found;
})()`;

export const lostControls = (page: Page): Promise<string[]> => page.evaluate(lost);

/** Letters, words, lines and paragraphs as far apart as readers may set them (WCAG 1.4.12). */
export async function spaceOut(page: Page): Promise<void> {
  await page.evaluate(`for (const { style, tagName } of document.querySelectorAll('body, body *')) {
    style.letterSpacing = '.12em'; style.wordSpacing = '.16em'; style.lineHeight = '1.5';
    if (tagName === 'P') style.marginBottom = '2em';
  }`);
}

/** What the message at the bottom hides altogether when it has the focus (WCAG 2.4.11), going through the page by Tab, there and back. */
export async function obscuredByMessage(page: Page): Promise<string[]> {
  const hidden: string[] = [];
  const count = (await page.evaluate(
    `document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]').length`,
  )) as number;
  for (const key of ['Tab', 'Shift+Tab'])
    for (let i = 0; i < count; i++) {
      await page.keyboard.press(key);
      const name = (await page.evaluate(`(() => {
        const [say, one] = [document.getElementById('say').getBoundingClientRect(), document.activeElement];
        const box = (one.closest('.option') ?? one).getBoundingClientRect();
        return one !== document.body && one.id !== 'say' && box.top >= say.top && box.bottom <= say.bottom ? one.tagName + ' ' + one.id + ' ' + one.textContent : '';
      })()`)) as string;
      if (name !== '') hidden.push(name);
    }
  return hidden;
}

/** Whether all of it can be seen without scrolling. */
export async function isInView(page: Page, selector: string): Promise<void> {
  const box = (await page.locator(selector).boundingBox())!;
  const { height } = page.viewportSize()!;
  assert.ok(box.y >= 0 && box.y + box.height <= height + 1, `${selector} from ${box.y} to ${box.y + box.height}`);
}

/** Presses Start, and waits for the first question. */
export async function starts(page: Page): Promise<void> {
  await Promise.all([page.waitForURL(/question$/), page.getByRole('button', { name: /^Start/ }).click()]);
}
