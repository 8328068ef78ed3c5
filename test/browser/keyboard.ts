import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Answer } from '../../src/engine/item-bank/mark.ts';

type Focused = {
  tag: string;
  type: string;
  name: string;
  value: string;
  values: string[];
  checked: boolean;
  index: number;
  text: string;
  label: string;
};

const describeFocus = `(() => { const e = document.activeElement; return { tag: e.tagName, type: e.type || '', name: e.name || '', value: e.value || '',
  values: e.tagName === 'SELECT' ? [...e.options].map((o) => o.value) : [], checked: !!e.checked, index: e.selectedIndex || 0,
  text: (e.textContent || e.labels?.[0]?.textContent || '').trim(), label: (e.labels?.[0]?.textContent || '').trim() }; })()`;

async function tab(page: Page): Promise<Focused> {
  await page.keyboard.press('Tab');
  return page.evaluate(describeFocus);
}

/** Presses Enter on the control that has the focus, and waits for the page that it leads to. */
async function enter(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
}

/** Fills the question in and presses a button, with Tab, arrows, Space, Enter and typing alone. */
export async function answerByKeyboard(page: Page, answer: Answer, button = 'next'): Promise<void> {
  await fillByKeyboard(page, answer, button);
  await enter(page);
}

/** Fills the question in; the button with this value has the focus then. */
export async function fillByKeyboard(page: Page, answer: Answer, button = 'next'): Promise<void> {
  for (let tabs = 0; tabs < 120; tabs++) {
    const at = await tab(page);
    if (at.type === 'submit' && at.value === button) return;
    if (!Object.hasOwn(answer, at.name)) continue;
    const wanted = [answer[at.name]!].flat() as string[];
    if (at.type === 'checkbox') {
      if (wanted.includes(at.value) !== at.checked) await page.keyboard.press('Space');
    } else if (at.type === 'radio') {
      await chooseRadio(page, at, wanted[0]!);
    } else if (at.tag === 'SELECT') {
      const steps = at.values.indexOf(wanted[0]!) - at.index;
      for (let i = 0; i < Math.abs(steps); i++) await page.keyboard.press(steps > 0 ? 'ArrowDown' : 'ArrowUp');
    } else if (at.type === 'text') {
      await page.keyboard.press('Control+A');
      await page.keyboard.type(wanted[0]!);
    }
  }
  assert.fail(`no way to the button ${button} by keyboard`);
}

async function chooseRadio(page: Page, at: Focused, wanted: string): Promise<void> {
  if (at.value === wanted) {
    await page.keyboard.press('Space');
    return;
  }
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('ArrowDown');
    if ((await page.evaluate('document.activeElement.value')) === wanted) return;
  }
  assert.fail(`no radio button ${wanted} by keyboard`);
}

/** Goes to the field with this label by Tab, and types into it. */
export async function typeByKeyboard(page: Page, label: string, text: string): Promise<void> {
  for (let tabs = 0; tabs < 60; tabs++) {
    if ((await tab(page)).label !== label) continue;
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
    return;
  }
  assert.fail(`no field ${JSON.stringify(label)} by keyboard`);
}

/** Goes to the control with this text by Tab and presses a key on it. */
export async function pressByKeyboard(page: Page, text: string, key: 'Enter' | 'Space' = 'Enter'): Promise<void> {
  for (let tabs = 0; tabs < 60; tabs++) {
    if ((await tab(page)).text !== text) continue;
    if (key === 'Enter') await enter(page);
    else await page.keyboard.press('Space');
    return;
  }
  assert.fail(`nothing called ${JSON.stringify(text)} by keyboard`);
}

/** Goes to a page by the navigation: where it is folded up it is opened, and where another part's pages show, its own part. */
export async function goByMenu(page: Page, part: string, label: string): Promise<void> {
  const menu = page.getByRole('navigation', { name: 'Pages' });
  if (await menu.locator('summary').isVisible()) await pressByKeyboard(page, 'Menu', 'Space');
  else if (!(await menu.getByRole('link', { name: label, exact: true }).isVisible())) await pressByKeyboard(page, part);
  await pressByKeyboard(page, label);
}
