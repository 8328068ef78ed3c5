// Tier: full. Shows every item of the bank.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withService } from '../../support/service.ts';
import { withoutBrowser } from '../browser.ts';
import { all, gallery, pageOf } from '../gallery.ts';

test(`all ${all.length} at 320 px: nothing reaches past the edge`, { skip: withoutBrowser }, async () => {
  const service = await withService();
  const { page, show } = await gallery(service, { width: 320 });
  await show(all[0]!);
  const wide: string[] = [];
  for (const item of all) {
    // Only the main part changes from item to item; loading each page anew would take minutes.
    const main = /<main[^>]*>([\s\S]*)<\/main>/.exec(pageOf(item))![1]!;
    const over = (await page.evaluate(
      `((main) => { document.querySelector('main').innerHTML = main; return document.documentElement.scrollWidth - document.documentElement.clientWidth; })(${JSON.stringify(main)})`,
    )) as number;
    if (over > 0) wide.push(`${item.id} by ${over} px`);
  }
  assert.deepEqual(wide, []);
});
