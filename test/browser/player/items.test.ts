import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { renderItem } from '../../../src/engine/item-bank/load.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { withService } from '../../support/service.ts';
import { all, gallery } from '../gallery.ts';
import {
  axeFaults,
  cutOff,
  obscuredByMessage,
  overhanging,
  smallTargets,
  spaceOut,
  withoutBrowser,
} from '../browser.ts';

/** What an item is made of, as far as its page looks or works differently for it. */
function partsOf(item: Item): string[] {
  const rendered = renderItem(item, '1');
  const parts: string[] = [rendered.type];
  if (rendered.figure !== undefined) parts.push(`figure ${rendered.figure.kind}`);
  if (item.type !== 'template' && item.passage !== undefined) parts.push('passage');
  if (rendered.type === 'hotspot') parts.push(`hotspot ${rendered.surface.kind}`);
  if (rendered.type === 'task') {
    parts.push(
      `task ${rendered.kind}`,
      ...rendered.screen.map((block) => `block ${block.block}`),
      ...rendered.fields.map(
        (field) => `${field.control}${'columns' in field && field.columns !== undefined ? ' in columns' : ''}`,
      ),
    );
  }
  return parts;
}

/** The fewest first items that hold every part between them. */
const different = ((): Item[] => {
  const seen = new Set<string>();
  return all.filter((item) => {
    const fresh = partsOf(item).filter((part) => !seen.has(part));
    for (const part of fresh) seen.add(part);
    return fresh.length > 0;
  });
})();

suite('items of every form in a browser', { skip: withoutBrowser }, async () => {
  const service = await withService();

  // A wide window changes only what stands in columns and rows.
  const besides = different.filter((item) => partsOf(item).some((part) => /columns|ordering|matching/.test(part)));
  for (const [width, items] of [
    [320, different],
    [1280, besides],
  ] as const) {
    test(`each of ${items.length} different ones at ${width} px: axe clean, on a dark screen too, inside the edge, no complaint of the policy`, async () => {
      const { page, show, complaints } = await gallery(service, { width });
      for (const item of items) {
        await show(item);
        assert.deepEqual(await axeFaults(page), [], item.id);
        assert.deepEqual(await overhanging(page), [], item.id);
        await page.emulateMedia({ colorScheme: 'dark' });
        assert.deepEqual(await axeFaults(page, 'color-contrast'), [], `${item.id} on a dark screen`);
        await page.emulateMedia({ colorScheme: 'light' });
      }
      assert.deepEqual(
        complaints.filter((one) => !one.includes('404')),
        [],
      );
    });
  }

  test('big text: at 320 px with letters twice as large, or spaced out, nothing reaches past the edge or is cut off; targets have 24 px', async () => {
    const { page, show } = await gallery(service, { width: 320 });
    for (const item of different) {
      await show(item);
      assert.deepEqual(await smallTargets(page), [], item.id);
      await page.evaluate(`document.documentElement.style.fontSize = '36px'`).catch(() => {});
      assert.deepEqual(await overhanging(page), [], item.id);
      assert.deepEqual(await cutOff(page), [], item.id);
      await page.evaluate(`document.documentElement.style.fontSize = ''`);
      await spaceOut(page);
      assert.deepEqual(await overhanging(page), [], item.id);
      assert.deepEqual(await cutOff(page), [], item.id);
    }
  });

  test('places of a hotspot and the button that reads aloud have at least 44 px at 390 px', async () => {
    const { page, show } = await gallery(service, { width: 390 });
    const small = `[...document.querySelectorAll('.place, #read')].flatMap((one) => {
      const { width, height } = one.getBoundingClientRect();
      return width >= 44 && height >= 44 ? [] : [one.textContent + ' ' + width + ' × ' + height];
    })`;
    for (const item of all.filter(({ type }) => type === 'hotspot')) {
      await show(item);
      assert.deepEqual(await page.evaluate(small), [], item.id);
    }
  });

  test('what has the focus is never under a message at the bottom', async () => {
    const { page, show } = await gallery(service, { width: 320, height: 568 });
    const long = different.filter((item) => partsOf(item).includes('passage') || partsOf(item).includes('ordering'));
    for (const item of [...long.slice(0, 2), different.find((one) => partsOf(one).includes('task web_form'))!]) {
      await show(item);
      await page.evaluate(`document.getElementById('say').textContent = document.getElementById('say').dataset.away`);
      assert.deepEqual(await obscuredByMessage(page), [], item.id);
      await page.evaluate(`document.documentElement.style.fontSize = '36px'`);
      const { height } = (await page.locator('#say').boundingBox())!;
      assert.ok(height <= 568 / 2, `${item.id}: at twice the text, ${height} px of 568`);
      assert.deepEqual(await obscuredByMessage(page), [], item.id);
    }
  });

  test('columns that are out of sight are spoken of, and only those', async () => {
    const sheet = all.find((item) => partsOf(item).includes('block sheet'))!;
    for (const [width, visible] of [
      [200, true],
      [1280, false],
    ] as const) {
      const { page, show } = await gallery(service, { width });
      await show(sheet);
      assert.equal(await page.locator('.wider').first().isVisible(), visible, `${width} px`);
    }
  });

  test('a choice that its menu is too narrow for is written below it, at any size of text', async () => {
    const lengthOf = (item: Item): number => {
      const rendered = renderItem(item, '1');
      return rendered.type === 'matching' ? Math.max(...rendered.right.map(({ text }) => text.length)) : 0;
    };
    const long = all.find((item) => lengthOf(item) > 70)!;
    const short = all.find((item) => lengthOf(item) > 10 && lengthOf(item) < 20)!;
    for (const [item, width, size, visible] of [
      [long, 320, '18px', true],
      [short, 320, '36px', true],
      [long, 1280, '36px', true],
      [short, 1280, '18px', false],
    ] as const) {
      const { page, show } = await gallery(service, { width });
      await show(item);
      await page.evaluate(`document.documentElement.style.fontSize = '${size}'`);
      const menu = page.locator('select').first();
      const texts = await menu.locator('option').allTextContents();
      const longest = texts.reduce((a, b) => (b.length > a.length ? b : a));
      await menu.selectOption({ label: longest });
      assert.equal(await page.locator('.whole').first().textContent(), visible ? longest : '', `${width} px, ${size}`);
      assert.deepEqual(await overhanging(page), []);
    }
  });

  test('a choice that its menu shows in full is not written again below it', async () => {
    const tasks = all.filter(({ id }) => ['dig-e-dev-005', 'dig-l1-safe-019'].includes(id));
    assert.equal(tasks.length, 2);
    const { page, show } = await gallery(service, { width: 390 });
    for (const task of tasks) {
      await show(task);
      assert.equal((await page.locator('.whole').allTextContents()).join(''), '', task.id);
    }
  });

  test('the question of a reading passage stands before the text and after it', async () => {
    const { page, show } = await gallery(service, { width: 320 });
    await show(all.find((item) => partsOf(item).includes('passage'))!);
    const top = async (selector: string) => (await page.locator(selector).boundingBox())!.y;
    assert.ok((await top('.ahead')) < (await top('.passage')));
    assert.ok((await top('.passage')) < (await top('#question-text')));
    assert.ok(
      (await page.locator('.ahead').innerText()).includes((await page.locator('#question-text').innerText()).trim()),
    );
  });

  test('a box is as wide as what goes into it, not as its column', async () => {
    const { page, show } = await gallery(service, { width: 1280 });
    await show(all.find((item) => renderItem(item, '1').type === 'numeric')!);
    assert.ok((await page.locator('input[type=text]').first().boundingBox())!.width < 200);
  });

  test('a place in a picture or text that is touched chooses its option', async () => {
    const { page, show } = await gallery(service, { width: 360 });
    for (const kind of ['hotspot picture', 'hotspot text']) {
      await show(all.find((item) => partsOf(item).includes(kind))!);
      await page.locator('label.place').nth(1).click();
      assert.equal(await page.locator('input.spot-1').isChecked(), true);
      assert.equal(
        await page.evaluate(`getComputedStyle(document.querySelector('.place-1')).color`),
        'rgb(255, 255, 255)',
      );
    }
  });
});
