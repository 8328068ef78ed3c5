import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { roles } from '../../../src/organisations/users/roles.ts';
import { personOf } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import { axeFaults, openPage, overhanging, withoutBrowser } from '../browser.ts';

suite('the navigation', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield College' });
  const base = `/console/${org.publicId}`;

  async function open(width: number, role: (typeof roles)[number], path: string, script = true) {
    const person = await personOf(service, org.id, role);
    const { page } = await openPage({ width, script });
    const [name, value] = person.cookie!.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    await page.goto(`${service.url}${base}${path}`);
    return page;
  }
  const nav = 'nav[aria-label="Pages"]';

  for (const role of roles)
    test(`${role}: every page that is theirs is reached from it, and no other`, async () => {
      const page = await open(320, role, '');
      const theirs = consoleRoutes.flatMap((route) =>
        typeof route.for !== 'string' && route.menu !== undefined && route.for.includes(role)
          ? [`${base}${route.path}`]
          : [],
      );
      const links = await page
        .locator(`${nav} a`)
        .evaluateAll((all) => all.map((one) => (one as unknown as { pathname: string }).pathname));
      assert.deepEqual([...new Set(links)].toSorted(), theirs.toSorted());
    });

  test('at 320 px it is one line until it is opened, by keyboard, without script', async () => {
    const page = await open(320, 'owner', '/keys', false);
    const height = async () => (await page.locator(nav).boundingBox())!.height;
    assert.ok((await height()) < 50, `${await height()} px`);
    assert.equal(await page.getByRole('link', { name: 'People' }).isVisible(), false);
    await page.locator(`${nav} summary`).press('Enter');
    assert.equal(await page.getByRole('link', { name: 'People' }).isVisible(), true);
    assert.deepEqual(await overhanging(page), []);
  });

  test('where there is room, the pages stand at the side by section', async () => {
    const page = await open(1280, 'owner', '/keys/create');
    assert.equal(await page.locator(`${nav} summary`).isVisible(), false);
    const texts = await page.locator(nav).getByRole('link').filter({ visible: true }).allInnerTexts();
    assert.ok(texts.includes('Learners') && texts.includes('Webhooks') && texts.includes('People'));
    assert.deepEqual(await page.locator(`${nav} .section`).allInnerTexts(), [
      'Day to day',
      'Integration',
      'Organisation',
    ]);
    const here = await page
      .locator(`${nav} [aria-current]`)
      .evaluateAll((all) => all.map((one) => `${one.textContent}: ${one.getAttribute('aria-current')}`));
    assert.deepEqual(here, ['Keys: true']);
    assert.deepEqual([await axeFaults(page), await overhanging(page)], [[], []]);
    await page.goto(`${service.url}${base}/keys`);
    assert.equal(await page.locator(`${nav} .pages [aria-current="page"]`).innerText(), 'Keys');
  });

  test('who has one part only sees its pages alone', async () => {
    const page = await open(1280, 'tutor', '');
    assert.equal(await page.locator(`${nav} .section`).count(), 0);
    assert.equal(await page.locator(`${nav} [aria-current="page"]`).isVisible(), true);
  });
});
